//! Every refusal and every event is reached by some script.

use std::collections::BTreeSet;

use chat_core::Code;

use crate::check::play;
use crate::limits::REFUSING;

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

/// For each code of no limit, a script whose last line is refused with it.
const REFUSED: [(&str, &str); 20] = [
    ("room_not_found", "ann login \n ann typing room=room_9"),
    (
        "chat_ended",
        "given ann,ben pair \n ben leave_chat \n ann send 'x'",
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
    ("no_stick", "given ann,ben pair \n ann talking_stick"),
    ("already_waiting", "ann enter_queue \n ann enter_queue"),
    ("already_chatting", "given ann,ben pair \n ann enter_queue"),
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
        "draft_empty",
        "config stick=optional \n ann login \n ann push",
    ),
    (
        "muted",
        "ann login \n operator mute ann 'x' \n ann talking_stick",
    ),
];

#[test]
fn every_refusal_but_those_of_the_node_is_reached() {
    let mut reached: BTreeSet<_> = REFUSING.iter().map(|(_, code, _)| *code).collect();
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

/// Scripts that cause events of every kind.
const EVENTS: [&str; 2] = [
    "given ann,ben pair; ann open_stream; ann close_stream; ann seen; ann send 'x'; ann leave_chat",
    "given ann,ben,cat login; cat seen; ann,ben talking_stick; ann reset; operator mute ann 'x'
     2m given ann,ben,cat seen; operator kick ann room=room_1 'x'
     7m given ben seen; ben leave_chat; operator close room_1 'x'",
];

#[test]
fn every_event_is_reached() {
    let reached: BTreeSet<_> = EVENTS
        .iter()
        .flat_map(|script| play(script).kinds)
        .collect();
    let mut all = BTreeSet::from(chat_core::EVENTS);
    // A gap is no event.
    all.remove("gap");
    assert_eq!(reached, all);
}
