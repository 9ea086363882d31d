//! Tests the room, the epoch and the text of calls.

use std::sync::Arc;

use sim_model::draw::{Quantiles, Shape};
use sim_model::plan::{Argument, Grant, Step, Text, Verb};
use sim_model::protocol::{Command, Epoch, Event, Op, OpKind, Plain, Read, Room, User};
use sim_user::Action;

use crate::harness::*;

/// The operations of a user that performs this step by hand, several times.
fn ops(harness: &mut Harness, step: &Step, count: usize) -> Vec<Op> {
    let before = harness.log.actions.len();
    for _ in 0..count {
        harness.manual(step);
    }
    let asked = harness.log.actions[before..].iter();
    let op = |action: &Action| match action {
        Action::Request { op, .. } => Some(op.clone()),
        _ => None,
    };
    asked.filter_map(op).collect()
}

fn room_and_epoch(op: &Op) -> (Option<Room>, Option<Epoch>) {
    let Op::Command(Command::SendMessage { room, epoch, .. }) = op else {
        panic!("{op:?}");
    };
    (*room, *epoch)
}

fn in_the_lobby() -> Harness {
    let mut harness = Harness::by_hand();
    harness.manual(&login("lobby"));
    harness.answer(0, 0, &logged_in(1));
    harness
}

/// The operations of a user whose flow joins rooms and then sends messages. `heard` are the events
/// that it receives in between.
fn spoken(count: u32, heard: &[Event], rooms: &[u64]) -> Vec<Op> {
    let mut steps: Vec<Step> = rooms.iter().map(|_| login("lobby")).collect();
    steps.push(repeat(count, vec![send("hi")]));
    let mut harness = Harness::registered(flow(steps), logged_in(rooms[0]));
    for (call, room) in (1..).zip(&rooms[1..]) {
        harness.answer(call, 0, &logged_in(*room));
    }
    for (seq, event) in (1..).zip(heard) {
        harness.streamed(seq, event);
    }
    let first = u32::try_from(rooms.len()).unwrap();
    for call in first..first + count {
        harness.answer(call, 0, &sent());
    }
    let asked = harness.log.actions.iter();
    asked
        .filter_map(|action| match action {
            Action::Request { op, .. } if op.kind() == OpKind::Send => Some(op.clone()),
            _ => None,
        })
        .collect()
}

#[test]
fn a_flow_sometimes_omits_the_room_if_there_is_one() {
    let sent = spoken(800, &[], &[1]);
    assert_eq!(sent.len(), 800);
    let is_left_out = |op: &&Op| room_and_epoch(op).0.is_none();
    let left_out = sent.iter().filter(is_left_out).count();
    assert!((60..140).contains(&left_out), "{left_out}");
    let sent = spoken(100, &[], &[1, 2]);
    assert!(sent.iter().all(|op| room_and_epoch(op).0 == Some(Room(2))));
}

#[test]
fn a_flow_sends_the_latest_epoch_with_half_of_its_messages() {
    let sent = spoken(100, &[], &[1]);
    assert!(sent.iter().all(|op| room_and_epoch(op).1.is_none()));
    let heard = [granted(ME, 3), granted(User(8), 4)];
    // The first message left before any event arrived.
    let sent = &spoken(401, &heard, &[1])[1..];
    let of = |epoch| {
        sent.iter()
            .filter(|op| room_and_epoch(op).1 == epoch)
            .count()
    };
    let with = of(Some(Epoch(3)));
    assert_eq!(with + of(None), 400);
    assert!((150..250).contains(&with), "{with}");
}

