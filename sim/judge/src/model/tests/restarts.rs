//! Restarts: deadlines that move, and numbers that are passed.

use super::*;

#[test]
fn downtime_moves_deadlines_and_closes_streams() {
    let mut s = Script::new(|c| c.matching = Matching::Interests);
    s.enter(0, 'a', &[]).unwrap();
    s.enter(0, 'b', &[]).unwrap();
    s.call(0, 'c', login("cec")).unwrap();
    s.call(0, 'c', STICK).unwrap();
    s.enter(0, 'd', &["art"]).unwrap();
    let open = implied(1, Implied::OpenStream);
    s.entry(5, &open);
    assert_eq!(s.model.participant(User(1)).presence.streams, 1);
    let config = Box::new(s.model.config.clone());
    s.entry(1_005, &resumed(config));
    assert_eq!(s.model.presence(User(1)), Some(State::Grace));
    assert_eq!(
        s.events(2, 0),
        [(0, 1, "chatroom.found"), (1_005, 2, "partner.away")]
    );
    assert_eq!(
        s.model.holder_of(Room(2)),
        Some((User(3), 1, secs(120 + 1_000)))
    );
    assert_eq!(
        s.model.next_deadline(),
        Some((secs(1_010), Deadline::Patience(User(4))))
    );
    // A shorter patience ends at once, at the instant of the restart.
    let mut config = s.model.config.clone();
    config.interest_patience = Span::ZERO;
    let config = Box::new(config);
    s.enter(1_006, 'e', &["tea"]).unwrap();
    s.entry(1_007, &resumed(config));
    assert_eq!(s.events(4, 0), [(1_007, 1, "chatroom.found")]);
}

#[test]
fn numbers_of_a_lost_life_are_passed() {
    let mut s = Script::new(|_| {});
    for (name, user) in [('a', "ann"), ('b', "ben")] {
        s.call(0, name, login(user)).unwrap();
        s.call(0, name, STICK).unwrap();
    }
    assert_eq!(s.events(2, 0).len(), 2);
    let config = Box::new(s.model.config.clone());
    let continuity = Continuity::Broken;
    let lost = s.model.clone();
    // Two seconds, and one more: each number passes three million.
    let version = Arc::default();
    let resumed = Entry::Resumed {
        config,
        version,
        continuity,
    };
    s.entry(2, &resumed);
    let (step, lobby) = (3_000_000, Room(1));
    let after = [
        (2, step + 5, "stick.expired"),
        (2, step + 6, "stick.granted"),
    ];
    assert_eq!(s.events(2, 51), after);
    assert_eq!(s.model.holder_of(lobby).unwrap().1, step + 2);
    let inbox = s.model.inbox(User(2)).unwrap();
    let gap = &inbox.page(User(2), 51, most(9)).gaps[0];
    assert_eq!(
        (gap.from.0, gap.to.0, gap.rooms_omitted),
        (52, step + 2, true)
    );
    let joined = s.call(2, 'c', login("cec"));
    let (user, room) = (User(step + 3), lobby);
    assert_eq!(joined, Ok(Reply::LoggedIn { user, room }));
    let next = LastNumbers {
        user,
        room: Room(0),
        ..LastNumbers::default()
    };
    let given = lost.given_beyond(0, &next).unwrap();
    assert_eq!(
        (given.what, given.given, given.next),
        (Numbered::Rooms, 1, 0)
    );
    // A life that begins from nothing knows of no earlier step, and passes one.
    let behind = |number| LastNumbers {
        user: User(number),
        room: Room(number),
        ..LastNumbers::default()
    };
    assert_eq!(s.model.given_beyond(0, &behind(1_000_000)), None);
    assert!(s.model.given_beyond(0, &behind(999_999)).is_some());
    assert!(s.model.given_beyond(1, &behind(1_000_000)).is_some());
}
