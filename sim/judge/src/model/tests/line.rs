//! Choices of partners.

use super::*;

#[test]
fn a_random_choice_is_adopted_if_it_is_permitted() {
    let mut s = Script::new(|c| c.matching = Matching::Random);
    // The first two cannot be matched.
    s.call(0, 'a', rest()).unwrap();
    s.call(0, 'b', line(&[])).unwrap();
    s.call(0, 'a', Op::Block { user: User(2) }).unwrap();
    s.call(0, 'a', line(&[])).unwrap();
    let matched = |user, room, partner: u32| {
        Ok(Answer::Matched {
            shown: Shown {
                chosen_id: None,
                name: format!("user_{partner}").into(),
            },
            user: User(user),
            room: Room(room),
            partner: User(partner),
        })
    };
    assert!(s.model.line().eq([User(2), User(1)]));
    let mut copy = s.model.clone();
    let owed = s.owed(1, 'c', line(&[]), matched(3, 1, 1));
    assert_eq!(owed.outcome, matched(3, 1, 1));
    assert_eq!(s.model.overtaken().get(&User(2)), Some(&1));
    // A participant that does not wait cannot be chosen.
    let entry = Entry::Call {
        caller: Caller::New(Handle('c' as u64), 0),
        key: None,
        op: line(&[]),
    };
    let owed = copy.commit(secs(1), &entry, &at_once(1, matched(3, 1, 3)));
    assert_eq!(owed.outcome, matched(3, 1, 2));
    assert!(copy.overtaken().is_empty());
}

#[test]
fn interests_and_patience_decide_the_choice_of_a_partner() {
    let mut s = Script::new(|c| c.matching = Matching::Interests);
    s.call(0, 'a', line(&["Art", "go"])).unwrap();
    s.call(1, 'b', line(&["tea"])).unwrap();
    s.call(2, 'c', line(&[])).unwrap();
    assert!(s.model.line().eq([User(1), User(2), User(3)]));
    // At 10 s the first accepts anyone, including the one that never insisted.
    s.entry(30, &Entry::Tick);
    assert_eq!(s.events(1, 0), [(10, 1, "chatroom.found")]);
    assert_eq!(s.events(3, 0), [(10, 1, "chatroom.found")]);
    // The second found no partner at 11 s, and keeps its place.
    assert!(s.model.line().eq([User(2)]));
    assert_eq!(s.model.estimated_wait(), Some(Span::secs(9)));
    let Ok(Answer::Matched { partner, .. }) = s.call(31, 'd', line(&[])) else {
        panic!("the second accepts anyone");
    };
    assert_eq!(partner, User(2));
    // A waiter with two shared interests is preferred to an earlier one with only one.
    s.call(40, 'e', line(&["art"])).unwrap();
    s.call(40, 'f', line(&["Go", "tea"])).unwrap();
    let Ok(Answer::Matched { partner, .. }) = s.call(41, 'g', line(&["GO", "art", "tea"])) else {
        panic!("two wait that share interests");
    };
    assert_eq!(partner, User(6));
    assert_eq!(s.model.overtaken().get(&User(5)), Some(&1));
}

#[test]
fn a_good_candidate_is_preferred_to_a_last_partner() {
    let mut s = Script::new(|_| {});
    s.call(0, 'a', line(&[])).unwrap();
    s.call(0, 'b', line(&[])).unwrap();
    s.call(1, 'a', LEAVE).unwrap();
    s.call(1, 'c', rest()).unwrap();
    s.call(2, 'c', Op::Block { user: User(2) }).unwrap();
    s.call(2, 'b', line(&[])).unwrap();
    s.call(2, 'c', line(&[])).unwrap();
    let Ok(Answer::Matched { partner, .. }) = s.call(3, 'a', line(&[])) else {
        panic!("both wait");
    };
    assert_eq!(partner, User(3));
    assert_eq!(s.model.overtaken().get(&User(2)), None);
}
