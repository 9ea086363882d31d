//! Choices of partners.

use super::*;
use crate::model::breaks::Draws;
use sim_model::protocol::WasWaiting;

#[test]
fn the_draw_of_an_entry_chooses_among_the_good_candidates() {
    let mut s = Script::new(|c| c.matching = Matching::Random);
    // The first two cannot be matched.
    s.call(0, 'a', rest()).unwrap();
    s.enter(0, 'b', &[]).unwrap();
    s.call(0, 'a', Command::BlockUser { user: User(2) })
        .unwrap();
    s.enter(0, 'a', &[]).unwrap();
    assert_eq!(s.line(), [User(2), User(1)]);
    s.call(0, 'c', rest()).unwrap();
    let entry = Entry::Call {
        caller: Caller::Handle(hash('c')),
        key: None,
        command: line(&[]),
    };
    let mut chosen = [0; 2];
    for position in 7..40 {
        let mut model = s.model.clone();
        let owed = model.commit(position, secs(1), &entry);
        let index = usize::try_from(Draws::of(SEED, position).below(2)).unwrap();
        assert_eq!(partner(&owed.outcome), [User(2), User(1)][index]);
        let overtaken = model.overtaken.get(&User(2)).copied();
        assert_eq!(overtaken, (index == 1).then_some(1));
        chosen[index] += 1;
    }
    assert!(chosen.iter().all(|times| *times > 5), "{chosen:?}");
}

#[test]
fn interests_and_patience_decide_the_choice_of_a_partner() {
    let mut s = Script::new(|c| c.matching = Matching::Interests);
    s.enter(0, 'a', &["Art", "go"]).unwrap();
    s.enter(1, 'b', &["tea"]).unwrap();
    s.enter(2, 'c', &[]).unwrap();
    assert_eq!(s.line(), [User(1), User(2), User(3)]);
    // At 10 s the first accepts anyone, including the one that never insisted.
    s.entry(30, &Entry::Tick);
    assert_eq!(s.events(1, 0), [(10, 1, "chatroom.found")]);
    assert_eq!(s.events(3, 0), [(10, 1, "chatroom.found")]);
    // The second found no partner at 11 s, and keeps its place.
    assert_eq!(s.line(), [User(2)]);
    assert_eq!(s.model.estimated_wait(), Some(Span::secs(9)));
    let matched = s.enter(31, 'd', &[]);
    assert_eq!(partner(&matched), User(2), "the second accepts anyone");
    // A waiter with two shared interests is preferred to an earlier one with only one.
    s.enter(40, 'e', &["art"]).unwrap();
    s.enter(40, 'f', &["Go", "tea"]).unwrap();
    let matched = s.enter(41, 'g', &["GO", "art", "tea"]);
    assert_eq!(partner(&matched), User(6));
    assert_eq!(s.model.overtaken.get(&User(5)), Some(&1));
}

#[test]
fn a_good_candidate_is_preferred_to_a_last_partner() {
    let mut s = Script::new(|_| {});
    s.enter(0, 'a', &[]).unwrap();
    s.enter(0, 'b', &[]).unwrap();
    s.call(1, 'a', LEAVE).unwrap();
    s.call(1, 'c', rest()).unwrap();
    s.call(2, 'c', Command::BlockUser { user: User(2) })
        .unwrap();
    s.enter(2, 'b', &[]).unwrap();
    s.enter(2, 'c', &[]).unwrap();
    let matched = s.enter(3, 'a', &[]);
    assert_eq!(partner(&matched), User(3));
    assert_eq!(s.model.overtaken.get(&User(2)), None);
}

#[test]
fn one_whose_handle_was_never_used_is_no_candidate_and_is_looked_for_at_its_first_use() {
    let mut s = Script::new(|c| c.max_queue = 3);
    s.call(0, 'a', line(&[])).unwrap();
    s.call(1, 'b', line(&[])).unwrap();
    s.call(2, 'c', line(&[])).unwrap();
    assert_eq!(s.line(), [User(1), User(2), User(3)]);
    assert_eq!(s.refused(3, 'd', line(&[])), "queue_full");
    let seen = |user| implied(user, Implied::Seen { waiting: None });
    s.entry(4, &seen(2));
    // The call comes first, and then the queue.
    assert_eq!(s.refused(5, 'c', line(&[])), "already_waiting");
    assert_eq!(s.events(2, 0), [(5, 1, "chatroom.found")]);
    assert_eq!(s.line(), [User(1)]);
    assert_eq!(s.model.estimated_wait(), Some(Span::secs(4)));
    let left = WasWaiting::Yes;
    let answer = s.call(6, 'a', Command::LeaveQueue);
    assert_eq!(answer, Ok(Reply::LeftQueue { left }));
}
