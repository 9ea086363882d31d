//! Tests other manners of clients: other names, two streams, a stream alone, and unregistering.

use chat_types::Span;
use sim_model::plan::{Manner, Reads, Step, Verb};
use sim_model::protocol::{Answer, Plain, ReadBy};

use crate::desk::*;

fn by_stream(steps: Vec<Step>) -> sim_model::plan::Persona {
    let mut persona = flow(steps);
    persona.manner = Manner {
        reads: Reads::ByStream,
        ..Manner::default()
    };
    persona
}

#[test]
fn a_name_that_is_not_allowed_gives_way_to_a_plain_one() {
    let mut desk = Desk::new(flow(vec![login("lobby")]));
    desk.start();
    desk.answer(0, 0, &refused("name_not_allowed"));
    let asked = desk.take_with("request");
    assert_eq!(
        asked.last().unwrap(),
        "0 > request 1.0 login visitor 3-0 lobby as new 0 key 1"
    );
}

#[test]
fn an_id_that_is_taken_is_done_without() {
    let step = Step::Call(Verb::EnterQueue {
        name: None,
        user_id: Some("ann".into()),
        interests: Vec::new().into(),
    });
    let mut desk = Desk::new(flow(vec![step]));
    desk.start();
    desk.answer(0, 0, &refused("user_id_taken"));
    assert_eq!(desk.take_with("request").len(), 2);
    // Without a chosen id there is nothing to change.
    desk.answer(1, 0, &refused("user_id_taken"));
    assert_eq!(desk.take_with("request"), [""; 0]);
}

#[test]
fn who_unregisters_is_nobody_and_may_come_again() {
    let steps = vec![enter(), Step::Call(Verb::Plain(Plain::Unregister)), enter()];
    let mut desk = Desk::registered(flow(steps), waiting());
    desk.answer(1, 0, &Ok(Answer::Done));
    assert_eq!(
        desk.take(),
        [
            "0 answered 1 unregister ok",
            "0 stream closed",
            "0 forgot 7",
            "0 called 2 enter_queue",
            "0 > drop all",
            "0 > request 2.0 enter_queue Ann as new 1 key 2",
        ]
    );
}

#[test]
fn a_second_stream_overlaps_the_first() {
    let mut persona = flow(vec![enter(), think(60_000)]);
    persona.habits.second_stream = sim_model::draw::Ratio::new(1, 1).unwrap();
    let mut desk = Desk::new(persona);
    desk.start();
    desk.answer(0, 0, &waiting());
    desk.opened(1);
    desk.opened(2);
    assert_eq!(desk.take_with("close"), [""; 0], "both are open");
    desk.until(4_000);
    let lines = desk.take();
    let closed = lines.iter().position(|line| line.ends_with("> close 1"));
    assert!(closed.is_some(), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("stream closed")));
}

#[test]
fn where_the_second_stream_fails_the_first_goes_too() {
    let mut persona = flow(vec![enter(), think(60_000)]);
    persona.habits.second_stream = sim_model::draw::Ratio::new(1, 1).unwrap();
    let mut desk = Desk::new(persona);
    desk.start();
    desk.answer(0, 0, &waiting());
    desk.opened(1);
    desk.take();
    desk.closed(2, Some("rate_limited"));
    assert_eq!(desk.take(), ["0 stream closed", "0 > close 1"]);
}

#[test]
fn a_stream_that_is_trusted_goes_on_behind_its_last_event() {
    let steps = vec![enter(), wait_for("chatroom.found", 60_000), think(60_000)];
    let mut desk = Desk::registered(by_stream(steps), waiting());
    desk.streamed(1, &message());
    desk.streamed(3, &message());
    desk.closed(1, None);
    desk.until(1_000);
    let lines = desk.take();
    assert!(
        lines.iter().any(|line| line.contains("open 2 after 3")),
        "{lines:?}"
    );
    assert!(
        !lines.iter().any(|line| line.contains("check")),
        "{lines:?}"
    );
}

#[test]
fn it_listens_to_a_fresh_stream_before_it_is_drained() {
    let mut desk = Desk::registered(by_stream(vec![enter()]), waiting());
    desk.streamed(2, &message());
    desk.drain();
    let lines = desk.take();
    assert!(
        lines.iter().any(|line| line.contains("open 2 after 2")),
        "{lines:?}"
    );
    desk.opened(2);
    desk.until(4_900);
    assert_eq!(desk.take_with("check"), [""; 0]);
    desk.until(5_000);
    assert_eq!(
        desk.take_with("request"),
        ["5000 > request 1.0 check after 2 wait 0s as 0"]
    );
    desk.answer(1, 0, &read(2));
    assert!(desk.user.is_done());
}

#[test]
fn a_check_says_by_which_secret_it_reads() {
    let step = |by| {
        Step::Call(Verb::Check {
            wait: Span::ZERO,
            by,
        })
    };
    let steps = vec![enter(), step(ReadBy::Handle), step(ReadBy::ReaderId)];
    let mut desk = Desk::registered(flow(steps), waiting());
    desk.answer(1, 0, &read(0));
    assert_eq!(
        desk.take_with("request"),
        ["0 > request 2.0 check by reader as 0"]
    );
}
