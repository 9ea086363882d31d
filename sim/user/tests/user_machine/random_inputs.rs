//! Property test: for any inputs in any order, nothing panics, and every call ends exactly once.

use std::sync::Arc;

use chat_types::{Epoch, Span, Time};
use proptest::prelude::*;
use sim_model::draw::{Quantiles, Ratio, Shape};
use sim_model::history::DeliveryPath;
use sim_model::plan::{Choice, Grant, Habits, Persona, Step, Text, Verb};
use sim_model::protocol::{
    Body, EndReason, Outcome, Plain, ReadBy, Refusal, Reply, Response, User, WasWaiting, Who,
};
use sim_user::{Action, Script};

use crate::harness::*;

/// An input to a user. Numbers select among the possible ones.
#[derive(Clone, Debug)]
enum Input {
    Start,
    Answer { which: usize, how: u8, room: u64 },
    Event { seq: u64, what: u8, path: bool },
    Opened { back: u32 },
    Closed { back: u32, how: u8 },
    Manual { step: u8 },
    Wait { ms: u64 },
    Suspend { ms: u64 },
    Drain,
}

fn input() -> impl Strategy<Value = Input> {
    prop_oneof![
        1 => Just(Input::Start),
        8 => (any::<usize>(), 0u8..20, 0u64..4)
            .prop_map(|(which, how, room)| Input::Answer { which, how, room }),
        4 => (0u64..30, 0u8..10, any::<bool>())
            .prop_map(|(seq, what, path)| Input::Event { seq, what, path }),
        2 => (0u32..3).prop_map(|back| Input::Opened { back }),
        2 => (0u32..3, 0u8..6).prop_map(|(back, how)| Input::Closed { back, how }),
        1 => (0u8..6).prop_map(|step| Input::Manual { step }),
        6 => (0u64..3_000).prop_map(|ms| Input::Wait { ms }),
        1 => (0u64..3_000).prop_map(|ms| Input::Suspend { ms }),
        1 => Just(Input::Drain),
    ]
}

fn persona(habits: [u8; 6], stream: bool) -> Persona {
    let ratio = |n: u8| Ratio::new(u32::from(n), 4).unwrap();
    let call = Step::Call;
    let text = Text::Length(Arc::new(Quantiles::new(Shape::Uniform(0, 600))));
    let verbs = vec![
        call(Verb::TalkingStick(Grant::Unnamed)),
        wait_for("stick.granted", 2_000),
        call(Verb::Append(text.clone())),
        call(Verb::Plain(Plain::Push)),
        call(Verb::Undo(Grant::Unnamed)),
        call(Verb::Reset(Grant::Unnamed)),
        call(Verb::Plain(Plain::Typing)),
        call(Verb::Plain(Plain::Block)),
        call(Verb::Plain(Plain::LeaveQueue)),
        check(700),
    ];
    let branch = |weight, steps: Vec<Step>| Choice {
        weight,
        steps: steps.into(),
    };
    let branches = vec![
        branch(3, verbs),
        branch(2, vec![wait_for("message.received", 900), login("lobby")]),
        branch(2, vec![Step::Disconnect(Some(Span::millis(800)))]),
        branch(1, vec![Step::Disconnect(None)]),
    ];
    let round = vec![
        enter(),
        wait_for("chatroom.found", 4_000),
        call(Verb::Send(text)),
        think(300),
        Step::Choose(branches.into()),
        call(Verb::Plain(Plain::LeaveChat)),
    ];
    Persona {
        stream,
        habits: Habits {
            second_stream: Ratio::NEVER,
            stray: Ratio::NEVER,
            address: ratio(habits[2]),
            bare_check: ratio(habits[0]),
            forget_handle: ratio(habits[1]),
            abandon: ratio(habits[2]),
            parallel: ratio(habits[3]),
            impatient: ratio(habits[5]),
            no_key: ratio(habits[4]),
        },
        ..flow(vec![repeat(3, round)])
    }
}

fn outcome(how: u8, room: u64) -> Outcome {
    let refusal = |code, retry_after_ms: Option<u64>| {
        Err(Refusal {
            retry_after: retry_after_ms.map(Span::millis),
            ..Refusal::named(code)
        })
    };
    match how {
        0 => waiting(),
        1 | 2 => matched(room),
        3 => logged_in(room),
        4 => Ok(Response::Done(Reply::LeftChat)),
        5 => placed(room, u32::from(room % 2 == 1), room),
        6 | 7 => read(room),
        8 => page(9, 1),
        9 => refusal("unknown_handle", None),
        10 => refusal("name_taken", None),
        11 => refusal("rate_limited", Some(0)),
        12 => refusal("overloaded", None),
        13 => refusal("chat_ended", None),
        14 => refusal("shutting_down", Some(900)),
        15 => Ok(Response::Done(Reply::LeftQueue {
            left: WasWaiting::Yes,
        })),
        16 => Ok(Response::Done(Reply::Draft {
            suffix: None,
            length: 1,
            cut: 0,
        })),
        17 => Ok(Response::Done(Reply::Done)),
        _ => sent(),
    }
}

fn receive(harness: &mut Harness, what: u8, seq: u64, path: bool) {
    let room = seq % 4;
    let path = match path {
        true => DeliveryPath::Stream,
        false => DeliveryPath::Check,
    };
    let event = match what {
        0 | 1 => found(room),
        2 | 3 => message(),
        4 => ended(room),
        5 => granted(ME, seq),
        6 => {
            let gap = gap(seq.saturating_sub(4), seq);
            return harness.received(seq, &gap, path);
        }
        7 => event(room, Body::Joined(Who::unnamed(User(8)))),
        8 => {
            let (user, epoch) = (Who::unnamed(ME), Epoch(seq));
            event(room, Body::StickExpired { user, epoch })
        }
        _ => event(room, Body::PartnerDisconnected(EndReason::Closed)),
    };
    harness.received(seq, &event, path);
}

