//! Attempts, retries, second answers, and the habits about them.

use chat_types::Span;
use sim_model::draw::Ratio;
use sim_model::plan::{Habits, Step, Verb};
use sim_model::protocol::{Code, Plain, Refusal};
use sim_user::Action;

use crate::harness::*;

#[test]
fn retries_keep_the_key_and_back_off() {
    let mut harness = Harness::started(flow(vec![enter()]));
    harness.until(60_000);
    harness.shows([
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
    ]);
}

#[test]
fn the_first_answer_counts_and_the_second_is_recorded() {
    let mut harness =
        Harness::registered(flow(vec![enter(), send("hi"), think(9_000)]), matched(1));
    harness.until(700);
    harness.answer(1, 0, &sent());
    harness.answer(1, 1, &sent());
    harness.shows([
        "500 retried 1",
        "500 > cancel 1.0",
        "500 > request 1.1 send as 0 key 1",
        "700 answered 1 send ok",
        "700 answered again 1 send",
    ]);
    harness.until(2_000);
    assert!(harness.take().is_empty(), "an answered call is not retried");
}

#[test]
fn a_temporary_refusal_is_retried() {
    let mut harness = Harness::registered(flow(vec![enter(), send("hi")]), matched(1));
    let later = Err(Refusal {
        retry_after: Some(Span::millis(70)),
        ..Refusal::of(Code::RateLimited)
    });
    harness.answer(1, 0, &later);
    harness.answer(1, 0, &later);
    harness.until(100);
    harness.answer(1, 1, &refused("overloaded"));
    harness.until(2_000);
    harness.answer(1, 1, &refused("overloaded"));
    harness.answer(1, 2, &refused("storage_unavailable"));
    harness.until(5_000);
    harness.answer(1, 3, &refused("shutting_down"));
    harness.shows([
        "70 retried 1",
        "70 > request 1.1 send as 0 key 1",
        "1100 retried 1",
        "1100 > request 1.2 send as 0 key 1",
        "4000 retried 1",
        "4000 > request 1.3 send as 0 key 1",
        "5000 answered 1 send shutting_down",
        "5000 finished",
    ]);
}

#[test]
fn a_permanent_refusal_is_an_answer() {
    let mut harness = Harness::registered(flow(vec![enter(), send("hi")]), matched(1));
    harness.answer(1, 0, &refused("muted"));
    harness.shows(["0 answered 1 send muted", "0 finished"]);
}

#[test]
fn a_user_may_retry_without_a_key() {
    let mut persona = flow(vec![enter()]);
    persona.habits.no_key = always();
    let mut harness = Harness::started(persona);
    harness.until(600);
    harness.shows_of(
        "request",
        [
            "0 > request 0.0 enter_queue Ann as new 0",
            "500 > request 0.1 enter_queue Ann as new 0",
        ],
    );
}

#[test]
fn a_user_may_give_up_at_the_first_timeout_which_the_wait_extends_up_to_a_minute() {
    for (wait, end) in [(5_000, 5_500), (100_000, 60_000)] {
        let mut persona = flow(vec![enter(), check(wait)]);
        persona.habits.abandon = always();
        let mut harness = Harness::registered(persona, waiting());
        harness.until(99_000);
        let lines = ["abandoned 1 check", "finished", "> cancel 1.0"];
        assert_eq!(harness.take(), lines.map(|line| format!("{end} {line}")));
        harness.answer(1, 0, &read(0));
        assert!(harness.take().is_empty(), "nobody waits for it any more");
    }
}

#[test]
fn a_user_may_continue_without_an_answer() {
    let mut persona = flow(vec![enter(), repeat(10, vec![send("hi")])]);
    persona.habits.parallel = always();
    let mut harness = Harness::registered(persona, matched(1));
    // One registering call, then the largest number of calls in flight.
    let requests = harness.log.actions.iter();
    let requests = requests.filter(|action| matches!(action, Action::Request { .. }));
    assert_eq!(requests.count(), 1 + 8);
    harness.answer(8, 0, &sent());
    assert_eq!(
        harness.take_with("called"),
        ["0 called 9 send"],
        "the latest was waited for"
    );
    harness.answer(3, 0, &sent());
    assert!(harness.take_with("called").is_empty());
    harness.answer(9, 0, &sent());
    harness.shows_of("called", ["0 called 10 send"]);
    harness.answer(10, 0, &sent());
    assert!(
        harness.take_with("finished").is_empty(),
        "six are still in flight"
    );
    for call in [1, 2, 4, 5, 6, 7] {
        harness.answer(call, 0, &sent());
    }
    harness.shows_of("finished", ["0 finished"]);
}

#[test]
fn manual_steps_do_not_wait() {
    let mut harness = Harness::by_hand();
    harness.manual(&enter());
    harness.answer(0, 0, &matched(1));
    let typing = Step::Call(Verb::Plain(Plain::Typing));
    let calls = [send("a"), typing, send("b")].map(|step| harness.manual(&step).unwrap().0);
    assert_eq!(calls, [1, 2, 3]);
    harness.until(500);
    harness.shows_of(
        "retried",
        ["500 retried 1", "500 retried 2", "500 retried 3"],
    );
    let block = Step::Call(Verb::Plain(Plain::Block));
    assert!(harness.manual(&block).is_some());
}

#[test]
fn habits_are_drawn_from_the_seed() {
    let run = |seed| {
        let mut persona = flow(vec![enter(), repeat(50, vec![send("hi"), think(10)])]);
        let one_in_two = Ratio::new(1, 2).unwrap();
        persona.habits = Habits {
            second_stream: Ratio::NEVER,
            stray: Ratio::NEVER,
            address: one_in_two,
            abandon: one_in_two,
            impatient: one_in_two,
            parallel: one_in_two,
            no_key: one_in_two,
            bare_check: one_in_two,
            forget_handle: Ratio::new(1, 20).unwrap(),
        };
        let script = sim_user::Script::Flow(std::sync::Arc::new(persona));
        let mut harness = Harness::with_seed(script, seed);
        harness.start();
        let mut answered = 0;
        for ms in 0..400 {
            harness.until(ms * 50);
            while let Some(action) = harness.log.actions.get(answered).cloned() {
                answered += 1;
                if let Action::Request { call, attempt, .. } = action
                    && call.0 % 5 != 4
                {
                    harness.answer(call.0, attempt, &matched(1));
                }
            }
        }
        (harness.take(), harness.log.actions)
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}
