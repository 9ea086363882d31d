//! Tests the room, the epoch and the text of calls.

use std::sync::Arc;

use sim_model::draw::{Quantiles, Shape};
use sim_model::plan::{Argument, Grant, Step, Text, Verb};
use sim_model::protocol::{Op, Plain, Room, Saw, User};
use sim_user::{Action, Script};

use crate::desk::*;

/// The operations of a user that performs this step by hand, several times.
fn ops(desk: &mut Desk, step: &Step, count: usize) -> Vec<Op> {
    let before = desk.log.actions.len();
    for _ in 0..count {
        desk.manual(step);
    }
    let asked = desk.log.actions[before..].iter();
    let op = |action: &Action| match action {
        Action::Request { op, .. } => Some(op.clone()),
        _ => None,
    };
    asked.filter_map(op).collect()
}

fn room_and_epoch(op: &Op) -> (Option<Room>, Option<u64>) {
    let Op::Send { room, epoch, .. } = op else {
        panic!("{op:?}");
    };
    (*room, *epoch)
}

fn in_the_lobby() -> Desk {
    let mut desk = Desk::with_seed(Script::Manual { stream: true }, 1);
    desk.manual(&login("lobby"));
    desk.answer(0, 0, &logged_in(1));
    desk
}

/// The operations of a user whose flow joins rooms and then sends messages. `heard` are the events
/// that it receives in between.
fn spoken(count: u32, heard: &[Saw<'_>], rooms: &[u32]) -> Vec<Op> {
    let mut steps: Vec<Step> = rooms.iter().map(|_| login("lobby")).collect();
    steps.push(repeat(count, vec![send("hi")]));
    let mut desk = Desk::registered(flow(steps), logged_in(rooms[0]));
    for (call, room) in (1..).zip(&rooms[1..]) {
        desk.answer(call, 0, &logged_in(*room));
    }
    for (seq, saw) in (1..).zip(heard) {
        desk.streamed(seq, saw);
    }
    let first = u32::try_from(rooms.len()).unwrap();
    for call in first..first + count {
        desk.answer(call, 0, &sent());
    }
    let asked = desk.log.actions.iter();
    asked
        .filter_map(|action| match action {
            Action::Request { op, .. } if matches!(op, Op::Send { .. }) => Some(op.clone()),
            _ => None,
        })
        .collect()
}

#[test]
fn in_a_flow_the_room_is_left_out_now_and_then_where_there_is_but_one() {
    let sent = spoken(800, &[], &[1]);
    assert_eq!(sent.len(), 800);
    let left_out = sent.iter().filter(|op| room_and_epoch(op).0.is_none());
    let left_out = left_out.count();
    assert!((60..140).contains(&left_out), "{left_out}");
    let sent = spoken(100, &[], &[1, 2]);
    assert!(sent.iter().all(|op| room_and_epoch(op).0 == Some(Room(2))));
}

#[test]
fn in_a_flow_half_of_all_speech_carries_the_epoch_of_the_latest_grant() {
    let sent = spoken(100, &[], &[1]);
    assert!(sent.iter().all(|op| room_and_epoch(op).1.is_none()));
    let heard = [granted(ME, 3), granted(User(8), 4)];
    // The first message left before any event arrived.
    let sent = &spoken(401, &heard, &[1])[1..];
    let with = sent.iter().filter(|op| room_and_epoch(op).1 == Some(3));
    let with = with.count();
    let without = sent.iter().filter(|op| room_and_epoch(op).1.is_none());
    assert_eq!(with + without.count(), 400);
    assert!((150..250).contains(&with), "{with}");
}

#[test]
fn by_hand_a_call_goes_without_what_it_is_told_to() {
    let mut desk = in_the_lobby();
    desk.streamed(1, &granted(ME, 3));
    let sent = ops(&mut desk, &send("hi"), 50);
    let all = (Some(Room(1)), Some(3));
    assert!(sent.iter().all(|op| room_and_epoch(op) == all));
    let mut without = |step: &Step, arguments: &[Argument]| {
        desk.manual_without(step, arguments);
        let Some(Action::Request { op, key, .. }) = desk.log.actions.last() else {
            panic!("no request");
        };
        (op.clone(), key.is_some())
    };
    let (op, keyed) = without(&send("hi"), &[Argument::Room, Argument::Epoch]);
    assert_eq!((room_and_epoch(&op), keyed), ((None, None), true));
    assert!(!without(&send("hi"), &[Argument::Key]).1);
    let after = |op: Op| match op {
        Op::Check { after, .. } => after,
        other => panic!("{other:?}"),
    };
    assert_eq!(after(without(&check(0), &[]).0), Some(1));
    assert_eq!(after(without(&check(0), &[Argument::After]).0), None);
    assert_eq!(room_and_epoch(&ops(&mut desk, &send("hi"), 1)[0]), all);
}

#[test]
fn texts_are_told_apart() {
    let mut desk = in_the_lobby();
    let text = Text::Length(Arc::new(Quantiles::new(Shape::Fixed(40))));
    let said = ops(&mut desk, &Step::Call(Verb::Append(text)), 3);
    let texts = said.iter().map(|op| match op {
        Op::Append { text, .. } => text.clone(),
        _ => panic!("{op:?}"),
    });
    let texts: Vec<Arc<str>> = texts.collect();
    assert!(texts.iter().all(|text| text.chars().count() == 40));
    assert!(texts[0].starts_with("3.1 ") && texts[2].starts_with("3.3 "));
}

#[test]
fn the_partner_or_the_last_speaker_is_blocked() {
    let block = Step::Call(Verb::Plain(Plain::Block));
    let mut desk = in_the_lobby();
    assert_eq!(desk.manual(&block), None, "nobody was heard of");
    desk.streamed(1, &message());
    assert_eq!(ops(&mut desk, &block, 1), [Op::Block { user: User(8) }]);

    let report = Verb::Report {
        reason: "spam".into(),
    };
    let steps = vec![
        enter(),
        Step::Call(report),
        Step::Call(Verb::Undo(Grant::Unnamed)),
    ];
    let mut desk = Desk::registered(flow(steps), waiting());
    let called = desk.log.actions.len();
    assert_eq!(called, 3, "registered, streamed, and nobody reported");
    assert!(matches!(
        &desk.log.actions[2],
        Action::Request {
            op: Op::Undo { .. },
            ..
        }
    ));
    desk.answer(1, 0, &refused("not_in_room"));
    assert_eq!(desk.take_with("finished"), ["0 finished"]);
}

#[test]
fn a_call_names_the_latest_grant_only_where_told_to_be_it_over_or_not() {
    let mut desk = in_the_lobby();
    let of = |op: &Op| match op {
        Op::TalkingStick { epoch, .. } | Op::Undo { epoch, .. } | Op::Reset { epoch, .. } => *epoch,
        _ => panic!("{op:?}"),
    };
    let verbs: [fn(Grant) -> Verb; 3] = [Verb::TalkingStick, Verb::Undo, Verb::Reset];
    let epochs =
        |desk: &mut Desk, grant| verbs.map(|verb| of(&ops(desk, &Step::Call(verb(grant)), 1)[0]));
    assert_eq!(epochs(&mut desk, Grant::Latest), [None; 3]);
    desk.streamed(1, &granted(ME, 3));
    // The stick has another holder by now.
    desk.streamed(2, &granted(User(8), 4));
    assert_eq!(epochs(&mut desk, Grant::Unnamed), [None; 3]);
    assert_eq!(epochs(&mut desk, Grant::Latest), [Some(3); 3]);
}
