//! Tests other manners of clients: other names, two streams, a stream alone, and unregistering.

use chat_types::Span;
use sim_model::plan::{ClientProfile, Reads, Step, Verb};
use sim_model::protocol::{Plain, ReadBy, Reply, Response};

use crate::harness::*;

fn by_stream(steps: Vec<Step>) -> sim_model::plan::Persona {
    let mut persona = flow(steps);
    persona.profile = ClientProfile {
        reads: Reads::ByStream,
        ..ClientProfile::default()
    };
    persona
}

#[test]
fn a_refused_name_is_replaced_by_a_plain_one() {
    let mut harness = Harness::started(flow(vec![login("lobby")]));
    harness.answer(0, 0, &refused("name_not_allowed"));
    let asked = harness.take_with("request");
    let again = "0 > request 1.0 login visitor 3-0 lobby as new 0 key 1";
    assert_eq!(asked.last().unwrap(), again);
}

#[test]
fn a_taken_id_is_dropped() {
    let step = Step::Call(Verb::EnterQueue {
        name: None,
        user_id: Some("ann".into()),
        interests: Vec::new().into(),
    });
    let mut harness = Harness::started(flow(vec![step]));
    harness.answer(0, 0, &refused("user_id_taken"));
    assert_eq!(harness.take_with("request").len(), 2);
    // Without a chosen id there is nothing to change.
    harness.answer(1, 0, &refused("user_id_taken"));
    assert_eq!(harness.take_with("request"), [""; 0]);
}

#[test]
fn an_unregistered_user_may_register_again() {
    let steps = vec![enter(), Step::Call(Verb::Plain(Plain::Unregister)), enter()];
    let mut harness = Harness::registered(flow(steps), waiting());
    harness.answer(1, 0, &Ok(Response::Done(Reply::Done)));
    harness.shows([
        "0 answered 1 unregister ok",
        "0 stream closed",
        "0 forgot 7",
        "0 called 2 enter_queue",
        "0 > drop all",
        "0 > request 2.0 enter_queue Ann as new 1 key 2",
    ]);
}

#[test]
fn a_second_stream_overlaps_the_first() {
    let mut persona = flow(vec![enter(), think(60_000)]);
    persona.habits.second_stream = always();
    let mut harness = Harness::started(persona);
    harness.answer(0, 0, &waiting());
    harness.opened(1);
    harness.opened(2);
    assert_eq!(harness.take_with("close"), [""; 0], "both are open");
    harness.until(4_000);
    let lines = harness.take();
    let closed = lines.iter().position(|line| line.ends_with("> close 1"));
    assert!(closed.is_some(), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("stream closed")));
}

#[test]
fn a_failed_second_stream_closes_the_first() {
    let mut persona = flow(vec![enter(), think(60_000)]);
    persona.habits.second_stream = always();
    let mut harness = Harness::started(persona);
    harness.answer(0, 0, &waiting());
    harness.opened(1);
    harness.take();
    harness.closed(2, Some("rate_limited"));
    harness.shows(["0 stream closed", "0 > close 1"]);
}

#[test]
fn a_trusted_stream_reopens_after_its_last_event() {
    let steps = vec![enter(), wait_for("chatroom.found", 60_000), think(60_000)];
    let mut harness = Harness::registered(by_stream(steps), waiting());
    harness.streamed(1, &message());
    harness.streamed(3, &message());
    harness.closed(1, None);
    harness.until(1_000);
    let lines = harness.take().join("\n");
    assert!(lines.contains("open 2 after 3"), "{lines}");
    assert!(!lines.contains("check"), "{lines}");
}

#[test]
fn a_user_reopens_its_stream_before_draining() {
    let mut harness = Harness::registered(by_stream(vec![enter()]), waiting());
    harness.streamed(2, &message());
    harness.drain();
    assert_eq!(harness.take_with("open 2 after 2").len(), 1);
    harness.opened(2);
    harness.until(4_900);
    assert_eq!(harness.take_with("check"), [""; 0]);
    harness.until(5_000);
    harness.shows_of("request", ["5000 > request 1.0 check after 2 wait 0s as 0"]);
    harness.answer(1, 0, &read(2));
    assert!(harness.user.is_done());
}

#[test]
fn a_check_names_the_secret_by_which_it_reads() {
    let step = |by| {
        Step::Call(Verb::Check {
            wait: Span::ZERO,
            by,
        })
    };
    let steps = vec![enter(), step(ReadBy::Handle), step(ReadBy::ReaderId)];
    let mut harness = Harness::registered(flow(steps), waiting());
    harness.answer(1, 0, &read(0));
    harness.shows_of("request", ["0 > request 2.0 check by reader as 0"]);
}

fn sleeper(steps: Vec<Step>) -> sim_model::plan::Persona {
    let mut persona = flow(steps);
    persona.stream = false;
    persona.profile.reads = Reads::Knocked;
    persona
}

#[test]
fn a_sleeper_calls_nothing_until_it_is_knocked_for() {
    let steps = vec![enter(), wait_for("message.received", 60_000), send("hi")];
    let mut harness = Harness::registered(sleeper(steps), waiting());
    assert!(harness.user.watched().is_some());
    harness.take();
    harness.until(20_000);
    assert_eq!(harness.take(), [""; 0]);
    // A knock that was in vain: it sleeps again.
    harness.knock();
    harness.shows_of(
        "request",
        ["20000 > request 1.0 check after 0 wait 0s as 0"],
    );
    harness.answer(1, 0, &read(0));
    harness.until(30_000);
    assert_eq!(harness.take_with("request"), [""; 0]);
    // One that comes while it reads is not forgotten, and it reads on until nothing is left.
    harness.knock();
    harness.knock();
    harness.take();
    harness.answer(2, 0, &page(0, 3));
    assert_eq!(harness.take_with("request 3.0 check").len(), 1);
    harness.checked(1, &message());
    harness.answer(3, 0, &read(1));
    assert_eq!(harness.take_with("request 4.0 send").len(), 1);
}

#[test]
fn a_sleeper_goes_on_when_its_time_is_over_and_reads_by_itself_after_the_heal() {
    let steps = vec![
        enter(),
        wait_for("message.received", 5_000),
        send("hi"),
        wait_for("message.received", 60_000),
    ];
    let mut harness = Harness::registered(sleeper(steps), waiting());
    harness.until(5_000);
    assert_eq!(harness.take_with("request 1.0 send").len(), 1);
    harness.answer(1, 0, &sent());
    assert!(harness.user.stuck().is_none());
    harness.drain();
    assert_eq!(harness.take_with("request 2.0 check").len(), 1);
    harness.answer(2, 0, &read(0));
    assert!(harness.user.is_done() && harness.user.watched().is_none());
}
