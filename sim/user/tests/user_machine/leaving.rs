//! Tests disconnecting for a while or permanently, and suspensions.

use chat_types::{Span, Time};
use sim_model::plan::Step;

use crate::harness::*;

#[test]
fn a_user_that_disconnects_for_good_is_done() {
    let mut persona = flow(vec![enter(), send("hi"), Step::Disconnect(None)]);
    persona.habits.parallel = always();
    let mut harness = Harness::started(persona);
    harness.answer(0, 0, &matched(1));
    assert_eq!(
        harness.take()[3..],
        [
            "0 called 1 send",
            "0 stream closed",
            "0 abandoned 1 send",
            "0 vanished",
            "0 > open 1 after 0 as 0",
            "0 > request 1.0 send as 0 key 1",
            "0 > drop all",
        ]
    );
    assert!(harness.user.is_done());
    harness.opened(1);
    harness.streamed(1, &message());
    harness.answer(1, 0, &sent());
    harness.drain();
    harness.until(9_000);
    assert!(harness.take().is_empty(), "nothing is heard of it any more");
    assert_eq!(harness.user.poll_timeout(), None);
}

#[test]
fn a_disconnected_user_sends_nothing() {
    let away = Step::Disconnect(Some(Span::secs(3)));
    let mut persona = flow(vec![enter(), send("hi"), away, check(0)]);
    persona.habits.parallel = always();
    let mut harness = Harness::registered(persona, matched(1));
    harness.until(2_999);
    harness.shows([]);
    harness.until(3_000);
    harness.shows([
        "3000 retried 1",
        "3000 called 2 check",
        "3000 > request 1.1 send as 0 key 1",
        "3000 > open 2 after 0 as 0",
        "3000 > request 2.0 check after 0 wait 0s as 0",
    ]);
}

#[test]
fn an_opening_stream_counts_as_closed_on_a_disconnect() {
    let away = Step::Disconnect(Some(Span::secs(3)));
    let mut harness = Harness::started(flow(vec![enter(), away]));
    harness.answer(0, 0, &matched(1));
    assert!(harness.take().contains(&"0 stream closed".into()));
    // The next opening has no answer: it is cancelled and repeated.
    harness.until(3_500);
    harness.shows([
        "3000 finished",
        "3000 > open 2 after 0 as 0",
        "3500 stream closed",
        "3500 > close 2",
        "3500 > open 3 after 0 as 0",
    ]);
    // A refused stream was never open.
    harness.closed(3, Some("overloaded"));
    harness.shows([]);
    harness.until(4_500);
    harness.shows(["4500 > open 4 after 0 as 0"]);
    harness.closed(4, None);
    harness.shows(["4500 stream closed"]);
}

#[test]
fn a_suspended_user_acts_late() {
    let mut harness =
        Harness::registered(flow(vec![enter(), think(1_000), send("hi")]), matched(1));
    let stop = |harness: &mut Harness, until_ms: u64| {
        harness.input(|user, now, _| user.suspend(now, Time(until_ms * 1_000)));
    };
    stop(&mut harness, 4_000);
    harness.until(3_999);
    harness.shows([]);
    harness.until(4_000);
    assert_eq!(
        harness.take_with("called"),
        ["4000 called 1 send late by 3s"],
        "the plan meant it earlier"
    );
    // Suspended again while the answer is missing: its timeout passes meanwhile.
    stop(&mut harness, 60_000);
    harness.until(60_000);
    harness.shows_of("retried", ["60000 retried 1"]);
}

#[test]
fn a_manual_user_disconnects_and_reconnects() {
    let mut harness = Harness::by_hand();
    harness.manual(&enter());
    harness.answer(0, 0, &waiting());
    harness.opened(1);
    harness.take();
    harness.manual(&Step::Disconnect(Some(Span::millis(100))));
    harness.until(100);
    harness.manual(&Step::Disconnect(None));
    harness.shows([
        "0 stream closed",
        "0 > drop all",
        "100 > open 2 after 0 as 0",
        "100 stream closed",
        "100 vanished",
        "100 > drop all",
    ]);
    assert_eq!(harness.manual(&send("hi")), None);
}
