//! Every refusal and every event is reached by some script.

use std::collections::BTreeSet;

use chat_core::{Body, Code, Config};

use crate::check::play;

/// Codes that only the node returns, and the one that only reads return (see `inbox.rs`).
const NOT_FROM_ENTRIES: [(&str, &str); 4] = [
    ("overloaded", "the node's queue of proposals is full"),
    (
        "storage_unavailable",
        "the node's journal cannot be written",
    ),
    ("shutting_down", "the node stops"),
    ("invalid_cursor", "a read was asked for"),
];

/// For each code, a script whose last line is refused with it.
const REFUSED: [(&str, &str); 37] = [
    ("room_not_found", "ann login \n ann typing room=room_9"),
    (
        "chat_ended",
        "ann enter_queue \n ben enter_queue \n ann seen \n ben seen \n ben leave_chat \n ann send 'x'",
    ),
    (
        "not_in_room",
        "ann login lobby \n ben login den \n ben typing room=room_1",
    ),
    ("room_ambiguous", "ann enter_queue \n ann typing"),
    (
        "blocked",
        "ann login \n operator ban ann 'x' \n ann login as=Other",
    ),
    ("stick_required", "ann login \n ann send 'x'"),
    (
        "no_stick",
        "ann enter_queue \n ben enter_queue \n ann seen \n ben seen \n ann talking_stick",
    ),
    ("already_waiting", "ann enter_queue \n ann enter_queue"),
    (
        "already_chatting",
        "ann enter_queue \n ben enter_queue \n ann seen \n ben seen \n ann enter_queue",
    ),
    (
        "user_id_taken",
        "ann enter_queue id=a \n ben enter_queue id=a from=1",
    ),
    ("name_taken", "ann login as=Ann \n ben login as=Ann from=1"),
    ("name_not_allowed", "ann login as=Server"),
    ("user_not_found", "ann login \n ann block user_9"),
    ("handle_required", "ann new typing"),
    ("unknown_handle", "ann typing"),
    ("invalid_arguments", "ann enter_queue id=#"),
    ("request_key_reused", "ann login key=1 \n ann typing key=1"),
    (
        "message_empty",
        "config stick=optional \n ann login \n ann send ''",
    ),
    (
        "message_too_long",
        "config stick=optional max_message=1 \n ann login \n ann send 'xx'",
    ),
    (
        "draft_empty",
        "config stick=optional \n ann login \n ann push",
    ),
    (
        "draft_full",
        "config stick=optional max_draft=1 \n ann login \n ann append 'xx'",
    ),
    (
        "muted",
        "ann login \n operator mute ann 'x' \n ann talking_stick",
    ),
    (
        "rate_limited",
        "config max_streams=1 \n ann login \n ann open_stream \n ann open_stream",
    ),
    (
        "queue_full",
        "config max_queue=1 \n ann login \n ben login \n ann block ben \n ann enter_queue \n ben enter_queue",
    ),
    (
        "room_full",
        "config max_rooms_each=1 \n ann login lobby \n ann login den",
    ),
    (
        "address_full",
        "config max_per_address=1 \n ann login from=7 \n ben login from=8 \n ann seen \n cat login from=7",
    ),
    (
        "server_full",
        "config max_participants=1 \n ann login \n ben login",
    ),
    // Further reasons of codes with several.
    (
        "handle_required",
        "ann login key=1 \n ann seen \n ann new login key=1",
    ),
    (
        "room_full",
        "config max_members=2 \n ann login \n ben login \n cat login from=1",
    ),
    (
        "server_full",
        "config max_rooms=1 \n ann login lobby \n ben login den",
    ),
    (
        "name_not_allowed",
        "ann login \n operator ban ann 'x' \n ben login as=ann",
    ),
    ("unknown_handle", "user_9 open_stream"),
    (
        "blocked",
        "ann login \n operator ban ann 'x' \n ann new typing",
    ),
    (
        "muted",
        "zoe login \n ann login \n operator mute ann 'x' \n ann unregister \n ann login as=Other
         ann push",
    ),
    (
        "muted",
        "zoe login \n ann login \n operator mute ann 'x' \n ann unregister \n ben login as=ann
         ben push",
    ),
    (
        "muted",
        "ann login \n operator mute ann 'x' \n ann login den",
    ),
    (
        "invalid_arguments",
        "config max_reports_per_address=1 \n ann login \n ben login \n ann report ben 'x'
         ben report ann 'x'",
    ),
];

