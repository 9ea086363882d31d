//! Tests which events a client has received: by stream, by check, twice, not at all, or as a gap.

use crate::harness::*;
use sim_model::protocol::{Op, Read};

fn in_a_room() -> Harness {
    Harness::registered(flow(vec![enter(), think(3_600_000), check(0)]), matched(1))
}

#[test]
fn an_event_is_new_once_by_stream_or_check() {
    let mut harness = in_a_room();
    harness.streamed(1, &found(1));
    harness.checked(1, &found(1));
    harness.checked(2, &message());
    harness.streamed(2, &message());
    harness.shows([
        "0 received 1 chatroom.found",
        "0 received 1 chatroom.found again",
        "0 received 2 message.received",
        "0 received 2 message.received again",
    ]);
}

#[test]
fn a_broken_stream_reopens_after_the_last_event_without_holes() {
    let mut harness = in_a_room();
    for seq in [1, 2, 5] {
        harness.streamed(seq, &message());
    }
    harness.take();
    harness.closed(1, None);
    harness.until(500);
    harness.closed(2, Some("rate_limited"));
    harness.until(1_500);
    harness.opened(2);
    harness.opened(3);
    harness.shows([
        "0 stream closed",
        "500 > open 2 after 2 as 0",
        "1500 > open 3 after 2 as 0",
        "1500 stream opened",
    ]);
}

#[test]
fn a_gap_counts_as_the_positions_it_covers() {
    let mut harness = in_a_room();
    harness.streamed(1, &found(1));
    harness.streamed(6, &message());
    harness.streamed(5, &gap(2, 5));
    harness.streamed(5, &gap(3, 5));
    harness.streamed(4, &message());
    harness.until(3_600_000);
    harness.shows_of(
        "received",
        [
            "0 received 1 chatroom.found",
            "0 received 6 message.received",
            "0 received 5 gap",
            "0 received 5 gap again",
            "0 received 4 message.received again",
        ],
    );
    let asks = harness.log.actions.last().unwrap();
    assert!(
        matches!(asks, sim_user::Action::Request { op, .. }
            if matches!(op, Op::Read { read: Read::Check { after: Some(chat_types::Seq(6)), .. }, .. })),
        "{asks:?}"
    );
}

#[test]
fn a_user_with_bare_checks_sends_no_cursor() {
    let mut persona = flow(vec![enter(), check(1_000), check(0)]);
    persona.habits.bare_check = always();
    let mut harness = Harness::registered(persona, waiting());
    harness.checked(1, &found(1));
    harness.answer(1, 0, &read(1));
    harness.shows_of("request", ["0 > request 2.0 check bare wait 0s as 0"]);
    harness.answer(2, 0, &read(1));
    harness.drain();
    assert_eq!(
        harness.take_with("request"),
        ["0 > request 3.0 check after 1 wait 0s as 0"],
        "a drain is exact"
    );
}
