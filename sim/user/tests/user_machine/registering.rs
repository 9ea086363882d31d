//! Tests registering: the first call, taken names, lost handles.

use sim_model::protocol::{Answer, User};

use crate::desk::*;

#[test]
fn a_registered_user_has_a_handle_and_a_stream() {
    let mut desk = Desk::new(flow(vec![enter(), send("hi")]));
    desk.start();
    assert_eq!(desk.user.identity(), None);
    desk.answer(0, 0, &matched(1));
    assert_eq!(desk.user.identity(), Some(ME));
    assert_eq!(
        desk.take_with(">"),
        [
            "0 > request 0.0 enter_queue Ann as new 0 key 0",
            "0 > open 1 after 0 as 0",
            "0 > request 1.0 send as 0 key 1",
        ]
    );
}

#[test]
fn some_have_no_stream() {
    let mut persona = flow(vec![enter()]);
    persona.stream = false;
    let mut desk = Desk::new(persona);
    desk.start();
    desk.answer(0, 0, &waiting());
    assert!(desk.take_with("open").is_empty());
}

#[test]
fn a_taken_name_is_changed() {
    let mut desk = Desk::new(flow(vec![login("lobby"), login("kitchen")]));
    desk.start();
    desk.answer(0, 0, &refused("name_taken"));
    desk.answer(1, 0, &refused("name_taken"));
    desk.answer(2, 0, &logged_in(1));
    assert_eq!(
        desk.take_with("request"),
        [
            "0 > request 0.0 login Ann lobby as new 0 key 0",
            "0 > request 1.0 login Ann-2 lobby as new 0 key 1",
            "0 > request 2.0 login Ann-3 lobby as new 0 key 2",
            "0 > request 3.0 login Ann-3 kitchen as 0 key 3",
        ]
    );
}

#[test]
fn a_user_whose_names_are_refused_gives_up_in_the_end() {
    let mut desk = Desk::new(flow(vec![login("lobby"), send("hi")]));
    desk.start();
    for call in 0..17 {
        desk.answer(call, 0, &refused("name_taken"));
    }
    assert_eq!(desk.take_with("finished"), ["0 finished"]);
}

#[test]
fn a_registration_of_unknown_fate_is_not_tried_again_under_its_handle() {
    let mut desk = Desk::new(flow(vec![enter(), enter()]));
    desk.start();
    desk.until(5_500);
    assert_eq!(
        desk.take_with("request").last().unwrap(),
        "5500 > request 1.0 enter_queue Ann as new 1 key 1"
    );
}

#[test]
fn a_handle_that_is_unknown_is_given_up() {
    let steps = vec![enter(), send("hi"), think(100), enter(), think(9_000)];
    let mut desk = Desk::registered(flow(steps), matched(1));
    desk.streamed(1, &message());
    desk.take();
    desk.answer(1, 0, &refused("unknown_handle"));
    assert_eq!(desk.user.identity(), None);
    desk.until(100);
    let user = User(9);
    desk.answer(
        2,
        0,
        &Ok(Answer::Waiting {
            estimated_wait: None,
            user,
            position: 1,
        }),
    );
    assert_eq!(
        desk.take(),
        [
            "0 answered 1 send unknown_handle",
            "0 stream closed",
            "0 forgot 7",
            "0 > drop all",
            "100 called 2 enter_queue",
            "100 > request 2.0 enter_queue Ann as new 1 key 2",
            "100 answered 2 enter_queue ok",
            "100 > open 2 after 0 as 1",
        ]
    );
}

#[test]
fn without_a_handle_a_flow_that_needs_one_is_over() {
    let steps = vec![enter(), wait_for("chatroom.found", 60_000), send("hi")];
    let mut desk = Desk::registered(flow(steps), waiting());
    desk.until(50);
    desk.closed(1, Some("unknown_handle"));
    assert_eq!(
        desk.take(),
        [
            "50 stream closed",
            "50 forgot 7",
            "50 finished",
            "50 > drop all"
        ]
    );
    desk.drain();
    assert!(desk.user.is_done(), "nothing is left to drain");
    assert!(desk.take().is_empty());
}

#[test]
fn some_forget_their_handle_and_begin_anew_up_to_three_times() {
    let mut persona = flow(vec![enter(), send("hi")]);
    persona.habits.forget_handle = always();
    let mut desk = Desk::new(persona);
    desk.start();
    for call in 0..4 {
        desk.answer(call, 0, &waiting());
    }
    assert_eq!(
        desk.take_with(" for").len(),
        3,
        "three times forgotten, then never again"
    );
    desk.answer(4, 0, &sent());
    assert_eq!(desk.take_with("finished"), ["0 finished"]);
}

#[test]
fn what_was_in_flight_is_abandoned_with_the_handle() {
    let mut persona = flow(vec![enter(), send("hi"), send("ho")]);
    persona.habits.parallel = always();
    let mut desk = Desk::registered(persona, matched(1));
    desk.answer(2, 0, &refused("unknown_handle"));
    desk.answer(1, 0, &sent());
    assert_eq!(
        desk.take(),
        [
            "0 answered 2 send unknown_handle",
            "0 stream closed",
            "0 abandoned 1 send",
            "0 forgot 7",
            "0 finished",
            "0 > drop all",
            "0 > cancel 1.0",
        ]
    );
}