#[test]
fn every_refusal_is_reached_but_those_that_only_the_node_gives() {
    let mut reached = BTreeSet::new();
    for (code, script) in REFUSED {
        let outcomes = play(script).outcomes;
        let last = outcomes.last().expect("a line");
        let given = last.as_ref().expect_err(script).code();
        assert_eq!(given, code, "{script}");
        reached.insert(code);
    }
    let node: BTreeSet<&str> = NOT_FROM_ENTRIES.iter().map(|(code, _)| *code).collect();
    assert!(node.is_disjoint(&reached), "{node:?}");
    let all: BTreeSet<&str> = Code::NAMES.iter().copied().collect();
    assert_eq!(&node | &reached, all);
}

/// For each event, a script that causes it.
const EVENTS: [(&str, &str); 16] = [
    (
        "chatroom.found",
        "ann enter_queue \n ben enter_queue \n ann seen \n ben seen",
    ),
    (
        "message.received",
        "ann enter_queue \n ben enter_queue \n ann seen \n ben seen \n ann send 'x'",
    ),
    (
        "partner.disconnected",
        "ann enter_queue \n ben enter_queue \n ann seen \n ben seen \n ann leave_chat",
    ),
    (
        "partner.away",
        "ann enter_queue \n ben enter_queue \n ann seen \n ben seen \n ann open_stream \n ann close_stream",
    ),
    (
        "partner.reconnected",
        "ann enter_queue \n ben enter_queue \n ann seen \n ben seen \n ann open_stream \n ann close_stream \n ann seen",
    ),
    ("user.joined", "ann login"),
    ("user.left", "ann login \n ben login \n ben leave_chat"),
    ("user.away", "ann login \n ann seen \n 5m tick"),
    ("user.back", "ann login \n ann seen \n 5m ann seen"),
    (
        "stick.claimed",
        "ann login \n ben login \n ann talking_stick \n ben talking_stick",
    ),
    ("stick.granted", "ann login \n ann talking_stick"),
    (
        "stick.released",
        "ann login \n ann talking_stick \n ann reset",
    ),
    ("stick.expired", "ann login \n ann talking_stick \n 2m tick"),
    ("moderation.muted", "ann login \n operator mute ann 'x'"),
    (
        "moderation.kicked",
        "ann login \n operator kick ann room=room_1 'x'",
    ),
    (
        "moderation.closed",
        "ann login \n operator close room_1 'x'",
    ),
];

#[test]
fn every_event_is_reached() {
    for (kind, script) in EVENTS {
        assert!(play(script).kinds.contains(&kind), "{script}");
    }
}

/// Fails to compile when an event is added, which then must be added to `EVENTS` as well.
#[expect(dead_code, reason = "it is here to be compiled")]
const fn every_event_is_known(body: &Body) {
    match body {
        Body::Found(_) | Body::Message { .. } | Body::PartnerDisconnected(_) => {}
        Body::PartnerAway(_) | Body::PartnerReconnected(_) => {}
        Body::Joined(_) | Body::Left(_) | Body::Away(_) | Body::Back(_) => {}
        Body::StickClaimed { .. } | Body::StickGranted { .. } => {}
        Body::StickReleased { .. } | Body::StickExpired { .. } => {}
        Body::Muted { .. } | Body::Kicked { .. } | Body::Closed { .. } => {}
    }
}

#[test]
fn defaults_can_be_kept_to() {
    assert_eq!(Config::default().check(), Ok(()));
}
