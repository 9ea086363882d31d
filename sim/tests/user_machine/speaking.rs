//! Which room, epoch and text a call carries.

use std::sync::Arc;

use sim::draw::{Quantiles, Shape};
use sim::plan::{Step, Text, Verb};
use sim::protocol::{Op, Room, User};
use sim::user::{Action, Script};

use crate::desk::*;

/// What a user by hand asks for, again and again.
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
    let mut desk = Desk::with_seed(Script::Manual, 1);
    desk.manual(&login("lobby"));
    desk.answer(0, 0, &logged_in(1));
    desk
}

#[test]
fn the_room_is_left_out_now_and_then_where_there_is_but_one() {
    let mut desk = in_the_lobby();
    let sent = ops(&mut desk, &send("hi"), 800);
    let left_out = sent.iter().filter(|op| room_and_epoch(op).0.is_none());
    let left_out = left_out.count();
    assert!((60..140).contains(&left_out), "{left_out}");

    desk.manual(&login("kitchen"));
    desk.answer(801, 0, &logged_in(2));
    let sent = ops(&mut desk, &send("hi"), 100);
    assert!(sent.iter().all(|op| room_and_epoch(op).0 == Some(Room(2))));
}

#[test]
fn half_of_all_speech_carries_the_epoch_of_the_latest_grant() {
    let mut desk = in_the_lobby();
    let sent = ops(&mut desk, &send("hi"), 100);
    assert!(sent.iter().all(|op| room_and_epoch(op).1.is_none()));
    desk.streamed(1, &granted(ME, 3));
    desk.streamed(2, &granted(User(8), 4));
    let sent = ops(&mut desk, &send("hi"), 400);
    let with = sent.iter().filter(|op| room_and_epoch(op).1 == Some(3));
    let with = with.count();
    let without = sent.iter().filter(|op| room_and_epoch(op).1.is_none());
    assert_eq!(with + without.count(), 400);
    assert!((150..250).contains(&with), "{with}");
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
fn whom_to_block_is_the_partner_or_whoever_spoke() {
    let block = Step::Call(Verb::Block);
    let mut desk = in_the_lobby();
    assert_eq!(desk.manual(&block), None, "nobody was heard of");
    desk.streamed(1, &message());
    assert_eq!(ops(&mut desk, &block, 1), [Op::Block { user: User(8) }]);

    let report = Verb::Report {
        reason: "spam".into(),
    };
    let steps = vec![enter(), Step::Call(report), Step::Call(Verb::Undo)];
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