fn apply(harness: &mut Harness, input: &Input) {
    let stream = |harness: &Harness, back: u32| {
        let opens = harness.log.actions.iter();
        let opens = opens.filter(|action| matches!(action, Action::OpenStream { .. }));
        (u32::try_from(opens.count()).unwrap()).saturating_sub(back)
    };
    match *input {
        Input::Start => harness.start(),
        Input::Answer { which, how, room } => {
            let request = |action: &Action| match action {
                Action::Request { call, attempt, .. } => Some((call.0, *attempt)),
                _ => None,
            };
            let requests = harness.log.actions.iter().filter_map(request);
            // Mostly a recent request, but any may be answered, and answered again.
            let requests: Vec<(u32, u32)> = requests.collect();
            let recent = &requests[requests.len().saturating_sub(5)..];
            let from = if which % 8 == 0 { &requests } else { recent };
            if !from.is_empty() {
                let (call, attempt) = from[which % from.len()];
                harness.answer(call, attempt, &outcome(how, room));
            }
        }
        Input::Event { seq, what, path } => receive(harness, what, seq, path),
        Input::Opened { back } => {
            let stream = stream(harness, back);
            harness.opened(stream);
        }
        Input::Closed { back, how } => {
            let stream = stream(harness, back);
            let code = match how {
                0 => Some("unknown_handle"),
                1 => Some("rate_limited"),
                _ => None,
            };
            harness.closed(stream, code);
        }
        Input::Manual { step } => {
            let step = match step {
                0 => enter(),
                1 => login("lobby"),
                2 => check(100),
                3 => Step::Disconnect(Some(Span::millis(200))),
                4 => Step::Call(Verb::Plain(Plain::Block)),
                _ => send("by hand"),
            };
            harness.manual(&step);
        }
        Input::Wait { ms } => {
            let end = harness.now.0 / 1_000 + ms;
            harness.until(end);
        }
        Input::Suspend { ms } => {
            let until = harness.now + Span::millis(ms);
            harness.input(|user, now, _| user.suspend(now, until));
        }
        Input::Drain => harness.drain(),
    }
}

/// From here on the world behaves: it answers every request once.
fn settle(harness: &mut Harness) {
    let mut handled = harness.log.actions.len();
    harness.drain();
    for _ in 0..4_000 {
        if harness.user.is_done() {
            return;
        }
        if let Some(action) = harness.log.actions.get(handled).cloned() {
            handled += 1;
            match action {
                Action::Request {
                    call, attempt, op, ..
                } => {
                    let outcome = match op.verb() {
                        "enter_queue" => matched(u64::from(100 + call.0)),
                        "login" => logged_in(50),
                        "check" => {
                            // All missing events are delivered.
                            for seq in 1..30 {
                                harness.checked(seq, &message());
                            }
                            read(29)
                        }
                        _ => Ok(Response::Done(Reply::Done)),
                    };
                    harness.answer(call.0, attempt, &outcome);
                }
                Action::OpenStream { stream, .. } => harness.opened(stream),
                Action::Cancel { .. } | Action::CloseStream { .. } | Action::DropAll { .. } => {}
            }
        } else if let Some(due) = harness.user.poll_timeout() {
            harness.until(due.0.div_ceil(1_000));
        } else {
            panic!("not done, and nothing to wait for: {:#?}", harness.user);
        }
    }
    panic!("never done: {:#?}", harness.user);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_call_ends_once(
        seed in any::<u64>(),
        habits in proptest::array::uniform6(0u8..3),
        (stream, kind) in (any::<bool>(), 0u8..5),
        inputs in proptest::collection::vec(input(), 0..120),
    ) {
        let script = || {
            if kind == 0 {
                by_hand(stream.then_some(ReadBy::Handle))
            } else {
                Script::Flow(Arc::new(persona(habits, stream)))
            }
        };
        let run = |seed| {
            let mut harness = Harness::with_seed(script(), seed);
            harness.start();
            for input in &inputs {
                apply(&mut harness, input);
            }
            settle(&mut harness);
            harness
        };
        let mut harness = run(seed);
        // The log itself fails if a call ends twice, or is answered again before its end.
        prop_assert_eq!(&harness.log.open, &[]);
        let lines = harness.take();
        let ends = lines.iter().filter(|line| line.ends_with(" vanished") || line.contains(" finished"));
        prop_assert_eq!(ends.count(), 1, "{:#?}", lines);
        prop_assert_eq!(lines, run(seed).take(), "the same seed and inputs");
    }

    #[test]
    fn every_flow_ends_by_timers_alone(
        seed in any::<u64>(),
        habits in proptest::array::uniform6(0u8..3),
    ) {
        let mut harness = Harness::with_seed(Script::Flow(Arc::new(persona(habits, true))), seed);
        harness.start();
        harness.answer(0, 0, &matched(1));
        harness.until(3_600_000);
        prop_assert_eq!(&harness.log.open, &[]);
        let lines = harness.take();
        prop_assert!(lines.iter().any(|line| line.ends_with(" vanished") || line.contains(" finished")));
        prop_assert!(harness.now == Time(3_600_000_000));
    }
}
