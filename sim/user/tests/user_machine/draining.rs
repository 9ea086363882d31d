//! Tests finishing quickly and draining the inbox.

use chat_types::Span;
use sim_model::plan::Step;

use crate::desk::*;

#[test]
fn thinking_pausing_and_further_rounds_are_left_out() {
    let away = Step::Disconnect(Some(Span::secs(60)));
    let round = vec![think(60_000), send("hi"), check(5_000)];
    let steps = vec![
        enter(),
        repeat(100, round),
        away,
        wait_for("message.received", 60_000),
        send("bye"),
    ];
    let mut desk = Desk::registered(flow(steps), matched(1));
    desk.drain();
    desk.answer(1, 0, &sent());
    desk.answer(2, 0, &read(0));
    desk.answer(3, 0, &sent());
    desk.answer(4, 0, &read(0));
    assert_eq!(
        desk.take(),
        [
            "0 called 1 send",
            "0 > request 1.0 send as 0 key 1",
            "0 answered 1 send ok",
            "0 called 2 check",
            "0 > request 2.0 check after 0 wait 0s as 0",
            "0 answered 2 check ok",
            "0 called 3 send",
            "0 > request 3.0 send as 0 key 2",
            "0 answered 3 send ok",
            "0 finished",
            "0 called 4 check",
            "0 > request 4.0 check after 0 wait 0s as 0",
            "0 answered 4 check ok",
            "0 drained",
        ]
    );
    assert!(desk.user.is_done());
}

#[test]
fn it_ends_when_nothing_is_new_left_or_missing() {
    let mut desk = Desk::registered(flow(vec![enter()]), matched(1));
    desk.streamed(1, &found(1));
    desk.streamed(4, &message());
    desk.drain();
    desk.checked(2, &message());
    desk.answer(1, 0, &read(2));
    // Nothing new, but place 3 is missing.
    desk.answer(2, 0, &read(4));
    assert!(!desk.user.is_done());
    desk.until(500);
    desk.checked(3, &message());
    desk.answer(3, 0, &read(4));
    // Nothing new except by the stream.
    desk.streamed(5, &message());
    desk.answer(4, 0, &read(4));
    // Nothing new, but more events follow.
    desk.answer(
        5,
        0,
        &Ok(sim_model::protocol::Answer::Read {
            notices: Box::default(),
            unread: 0,
            cursor: 5,
            more: true,
        }),
    );
    desk.until(1_000);
    desk.answer(6, 0, &read(5));
    assert!(desk.user.is_done());
    assert_eq!(
        desk.take_with("after"),
        [
            "0 > request 1.0 check after 1 wait 0s as 0",
            "0 > request 2.0 check after 2 wait 0s as 0",
            "500 > request 3.0 check after 2 wait 0s as 0",
            "500 > request 4.0 check after 4 wait 0s as 0",
            "500 > request 5.0 check after 5 wait 0s as 0",
            "1000 > request 6.0 check after 5 wait 0s as 0",
        ]
    );
}

#[test]
fn it_goes_on_after_silence() {
    let mut desk = Desk::registered(flow(vec![enter()]), matched(1));
    desk.drain();
    desk.until(7_000);
    assert_eq!(
        desk.take_with("check")
            .iter()
            .filter(|line| line.contains("called"))
            .count(),
        2,
        "one was abandoned after 5.5 s, the next left after a pause"
    );
}

#[test]
fn a_drained_user_can_be_drained_again() {
    let mut desk = Desk::registered(flow(vec![enter()]), matched(1));
    desk.drain();
    desk.answer(1, 0, &read(0));
    assert!(desk.user.is_done());
    desk.drain();
    assert!(!desk.user.is_done());
    desk.checked(1, &message());
    desk.answer(2, 0, &read(1));
    desk.answer(3, 0, &read(1));
    assert!(desk.user.is_done());
    assert_eq!(desk.take_with("drained").len(), 2);
}

#[test]
fn an_odd_one_out_does_not_wait_for_a_match_for_ever() {
    let steps = vec![enter(), wait_for("chatroom.found", 3_600_000)];
    let mut desk = Desk::registered(flow(steps), waiting());
    desk.until(1_000);
    desk.drain();
    desk.until(11_000);
    assert_eq!(desk.take_with("finished"), ["11000 finished"]);
    let stuck = desk.user.stuck().expect("for others to judge");
    assert_eq!(stuck.waiting_for, "chatroom.found");
}

#[test]
fn an_absent_user_comes_back_at_once() {
    let away = Step::Disconnect(Some(Span::secs(3_600)));
    let mut desk = Desk::registered(flow(vec![enter(), away, send("hi")]), matched(1));
    desk.until(1_000);
    desk.drain();
    assert_eq!(
        desk.take_with(">"),
        [
            "1000 > open 2 after 0 as 0",
            "1000 > request 1.0 send as 0 key 1",
        ]
    );
}

#[test]
fn a_script_by_hand_is_drained_when_its_calls_are_over() {
    let mut desk = Desk::with_seed(sim_user::Script::Manual { stream: true }, 1);
    desk.manual(&enter());
    desk.drain();
    assert!(desk.take_with("finished").is_empty());
    desk.answer(0, 0, &waiting());
    desk.answer(1, 0, &read(0));
    assert_eq!(
        desk.take_with("ed")[1..],
        [
            "0 finished",
            "0 called 1 check",
            "0 answered 1 check ok",
            "0 drained"
        ]
    );
    assert!(desk.user.is_done());
}

#[test]
fn a_user_that_never_came_has_nothing_to_drain() {
    let mut desk = Desk::with_seed(sim_user::Script::Manual { stream: true }, 1);
    desk.drain();
    assert_eq!(desk.take(), ["0 finished"]);
    assert!(desk.user.is_done());
}
