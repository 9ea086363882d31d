//! A list of a room's members, and what it costs to find up to where each has read.

use std::hint::black_box;

use chat_core::config::StickRule;
use chat_core::{Addressees, Command, Config, Entry, Hub, Implied, RoomId, Seq, Time, UserId};

use crate::population::{by_newcomer, newcomer};

/// The number of members.
const MEMBERS: u64 = 256;

/// A Hub, and a room in which nothing waits for its members. In the inbox of each wait so many events of
/// another room, all of which have to be passed over.
///
/// # Panics
/// If an entry is refused, which is a mistake in a benchmark.
pub fn room_of(waiting: usize) -> (Hub, RoomId) {
    let config = Config {
        stick: StickRule::Optional,
        ..Config::default()
    };
    let mut hub = Hub::new(config, 42);
    let mut does = |entry: Entry| {
        hub.handle(Time(1), &entry).expect("it is accepted");
        while hub.poll_effect().is_some() {}
    };
    let login = |n: u64, room: &str| Command::Login {
        username: format!("agent {n}").into(),
        room: room.into(),
    };
    (0..MEMBERS).for_each(|n| does(newcomer(1, n, login(n, "quiet"))));
    (0..MEMBERS).for_each(|n| does(by_newcomer(1, n, login(n, "loud"))));
    let implied = Implied::Read {
        acknowledged: Seq(u64::MAX),
        delivered: Seq(u64::MAX),
    };
    for user in (1..=MEMBERS).map(UserId) {
        does(Entry::Implied { user, implied });
    }
    for _ in 0..waiting {
        let message = Command::SendMessage {
            room: Some(RoomId(2)),
            text: "hello".into(),
            epoch: None,
            to: Addressees::ALL,
        };
        does(by_newcomer(1, 0, message));
    }
    (hub, RoomId(1))
}

/// Lists the members. Never inlined, because instruction counters find it by name.
#[inline(never)]
pub fn list(hub: &Hub, room: RoomId) -> usize {
    black_box(hub.read_members(room)).len()
}
