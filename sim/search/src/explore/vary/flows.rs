//! Varies flows: classes of operations left out, other paces, other texts.

use std::collections::BTreeSet;
use std::sync::Arc;

use chat_types::Span;

use super::dice::{Dice, table, written};
use super::steps::changed;
use crate::workload::flows_mut;
use sim_model::draw::Shape;
use sim_model::plan::{Plan, Step, Text, Verb};
use sim_model::protocol::Plain;

/// Classes of operations that a seed may leave out, except those that begin a flow.
const CLASSES: &str = "check/disconnect/typing/undo/reset/leave_queue/leave_chat/block/report/append/\
    await/think";

/// Topics that are few enough for users to share some.
const TOPICS: &str = "rust/chess/music";

/// Draws a rewriting of the flows, and applies it.
pub(super) fn draw(plan: &mut Plan, dice: &mut Dice) {
    let server = &plan.server;
    let (lease, max_wait) = (server.stick_lease, server.max_wait);
    let lengths = [server.max_message, server.max_draft, server.max_append];
    let without = without(dice);
    let think = think(lease, dice);
    let texts = texts(lengths, dice);
    let most_topics = dice.one_in(3).then(|| dice.between(0, 2));
    let all_rooms = dice.one_in(3).then(|| dice.between(1, 3));
    let rounds = dice.pick(&[1, 3, 6, 20]);
    if let Some(rooms) = all_rooms {
        dice.say(format!("{rooms} to a room name"));
    }
    let mut rewrite = |step: &Step| {
        if without.contains(class(step)) {
            return None;
        }
        let mut step = step.clone();
        match &mut step {
            Step::Think(length) => {
                if let Some(think) = think {
                    *length = table(think);
                }
            }
            Step::Loop { count, .. } => *count = (*count).min(rounds),
            Step::Call(Verb::EnterQueue { interests, .. }) => {
                if let Some(most) = most_topics {
                    let some = dice.between(0, most);
                    *interests = (0..some).map(|_| dice.part(TOPICS).into()).collect();
                }
            }
            Step::Call(Verb::Login { rooms, .. }) => *rooms = all_rooms.unwrap_or((*rooms).min(3)),
            Step::Call(Verb::Send(text) | Verb::Speak(text) | Verb::Append(text)) => {
                match &*texts {
                    [] => {}
                    [one] => *text = one.clone(),
                    several => *text = dice.pick(several),
                }
            }
            Step::Call(Verb::Check { wait, .. }) => *wait = (*wait).min(max_wait),
            Step::Call(_) | Step::Await { .. } | Step::Choose(_) | Step::Disconnect(_) => {}
        }
        Some(step)
    };
    for persona in flows_mut(plan).1 {
        let steps = changed(&persona.flow, &mut rewrite);
        if !steps.is_empty() {
            Arc::make_mut(persona).flow = steps;
        }
    }
}

fn without(dice: &mut Dice) -> BTreeSet<&'static str> {
    if dice.coin() {
        return BTreeSet::new();
    }
    let without: BTreeSet<_> = CLASSES.split('/').filter(|_| dice.one_in(5)).collect();
    for class in &without {
        dice.say(format!("no {class}"));
    }
    without
}

fn think(lease: Span, dice: &mut Dice) -> Option<Shape> {
    let shape = match dice.between(0, 6) {
        0 | 1 => return None,
        2 => Shape::Fixed(0),
        3 => Shape::Uniform(0, Span::millis(20).0),
        4 => Shape::Uniform(0, Span::millis(300).0),
        5 => Shape::Uniform(0, Span::secs(2).0),
        // A turn that lasts about as long as the lease.
        _ => Shape::Uniform(lease.0 / 2, lease.0 + lease.0 / 4),
    };
    dice.say(format!("think {}", written(shape)));
    Some(shape)
}

/// The texts of messages, of which one is drawn for each; none for the scenario's own.
fn texts(lengths: [u32; 3], dice: &mut Dice) -> Vec<Text> {
    let long = |low, high| Text::Length(table(Shape::Uniform(low, high)));
    let (texts, words) = match dice.between(0, 6) {
        // One text for all, so that a repeated text is not mistaken for a duplicate.
        0 => (vec![Text::Words("hello".into())], "all say hello".into()),
        1 => (vec![long(1, 3)], "few words".into()),
        2 => {
            // At the limit of a message or a draft, and slightly above it. Longer texts only slow
            // down a run.
            let limit = dice.pick(&lengths).min(400);
            let most = u64::from(limit.max(2));
            let texts = vec![long(1, most), long(most - 1, most + 1), long(most, most)];
            (texts, format!("texts about {limit} long"))
        }
        _ => return Vec::new(),
    };
    dice.say(words);
    texts
}

fn class(step: &Step) -> &'static str {
    match step {
        Step::Await { .. } => "await",
        Step::Think(_) => "think",
        Step::Disconnect(_) => "disconnect",
        Step::Loop { .. } | Step::Choose(_) => "",
        // An unblock is left out with its block.
        Step::Call(Verb::Plain(Plain::Unblock)) => Plain::Block.kind().verb(),
        Step::Call(verb) => verb.kind().verb(),
    }
}
