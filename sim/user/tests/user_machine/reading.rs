//! Tests which events a client has received: by stream, by check, twice, not at all, or as a gap.

use crate::desk::*;

fn in_a_room() -> Desk {
    Desk::registered(flow(vec![enter(), think(3_600_000), check(0)]), matched(1))
}

#[test]
fn an_event_is_new_once_whatever_brings_it() {
    let mut desk = in_a_room();
    desk.streamed(1, &found(1));
    desk.checked(1, &found(1));
    desk.checked(2, &message());
    desk.streamed(2, &message());
    assert_eq!(
        desk.take(),
        [
            "0 received 1 chatroom.found",
            "0 received 1 chatroom.found again",
            "0 received 2 message.received",
            "0 received 2 message.received again",
        ]
    );
}

#[test]
fn a_broken_stream_opens_anew_from_behind_what_came_without_holes() {
    let mut desk = in_a_room();
    for seq in [1, 2, 5] {
        desk.streamed(seq, &message());
    }
    desk.take();
    desk.closed(1, None);
    desk.until(500);
    desk.closed(2, Some("rate_limited"));
    desk.until(1_500);
    desk.opened(2);
    desk.opened(3);
    assert_eq!(
        desk.take(),
        [
            "0 stream closed",
            "500 > open 2 after 2 as 0",
            "1500 > open 3 after 2 as 0",
            "1500 stream opened",
        ]
    );
}

#[test]
fn an_opening_that_nothing_is_heard_of_is_tried_anew() {
    let mut desk = in_a_room();
    desk.closed(1, None);
    desk.take();
    desk.until(3_600);
    assert_eq!(
        desk.take(),
        [
            "500 > open 2 after 0 as 0",
            "1500 stream closed",
            "1500 > close 2",
            "1500 > open 3 after 0 as 0",
            "3500 stream closed",
            "3500 > close 3",
            "3500 > open 4 after 0 as 0",
        ]
    );
}

#[test]
fn a_gap_counts_as_what_it_covers() {
    let mut desk = in_a_room();
    desk.streamed(1, &found(1));
    desk.streamed(6, &message());
    desk.streamed(5, &gap(2, 5));
    desk.streamed(5, &gap(3, 5));
    desk.streamed(4, &message());
    desk.until(3_600_000);
    assert_eq!(
        desk.take_with("received"),
        [
            "0 received 1 chatroom.found",
            "0 received 6 message.received",
            "0 received 5 gap",
            "0 received 5 gap again",
            "0 received 4 message.received again",
        ]
    );
    let asks = desk.log.actions.last().unwrap();
    assert!(
        matches!(asks, sim_user::Action::Request { op, .. }
            if matches!(op, sim_model::protocol::Op::Check { after: Some(6), .. })),
        "{asks:?}"
    );
}

#[test]
fn some_never_say_what_they_have_read() {
    let mut persona = flow(vec![enter(), check(1_000), check(0)]);
    persona.habits.bare_check = always();
    let mut desk = Desk::registered(persona, waiting());
    desk.checked(1, &found(1));
    desk.answer(1, 0, &read(1));
    assert_eq!(
        desk.take_with("request"),
        ["0 > request 2.0 check bare wait 0s as 0"]
    );
    desk.answer(2, 0, &read(1));
    desk.drain();
    assert_eq!(
        desk.take_with("request"),
        ["0 > request 3.0 check after 1 wait 0s as 0"],
        "a drain is exact"
    );
}
