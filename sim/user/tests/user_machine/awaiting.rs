//! Tests how an `await` ends: by a stream, a check, an answer, the end of a chat, or its timeout.

use chat_types::Time;
use sim_model::outcome::Waiting;
use sim_model::plan::{Grant, Step, Verb};
use sim_model::protocol::{Body, User, Who};

use crate::harness::*;

fn stick() -> Step {
    Step::Call(Verb::TalkingStick(Grant::Unnamed))
}

fn granted_by(ms: u64) -> Step {
    wait_for("stick.granted", ms)
}

#[test]
fn an_event_on_the_stream_ends_an_await() {
    let steps = vec![enter(), wait_for("chatroom.found", 10_000), send("hi")];
    let mut harness = Harness::registered(flow(steps), waiting());
    harness.until(3_000);
    harness.streamed(1, &found(1));
    harness.shows([
        "3000 received 1 chatroom.found",
        "3000 called 1 send",
        "3000 > request 1.0 send as 0 key 1",
    ]);
}

#[test]
fn each_event_serves_one_await_even_an_earlier_one() {
    let message_by = |ms| wait_for("message.received", ms);
    let steps = vec![
        enter(),
        think(100),
        message_by(50),
        message_by(50),
        message_by(50),
    ];
    let mut harness = Harness::registered(flow(steps), matched(1));
    harness.streamed(1, &message());
    harness.streamed(2, &message());
    harness.streamed(2, &message());
    harness.until(200);
    assert_eq!(
        harness.take_with("st"),
        ["150 stuck message.received"],
        "two came, and one of them twice"
    );
    let stuck = Waiting {
        at: "flow[4] await".to_owned(),
        waiting_for: "message.received".to_owned(),
        since: Time(100_000),
    };
    assert_eq!(harness.user.stuck(), Some(stuck));
}

#[test]
fn checks_end_an_await_without_a_stream() {
    let mut persona = flow(vec![
        enter(),
        wait_for("chatroom.found", 30_000),
        send("hi"),
    ]);
    persona.stream = false;
    let mut harness = Harness::registered(persona, waiting());
    harness.until(20_000);
    harness.answer(1, 0, &read(0));
    harness.until(20_100);
    harness.checked(1, &found(1));
    let called = harness.take_with("called 3");
    assert!(called.is_empty(), "the answer is not complete");
    harness.answer(2, 0, &read(1));
    harness.shows([
        "20100 answered 2 check ok",
        "20100 called 3 send",
        "20100 > request 3.0 send as 0 key 1",
    ]);
    for (check, wait) in [(1, "wait: Span(20000000)"), (2, "wait: Span(10000000)")] {
        let shown = format!("{:?}", harness.log.actions[check]);
        assert!(shown.contains(wait), "{shown}");
    }
}

#[test]
fn an_empty_check_is_not_repeated_at_once() {
    let mut persona = flow(vec![enter(), wait_for("chatroom.found", 30_000)]);
    persona.stream = false;
    let mut harness = Harness::registered(persona, waiting());
    harness.until(10);
    harness.answer(1, 0, &read(0));
    harness.until(510);
    harness.answer(2, 0, &refused("invalid_cursor"));
    harness.until(1_510);
    harness.shows_of("called", ["510 called 2 check", "1510 called 3 check"]);
}

#[test]
fn checks_replace_a_broken_stream() {
    let steps = vec![enter(), wait_for("chatroom.found", 60_000)];
    let mut harness = Harness::registered(flow(steps), waiting());
    harness.until(1_000);
    assert!(harness.take().is_empty(), "the stream is up");
    harness.closed(1, None);
    harness.until(1_500);
    harness.opened(2);
    harness.until(21_000);
    harness.answer(1, 0, &read(0));
    harness.until(30_000);
    assert_eq!(
        harness.take(),
        [
            "1000 stream closed",
            "1000 called 1 check",
            "1000 > request 1.0 check after 0 wait 20s as 0",
            "1500 > open 2 after 0 as 0",
            "1500 stream opened",
            "21000 answered 1 check ok",
        ],
        "the stream is up again"
    );
}

