//! An archive receives every event once, and finds what the rooms still keep.

use chat_core::{Address, Body, Caller, Command, Config, Entry, Hub, Time};

use crate::script::{handle, reader};

fn entry(caller: Caller, command: Command) -> Entry {
    Entry::Call {
        caller,
        key: None,
        command,
    }
}

fn login(name: &str, room: &str) -> Entry {
    let caller = Caller::New {
        handle: handle(name),
        reader: reader(name),
        from: Address(1),
    };
    let command = Command::Login {
        username: name.into(),
        room: room.into(),
    };
    entry(caller, command)
}

fn say(name: &str, text: &str) -> Entry {
    let command = Command::SendMessage {
        room: None,
        text: text.into(),
        epoch: None,
    };
    entry(Caller::Handle(handle(name)), command)
}

fn leave(name: &str) -> Entry {
    let command = Command::LeaveChat { room: None };
    entry(Caller::Handle(handle(name)), command)
}

#[test]
fn every_event_is_posted_once_and_the_state_is_the_one_without_an_archive() {
    let config = Config {
        stick: chat_core::config::StickRule::Optional,
        history_limit: 1,
        ..Config::default()
    };
    let mut plain = Hub::new(config.clone(), 7);
    let mut archived = Hub::new(config, 7);
    archived.collect_posted();
    let script = [
        login("ann", "den"),
        say("ann", "alone"),
        login("ben", "den"),
        say("ben", "hello"),
        leave("ann"),
    ];
    let mut posted = Vec::new();
    for (number, entry) in script.iter().enumerate() {
        let at = Time(1 + number as u64);
        assert_eq!(plain.handle(at, entry), archived.handle(at, entry));
        assert!(plain.take_posted().is_empty());
        posted.extend(archived.take_posted());
    }
    assert_eq!(plain.digest(), archived.digest());
    assert!(archived.take_posted().is_empty(), "none is taken twice");
    let shown: Vec<_> = posted
        .iter()
        .map(|event| {
            if let Body::Message { text, .. } = &event.body {
                return (event.room_seq.0, text.to_string());
            }
            (event.room_seq.0, event.kind().into())
        })
        .collect();
    let expected = [
        (1, "user.joined"),
        (2, "alone"),
        (3, "user.joined"),
        (4, "hello"),
        (5, "user.left"),
    ];
    assert_eq!(shown, expected.map(|(seq, text)| (seq, text.to_owned())));
    let rooms: Vec<_> = archived.kept_rooms().collect();
    assert_eq!(rooms.len(), 1);
    let room = &rooms[0];
    assert_eq!((room.name.as_deref(), room.last.0), (Some("den"), 5));
    let members: Vec<_> = room
        .members
        .iter()
        .map(|(who, at)| (&*who.name, at.0))
        .collect();
    assert_eq!(members, [("ben", 3)]);
    let kept: Vec<_> = room.messages.iter().map(|event| event.room_seq.0).collect();
    assert_eq!(kept, [4], "as many as history_limit allows");
}
