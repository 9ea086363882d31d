//! Attempts, retries, second answers, and the habits about them.

use chat_types::Span;
use sim_model::plan::{Habits, Verb};
use sim_model::protocol::{Plain, Refusal};
use sim_user::Action;

use crate::desk::*;

#[test]
fn silence_is_answered_with_the_same_key_ever_more_slowly() {
    let mut desk = Desk::new(flow(vec![enter()]));
    desk.start();
    desk.until(60_000);
    assert_eq!(
        desk.take(),
        [
            "0 called 0 enter_queue",
            "0 > request 0.0 enter_queue Ann as new 0 key 0",
            "500 retried 0",
            "500 > cancel 0.0",
            "500 > request 0.1 enter_queue Ann as new 0 key 0",
            "1500 retried 0",
            "1500 > cancel 0.1",
            "1500 > request 0.2 enter_queue Ann as new 0 key 0",
            "3500 retried 0",
            "3500 > cancel 0.2",
            "3500 > request 0.3 enter_queue Ann as new 0 key 0",
            "5500 abandoned 0 enter_queue",
            "5500 finished",
            "5500 > cancel 0.3",
        ]
    );
}

#[test]
fn a_check_is_waited_for_so_much_longer() {
    let mut desk = Desk::registered(flow(vec![enter(), check(5_000)]), waiting());
    desk.until(10_000);
    assert_eq!(desk.take_with("retried"), ["5500 retried 1"]);
}

#[test]
fn the_first_answer_wins_and_the_second_is_told() {
    let mut desk = Desk::registered(flow(vec![enter(), send("hi"), think(9_000)]), matched(1));
    desk.until(700);
    desk.answer(1, 0, &sent());
    desk.answer(1, 1, &sent());
    assert_eq!(
        desk.take(),
        [
            "500 retried 1",
            "500 > cancel 1.0",
            "500 > request 1.1 send as 0 key 1",
            "700 answered 1 send ok",
            "700 answered again 1 send",
        ]
    );
    desk.until(2_000);
    assert!(desk.take().is_empty(), "an answered call is not retried");
}

#[test]
fn a_refusal_that_helps_to_repeat_is_repeated() {
    let mut desk = Desk::registered(flow(vec![enter(), send("hi")]), matched(1));
    let later = Err(Refusal {
        retry_after: Some(Span::millis(70)),
        ..Refusal::of("rate_limited")
    });
    desk.answer(1, 0, &later);
    desk.answer(1, 0, &later);
    desk.until(100);
    desk.answer(1, 1, &refused("overloaded"));
    desk.until(2_000);
    desk.answer(1, 1, &refused("overloaded"));
    desk.answer(1, 2, &refused("storage_unavailable"));
    desk.until(5_000);
    desk.answer(1, 3, &refused("shutting_down"));
    assert_eq!(
        desk.take(),
        [
            "70 retried 1",
            "70 > request 1.1 send as 0 key 1",
            "1100 retried 1",
            "1100 > request 1.2 send as 0 key 1",
            "4000 retried 1",
            "4000 > request 1.3 send as 0 key 1",
            "5000 answered 1 send shutting_down",
            "5000 finished",
        ]
    );
}

#[test]
fn a_plain_refusal_is_an_answer() {
    let mut desk = Desk::registered(flow(vec![enter(), send("hi")]), matched(1));
    desk.answer(1, 0, &refused("muted"));
    assert_eq!(desk.take(), ["0 answered 1 send muted", "0 finished"]);
}

#[test]
fn some_retry_without_a_key() {
    let mut persona = flow(vec![enter()]);
    persona.habits.no_key = always();
    let mut desk = Desk::new(persona);
    desk.start();
    desk.until(600);
    assert_eq!(
        desk.take_with("request"),
        [
            "0 > request 0.0 enter_queue Ann as new 0",
            "500 > request 0.1 enter_queue Ann as new 0",
        ]
    );
}