#[test]
fn an_await_that_times_out_ends_the_flow() {
    let steps = vec![enter(), wait_for("chatroom.found", 10_000), send("hi")];
    let mut harness = Harness::registered(flow(steps), waiting());
    harness.until(60_000);
    harness.shows(["10000 stuck chatroom.found", "10000 finished"]);
    assert!(!harness.user.is_done(), "it has not drained its inbox");
}

#[test]
fn a_match_in_an_answer_ends_the_await() {
    let found_by = |ms| wait_for("chatroom.found", ms);
    let steps = vec![enter(), found_by(1_000), found_by(1_000)];
    let mut harness = Harness::registered(flow(steps), matched(4));
    harness.streamed(1, &found(4));
    harness.until(2_000);
    harness.shows_of("stuck", ["1000 stuck chatroom.found"]);
}

#[test]
fn only_a_grant_to_oneself_is_awaited() {
    let steps = vec![
        login("lobby"),
        stick(),
        granted_by(1_000),
        stick(),
        granted_by(1_000),
    ];
    let mut harness = Harness::registered(flow(steps), logged_in(1));
    harness.answer(1, 0, &placed(1, 1, 4));
    harness.streamed(1, &granted(User(8), 5));
    assert!(harness.take_with("called").is_empty());
    harness.streamed(2, &granted(ME, 6));
    harness.shows_of("called", ["0 called 2 talking_stick"]);
    harness.answer(2, 0, &placed(1, 3, 6));
    harness.until(2_000);
    assert_eq!(
        harness.take_with("stuck"),
        ["1000 stuck stick.granted"],
        "the same grant does not count twice"
    );
}

#[test]
fn a_holder_that_claims_again_does_not_wait() {
    let steps = vec![
        login("lobby"),
        stick(),
        granted_by(1_000),
        stick(),
        granted_by(1_000),
        granted_by(1_000),
    ];
    let mut harness = Harness::registered(flow(steps), logged_in(1));
    let holding = placed(1, 0, 6);
    harness.answer(1, 0, &holding);
    harness.streamed(1, &granted(ME, 6));
    harness.shows_of("called", ["0 called 2 talking_stick"]);
    harness.answer(2, 0, &holding);
    harness.until(2_000);
    let stuck = harness.user.stuck().expect("it was told once");
    assert_eq!(stuck.at, "flow[5] await");
}

#[test]
fn a_user_that_was_away_claims_again() {
    let steps = vec![login("lobby"), stick(), granted_by(60_000)];
    let mut harness = Harness::registered(flow(steps), logged_in(1));
    harness.answer(1, 0, &placed(1, 2, 4));
    let back = |user| event(1, Body::Back(Who::unnamed(user)));
    harness.streamed(1, &back(User(8)));
    assert!(harness.take_with("called").is_empty(), "it is another user");
    harness.streamed(2, &back(ME));
    harness.shows_of("called", ["0 called 2 talking_stick"]);
}

#[test]
fn a_user_does_not_wait_for_a_former_partner() {
    let message_by = |ms| wait_for("message.received", ms);
    let steps = vec![
        enter(),
        message_by(60_000),
        message_by(60_000),
        send("anyone?"),
    ];
    let mut harness = Harness::registered(flow(steps), matched(1));
    harness.streamed(1, &found(1));
    assert!(harness.take_with("called").is_empty());
    harness.streamed(2, &ended(1));
    assert_eq!(
        harness.take_with("called"),
        ["0 called 1 send"],
        "into the ended room"
    );
    harness.answer(1, 0, &refused("chat_ended"));
    assert_eq!(harness.user.stuck(), None);
}

#[test]
fn a_new_member_may_be_awaited_after_the_last_one_left() {
    let steps = vec![
        enter(),
        wait_for("partner.disconnected", 1_000),
        enter(),
        wait_for("message.received", 1_000),
    ];
    let mut harness = Harness::registered(flow(steps), matched(1));
    harness.streamed(1, &ended(1));
    harness.answer(1, 0, &waiting());
    harness.until(5_000);
    harness.shows_of("stuck", ["1000 stuck message.received"]);
}
