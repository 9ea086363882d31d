//! Tests registering: the first call, taken names, lost handles.

use crate::harness::*;

#[test]
fn a_registered_user_has_a_handle_and_a_stream() {
    let mut harness = Harness::started(flow(vec![enter(), send("hi")]));
    assert_eq!(harness.user.identity(), None);
    harness.answer(0, 0, &matched(1));
    assert_eq!(harness.user.identity(), Some(ME));
    harness.shows_of(
        ">",
        [
            "0 > request 0.0 enter_queue Ann as new 0 key 0",
            "0 > open 1 after 0 as 0",
            "0 > request 1.0 send as 0 key 1",
        ],
    );
}

#[test]
fn a_user_may_have_no_stream() {
    let mut persona = flow(vec![enter()]);
    persona.stream = false;
    let mut harness = Harness::started(persona);
    harness.answer(0, 0, &waiting());
    assert!(harness.take_with("open").is_empty());
}

#[test]
fn a_taken_name_is_changed() {
    let mut harness = Harness::started(flow(vec![login("lobby"), login("kitchen")]));
    harness.answer(0, 0, &refused("name_taken"));
    harness.answer(1, 0, &refused("name_taken"));
    harness.answer(2, 0, &logged_in(1));
    harness.shows_of(
        "request",
        [
            "0 > request 0.0 login Ann lobby as new 0 key 0",
            "0 > request 1.0 login Ann-2 lobby as new 0 key 1",
            "0 > request 2.0 login Ann-3 lobby as new 0 key 2",
            "0 > request 3.0 login Ann-3 kitchen as 0 key 3",
        ],
    );
}

#[test]
fn a_user_gives_up_after_several_refused_names() {
    let mut harness = Harness::started(flow(vec![login("lobby"), send("hi")]));
    for call in 0..17 {
        harness.answer(call, 0, &refused("name_taken"));
    }
    harness.shows_of("finished", ["0 finished"]);
}

#[test]
fn an_unanswered_registration_is_not_repeated_under_its_handle() {
    let mut harness = Harness::started(flow(vec![enter(), enter()]));
    harness.until(5_500);
    assert_eq!(
        harness.take_with("request").last().unwrap(),
        "5500 > request 1.0 enter_queue Ann as new 1 key 1"
    );
}

#[test]
fn an_unknown_handle_is_dropped() {
    let steps = vec![enter(), send("hi"), think(100), enter(), think(9_000)];
    let mut harness = Harness::registered(flow(steps), matched(1));
    harness.streamed(1, &message());
    harness.take();
    harness.answer(1, 0, &refused("unknown_handle"));
    assert_eq!(harness.user.identity(), None);
    harness.until(100);
    harness.answer(2, 0, &waiting());
    harness.shows([
        "0 answered 1 send unknown_handle",
        "0 stream closed",
        "0 forgot 7",
        "0 > drop all",
        "100 called 2 enter_queue",
        "100 > request 2.0 enter_queue Ann as new 1 key 2",
        "100 answered 2 enter_queue ok",
        "100 > open 2 after 0 as 1",
    ]);
}

#[test]
fn a_flow_ends_without_a_handle() {
    let steps = vec![enter(), wait_for("chatroom.found", 60_000), send("hi")];
    let mut harness = Harness::registered(flow(steps), waiting());
    harness.until(50);
    harness.closed(1, Some("unknown_handle"));
    harness.shows([
        "50 stream closed",
        "50 forgot 7",
        "50 finished",
        "50 > drop all",
    ]);
    harness.drain();
    assert!(harness.user.is_done(), "nothing is left to drain");
    harness.shows([]);
}

#[test]
fn a_user_forgets_its_handle_at_most_three_times() {
    let mut persona = flow(vec![enter(), send("hi")]);
    persona.habits.forget_handle = always();
    let mut harness = Harness::started(persona);
    for call in 0..4 {
        harness.answer(call, 0, &waiting());
    }
    assert_eq!(
        harness.take_with(" for").len(),
        3,
        "three times forgotten, then never again"
    );
    harness.answer(4, 0, &sent());
    harness.shows_of("finished", ["0 finished"]);
}

#[test]
fn calls_in_flight_are_abandoned_with_the_handle() {
    let mut persona = flow(vec![enter(), send("hi"), send("ho")]);
    persona.habits.parallel = always();
    let mut harness = Harness::registered(persona, matched(1));
    harness.answer(2, 0, &refused("unknown_handle"));
    harness.answer(1, 0, &sent());
    harness.shows([
        "0 answered 2 send unknown_handle",
        "0 stream closed",
        "0 abandoned 1 send",
        "0 forgot 7",
        "0 finished",
        "0 > drop all",
        "0 > cancel 1.0",
    ]);
}