#[test]
fn a_manual_call_omits_the_listed_arguments() {
    let mut harness = in_the_lobby();
    harness.streamed(1, &granted(ME, 3));
    let sent = ops(&mut harness, &send("hi"), 50);
    let all = (Some(Room(1)), Some(Epoch(3)));
    assert!(sent.iter().all(|op| room_and_epoch(op) == all));
    let mut without = |step: &Step, arguments: &[Argument]| {
        harness.manual_without(step, arguments);
        let Some(Action::Request { op, key, .. }) = harness.log.actions.last() else {
            panic!("no request");
        };
        (op.clone(), key.is_some())
    };
    let (op, keyed) = without(&send("hi"), &[Argument::Room, Argument::Epoch]);
    assert_eq!((room_and_epoch(&op), keyed), ((None, None), true));
    assert!(!without(&send("hi"), &[Argument::Key]).1);
    let after = |op: Op| match op {
        Op::Read {
            read: Read::Check { after, .. },
            ..
        } => after.map(|after| after.0),
        other => panic!("{other:?}"),
    };
    assert_eq!(after(without(&check(0), &[]).0), Some(1));
    assert_eq!(after(without(&check(0), &[Argument::After]).0), None);
    assert_eq!(room_and_epoch(&ops(&mut harness, &send("hi"), 1)[0]), all);
}

#[test]
fn texts_of_calls_differ() {
    let mut harness = in_the_lobby();
    let text = Text::Length(Arc::new(Quantiles::new(Shape::Fixed(40))));
    let said = ops(&mut harness, &Step::Call(Verb::Append(text)), 3);
    let texts = said.iter().map(|op| match op {
        Op::Command(Command::Append { text, .. }) => text.clone(),
        _ => panic!("{op:?}"),
    });
    let texts: Vec<Arc<str>> = texts.collect();
    assert!(texts.iter().all(|text| text.chars().count() == 40));
    assert!(texts[0].starts_with("3.1 ") && texts[2].starts_with("3.3 "));
}

#[test]
fn the_partner_or_the_last_speaker_is_blocked() {
    let block = Step::Call(Verb::Plain(Plain::Block));
    let mut harness = in_the_lobby();
    assert_eq!(harness.manual(&block), None, "nobody was heard of");
    harness.streamed(1, &message());
    assert_eq!(
        ops(&mut harness, &block, 1),
        [Op::Command(Command::BlockUser { user: User(8) })]
    );

    let report = Verb::Report {
        reason: "spam".into(),
    };
    let steps = vec![
        enter(),
        Step::Call(report),
        Step::Call(Verb::Undo(Grant::Unnamed)),
    ];
    let mut harness = Harness::registered(flow(steps), waiting());
    let called = harness.log.actions.len();
    assert_eq!(called, 3, "registered, streamed, and nobody reported");
    assert!(matches!(
        &harness.log.actions[2],
        Action::Request {
            op: Op::Command(Command::Undo { .. }),
            ..
        }
    ));
    harness.answer(1, 0, &refused("not_in_room"));
    harness.shows_of("finished", ["0 finished"]);
}

#[test]
fn a_call_names_the_latest_grant_only_on_request() {
    let mut harness = in_the_lobby();
    let of = |op: &Op| match op {
        Op::Command(
            Command::TalkingStick { epoch, .. }
            | Command::Undo { epoch, .. }
            | Command::Reset { epoch, .. },
        ) => *epoch,
        _ => panic!("{op:?}"),
    };
    let verbs: [fn(Grant) -> Verb; 3] = [Verb::TalkingStick, Verb::Undo, Verb::Reset];
    let epochs = |harness: &mut Harness, grant| {
        verbs.map(|verb| of(&ops(harness, &Step::Call(verb(grant)), 1)[0]))
    };
    assert_eq!(epochs(&mut harness, Grant::Latest), [None; 3]);
    harness.streamed(1, &granted(ME, 3));
    // The stick has another holder by now.
    harness.streamed(2, &granted(User(8), 4));
    assert_eq!(epochs(&mut harness, Grant::Unnamed), [None; 3]);
    assert_eq!(epochs(&mut harness, Grant::Latest), [Some(Epoch(3)); 3]);
}
