//! An archive receives every event once, and finds what the rooms still keep.

use chat_core::config::StickRule;
use chat_core::{Body, Config, Hub, Time};

use crate::script;
use crate::words::Words;

const SCRIPT: [&str; 5] = [
    "ann login den",
    "ann send 'alone'",
    "ben login den",
    "ben send 'hello'",
    "ann leave_chat",
];

#[test]
fn every_event_is_posted_once_and_the_state_is_the_same() {
    let config = Config {
        stick: StickRule::Optional,
        history_limit: 1,
        ..Config::default()
    };
    let mut plain = Hub::new(config.clone(), 7);
    let mut archived = Hub::new(config.clone(), 7);
    archived.collect_posted();
    let mut posted = Vec::new();
    for (number, line) in SCRIPT.iter().enumerate() {
        let at = Time(1 + number as u64);
        let mut words = Words::of(line);
        let entry = script::entry(&words.next(), &mut words, &config, &|_| None);
        assert_eq!(plain.handle(at, &entry), archived.handle(at, &entry));
        assert!(plain.take_posted().is_empty());
        posted.extend(archived.take_posted());
    }
    assert_eq!(plain.digest(), archived.digest());
    assert!(archived.take_posted().is_empty(), "none is taken twice");
    let shown = posted.iter().map(|event| {
        if let Body::Message { text, .. } = &event.body {
            return (event.room_seq.0, &**text);
        }
        (event.room_seq.0, event.kind())
    });
    let expected = [
        (1, "user.joined"),
        (2, "alone"),
        (3, "user.joined"),
        (4, "hello"),
        (5, "user.left"),
    ];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
    let rooms: Vec<_> = archived.kept_rooms().collect();
    assert_eq!(rooms.len(), 1);
    let room = &rooms[0];
    assert_eq!((room.name.as_deref(), room.last.0), (Some("den"), 5));
    let members = room.members.iter().map(|(who, at)| (&*who.name, at.0));
    assert_eq!(members.collect::<Vec<_>>(), [("ben", 3)]);
    let kept = room.messages.iter().map(|event| event.room_seq.0);
    assert_eq!(kept.collect::<Vec<_>>(), [4], "as many as history_limit");
}