#[test]
fn some_give_up_at_the_first_timeout() {
    let mut persona = flow(vec![enter(), check(5_000)]);
    persona.habits.abandon = always();
    let mut desk = Desk::registered(persona, waiting());
    desk.until(9_000);
    assert_eq!(
        desk.take(),
        [
            "5500 abandoned 1 check",
            "5500 finished",
            "5500 > cancel 1.0",
        ]
    );
    desk.answer(1, 0, &read(0));
    assert!(desk.take().is_empty(), "nobody waits for it any more");
}

#[test]
fn those_who_give_up_do_so_after_a_minute_at_the_latest() {
    let mut persona = flow(vec![enter(), check(100_000)]);
    persona.habits.abandon = always();
    let mut desk = Desk::registered(persona, waiting());
    desk.until(99_000);
    assert_eq!(
        desk.take(),
        [
            "60000 abandoned 1 check",
            "60000 finished",
            "60000 > cancel 1.0",
        ]
    );
}

#[test]
fn some_do_not_wait_for_an_answer() {
    let mut persona = flow(vec![enter(), repeat(10, vec![send("hi")])]);
    persona.habits.parallel = always();
    let mut desk = Desk::registered(persona, matched(1));
    // One registering call, then the largest number of calls in flight.
    let requests = desk.log.actions.iter();
    let requests = requests.filter(|action| matches!(action, Action::Request { .. }));
    assert_eq!(requests.count(), 1 + 8);
    desk.answer(8, 0, &sent());
    assert_eq!(
        desk.take_with("called"),
        ["0 called 9 send"],
        "the latest was waited for"
    );
    desk.answer(3, 0, &sent());
    assert!(desk.take_with("called").is_empty());
    desk.answer(9, 0, &sent());
    assert_eq!(desk.take_with("called"), ["0 called 10 send"]);
    desk.answer(10, 0, &sent());
    assert!(
        desk.take_with("finished").is_empty(),
        "six are still in flight"
    );
    for call in [1, 2, 4, 5, 6, 7] {
        desk.answer(call, 0, &sent());
    }
    assert_eq!(desk.take_with("finished"), ["0 finished"]);
}

#[test]
fn steps_by_hand_wait_for_nothing() {
    let mut desk = Desk::with_seed(sim_user::Script::Manual { stream: true }, 1);
    desk.manual(&enter());
    desk.answer(0, 0, &matched(1));
    let typing = sim_model::plan::Step::Call(Verb::Plain(Plain::Typing));
    let calls = [send("a"), typing, send("b")].map(|step| desk.manual(&step).unwrap().0);
    assert_eq!(calls, [1, 2, 3]);
    desk.until(500);
    assert_eq!(
        desk.take_with("retried"),
        ["500 retried 1", "500 retried 2", "500 retried 3"]
    );
    let block = sim_model::plan::Step::Call(Verb::Plain(Plain::Block));
    assert!(desk.manual(&block).is_some());
}

#[test]
fn habits_are_drawn_from_the_seed() {
    let run = |seed| {
        let mut persona = flow(vec![enter(), repeat(50, vec![send("hi"), think(10)])]);
        let one_in_two = sim_model::draw::Ratio::new(1, 2).unwrap();
        persona.habits = Habits {
            second_stream: sim_model::draw::Ratio::NEVER,
            stray: sim_model::draw::Ratio::NEVER,
            abandon: one_in_two,
            parallel: one_in_two,
            no_key: one_in_two,
            bare_check: one_in_two,
            forget_handle: sim_model::draw::Ratio::new(1, 20).unwrap(),
        };
        let script = sim_user::Script::Flow(std::sync::Arc::new(persona));
        let mut desk = Desk::with_seed(script, seed);
        desk.start();
        let mut answered = 0;
        for ms in 0..400 {
            desk.until(ms * 50);
            while let Some(action) = desk.log.actions.get(answered).cloned() {
                answered += 1;
                if let Action::Request { call, attempt, .. } = action
                    && call.0 % 5 != 4
                {
                    desk.answer(call.0, attempt, &matched(1));
                }
            }
        }
        (desk.take(), desk.log.actions)
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}
