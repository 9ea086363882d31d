//! Choices of partners.

use super::*;
use crate::model::draws::Draws;

#[test]
fn the_draw_of_an_entry_chooses_among_the_good_candidates() {
    let mut s = Script::new(|c| c.matching = Matching::Random);
    // The first two cannot be matched.
    s.call(0, 'a', rest()).unwrap();
    s.call(0, 'b', line(&[])).unwrap();
    s.call(0, 'a', Op::Block { user: User(2) }).unwrap();
    s.call(0, 'a', line(&[])).unwrap();
    assert!(s.model.line().eq([User(2), User(1)]));
    let entry = Entry::Call {
        caller: Caller::New(Handle('c' as u64), 0),
        key: None,
        op: line(&[]),
    };
    let mut chosen = [0; 2];
    for position in 5..40 {
        let mut model = s.model.clone();
        let owed = model.commit(position, secs(1), &entry);
        let Ok(Answer::Matched { partner, .. }) = owed.outcome else {
            panic!("{owed:?}");
        };
        let index = usize::try_from(Draws::of(SEED, position).below(2)).unwrap();
        assert_eq!(partner, [User(2), User(1)][index]);
        let overtaken = model.overtaken().get(&User(2)).copied();
        assert_eq!(overtaken, (index == 1).then_some(1));
        chosen[index] += 1;
    }
    assert!(chosen.iter().all(|times| *times > 5), "{chosen:?}");
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
