//! Tests disconnecting for a while or permanently, and suspensions.

use chat_types::{Span, Time};
use sim_model::plan::Step;

use crate::desk::*;

#[test]
fn gone_for_good_is_done() {
    let mut persona = flow(vec![enter(), send("hi"), Step::Disconnect(None)]);
    persona.habits.parallel = always();
    let mut desk = Desk::new(persona);
    desk.start();
    desk.answer(0, 0, &matched(1));
    assert_eq!(
        desk.take()[3..],
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
    assert!(desk.user.is_done());
    desk.opened(1);
    desk.streamed(1, &message());
    desk.answer(1, 0, &sent());
    desk.drain();
    desk.until(9_000);
    assert!(desk.take().is_empty(), "nothing is heard of it any more");
    assert_eq!(desk.user.poll_timeout(), None);
}

#[test]
fn away_for_a_while_nothing_is_sent() {
    let away = Step::Disconnect(Some(Span::secs(3)));
    let mut persona = flow(vec![enter(), send("hi"), away, check(0)]);
    persona.habits.parallel = always();
    let mut desk = Desk::registered(persona, matched(1));
    desk.until(2_999);
    assert!(desk.take().is_empty());
    desk.until(3_000);
    assert_eq!(
        desk.take(),
        [
            "3000 retried 1",
            "3000 called 2 check",
            "3000 > request 1.1 send as 0 key 1",
            "3000 > open 2 after 0 as 0",
            "3000 > request 2.0 check after 0 wait 0s as 0",
        ]
    );
}

#[test]
fn a_stream_that_was_still_being_opened_counts_as_closed() {
    let away = Step::Disconnect(Some(Span::secs(3)));
    let mut desk = Desk::new(flow(vec![enter(), away]));
    desk.start();
    desk.answer(0, 0, &matched(1));
    assert!(desk.take().contains(&"0 stream closed".into()));
    // The next opening has no answer: it is cancelled and repeated.
    desk.until(3_500);
    assert_eq!(
        desk.take(),
        [
            "3000 finished",
            "3000 > open 2 after 0 as 0",
            "3500 stream closed",
            "3500 > close 2",
            "3500 > open 3 after 0 as 0",
        ]
    );
    // A refused stream was never open.
    desk.closed(3, Some("overloaded"));
    assert!(desk.take().is_empty());
    desk.until(4_500);
    assert_eq!(desk.take(), ["4500 > open 4 after 0 as 0"]);
    desk.closed(4, None);
    assert_eq!(desk.take(), ["4500 stream closed"]);
}

#[test]
fn a_stopped_user_is_late() {
    let mut desk = Desk::registered(flow(vec![enter(), think(1_000), send("hi")]), matched(1));
    let stop = |desk: &mut Desk, until_ms: u64| {
        desk.input(|user, now, _| user.suspend(now, Time(until_ms * 1_000)));
    };
    stop(&mut desk, 4_000);
    desk.until(3_999);
    assert!(desk.take().is_empty());
    desk.until(4_000);
    assert_eq!(
        desk.take_with("called"),
        ["4000 called 1 send late by 3s"],
        "the plan meant it earlier"
    );
    // Suspended again while the answer is missing: its timeout passes meanwhile.
    stop(&mut desk, 60_000);
    desk.until(60_000);
    assert_eq!(desk.take_with("retried"), ["60000 retried 1"]);
}

#[test]
fn a_script_by_hand_goes_away_and_comes_back() {
    let mut desk = Desk::with_seed(sim_user::Script::Manual { stream: true }, 1);
    desk.manual(&enter());
    desk.answer(0, 0, &waiting());
    desk.opened(1);
    desk.take();
    desk.manual(&Step::Disconnect(Some(Span::millis(100))));
    desk.until(100);
    desk.manual(&Step::Disconnect(None));
    assert_eq!(
        desk.take(),
        [
            "0 stream closed",
            "0 > drop all",
            "100 > open 2 after 0 as 0",
            "100 stream closed",
            "100 vanished",
            "100 > drop all",
        ]
    );
    assert_eq!(desk.manual(&send("hi")), None);
}
