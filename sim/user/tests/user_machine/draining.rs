//! Tests finishing quickly and draining the inbox.

use chat_types::Span;
use sim_model::plan::Step;

use crate::harness::*;

#[test]
fn draining_skips_pauses_and_further_rounds() {
    let away = Step::Disconnect(Some(Span::secs(60)));
    let round = vec![think(60_000), send("hi"), check(5_000)];
    let steps = vec![
        enter(),
        repeat(100, round),
        away,
        wait_for("message.received", 60_000),
        send("bye"),
    ];
    let mut harness = Harness::registered(flow(steps), matched(1));
    harness.drain();
    harness.answer(1, 0, &sent());
    harness.answer(2, 0, &read(0));
    harness.answer(3, 0, &sent());
    harness.answer(4, 0, &read(0));
    harness.shows([
        "0 called 1 send",
        "0 > request 1.0 send as 0 key 1",
        "0 answered 1 send ok",
        "0 called 2 check",
        "0 > request 2.0 check after 0 wait 0s as 0",
        "0 answered 2 check ok",
        "0 called 3 send",
        "0 > request 3.0 send as 0 key 2",
        "0 answered 3 send ok",
        "0 finished, cut short",
        "0 called 4 check",
        "0 > request 4.0 check after 0 wait 0s as 0",
        "0 answered 4 check ok",
        "0 drained",
    ]);
    assert!(harness.user.is_done());
}

#[test]
fn an_await_that_the_heal_drops_is_cut_short_and_one_that_is_over_is_not() {
    let finished = |gone: bool| {
        let steps = vec![enter(), wait_for("message.received", 60_000)];
        let mut harness = Harness::registered(flow(steps), matched(1));
        harness.streamed(1, &found(1));
        if gone {
            harness.streamed(2, &ended(1));
        }
        harness.drain();
        let lines = harness.take();
        let finished = lines.iter().find(|line| line.contains("finished"));
        finished.cloned().unwrap_or_else(|| panic!("{lines:?}"))
    };
    assert_eq!(finished(false), "0 finished, cut short");
    assert_eq!(finished(true), "0 finished");
}

#[test]
fn draining_ends_when_the_inbox_is_complete() {
    let mut harness = Harness::registered(flow(vec![enter()]), matched(1));
    harness.streamed(1, &found(1));
    harness.streamed(4, &message());
    harness.drain();
    harness.checked(2, &message());
    harness.answer(1, 0, &read(2));
    // Nothing new, but place 3 is missing.
    harness.answer(2, 0, &read(4));
    assert!(!harness.user.is_done());
    harness.until(500);
    harness.checked(3, &message());
    harness.answer(3, 0, &read(4));
    // Nothing new except by the stream.
    harness.streamed(5, &message());
    harness.answer(4, 0, &read(4));
    // Nothing new, but more events follow.
    harness.answer(5, 0, &page(5, 1));
    harness.until(1_000);
    harness.answer(6, 0, &read(5));
    assert!(harness.user.is_done());
    harness.shows_of(
        "after",
        [
            "0 > request 1.0 check after 1 wait 0s as 0",
            "0 > request 2.0 check after 2 wait 0s as 0",
            "500 > request 3.0 check after 2 wait 0s as 0",
            "500 > request 4.0 check after 4 wait 0s as 0",
            "500 > request 5.0 check after 5 wait 0s as 0",
            "1000 > request 6.0 check after 5 wait 0s as 0",
        ],
    );
}

#[test]
fn draining_continues_after_an_unanswered_check() {
    let mut harness = Harness::registered(flow(vec![enter()]), matched(1));
    harness.drain();
    harness.until(7_000);
    let lines = harness.take_with("check").into_iter();
    let called = lines.filter(|line| line.contains("called")).count();
    // One was abandoned after 5.5 s, the next left after a pause.
    assert_eq!(called, 2);
}

#[test]
fn a_drained_user_can_be_drained_again() {
    let mut harness = Harness::registered(flow(vec![enter()]), matched(1));
    harness.drain();
    harness.answer(1, 0, &read(0));
    assert!(harness.user.is_done());
    harness.drain();
    assert!(!harness.user.is_done());
    harness.checked(1, &message());
    harness.answer(2, 0, &read(1));
    harness.answer(3, 0, &read(1));
    assert!(harness.user.is_done());
    assert_eq!(harness.take_with("drained").len(), 2);
}

#[test]
fn draining_ends_a_wait_for_a_match() {
    let steps = vec![enter(), wait_for("chatroom.found", 3_600_000)];
    let mut harness = Harness::registered(flow(steps), waiting());
    harness.until(1_000);
    harness.drain();
    harness.until(11_000);
    harness.shows_of("finished", ["11000 finished"]);
    let stuck = harness.user.stuck().expect("for others to judge");
    assert_eq!(stuck.waiting_for, "chatroom.found");
}

#[test]
fn draining_reconnects_an_absent_user_at_once() {
    let away = Step::Disconnect(Some(Span::secs(3_600)));
    let mut harness = Harness::registered(flow(vec![enter(), away, send("hi")]), matched(1));
    harness.until(1_000);
    harness.drain();
    harness.shows_of(
        ">",
        [
            "1000 > open 2 after 0 as 0",
            "1000 > request 1.0 send as 0 key 1",
        ],
    );
}

#[test]
fn a_manual_user_drains_after_its_calls() {
    let mut harness = Harness::by_hand();
    harness.manual(&enter());
    harness.drain();
    assert!(harness.take_with("finished").is_empty());
    harness.answer(0, 0, &waiting());
    harness.answer(1, 0, &read(0));
    assert_eq!(
        harness.take_with("ed")[1..],
        [
            "0 finished",
            "0 called 1 check",
            "0 answered 1 check ok",
            "0 drained"
        ]
    );
    assert!(harness.user.is_done());
}

#[test]
fn a_user_that_never_came_has_nothing_to_drain() {
    let mut harness = Harness::by_hand();
    harness.drain();
    harness.shows(["0 finished"]);
    assert!(harness.user.is_done());
}
