//! Varies flows: classes of operations left out, other paces, other texts.

use std::collections::BTreeSet;
use std::sync::Arc;

use chat_types::Span;

use super::dice::{Dice, table, written};
use super::steps::changed;
use crate::workload::{flows, flows_mut, single_steps};
use sim_model::draw::Shape;
use sim_model::plan::{Plan, Step, Text, Verb};
use sim_model::protocol::Plain;

/// Classes of operations that a seed may leave out, except those that begin a flow.
const CLASSES: [&str; 12] = [
    "check",
    "disconnect",
    "typing",
    "undo",
    "reset",
    "leave_queue",
    "leave_chat",
    "block",
    "report",
    "append",
    "await",
    "think",
];

/// Topics that are few enough for users to share some.
const TOPICS: [&str; 3] = ["rust", "chess", "music"];

/// A rewriting of flows.
struct Rewrite {
    without: BTreeSet<&'static str>,
    think: Option<Shape>,
    words: MessageTexts,
    topics: Option<u32>,
    rooms: Option<u32>,
    rounds: u32,
    max_wait: Span,
}

/// The texts of messages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MessageTexts {
    /// The scenario's own texts.
    Own,
    /// One text for all, so that a repeated text is not mistaken for a duplicate.
    Alike,
    /// A few characters, or one.
    Short,
    /// At the limit of a message or a draft, and slightly above it.
    AtLimit(u32),
}

/// Draws a rewriting of the flows, and applies it.
pub(super) fn draw(plan: &mut Plan, dice: &mut Dice) {
    let server = &plan.server;
    let lengths = [server.max_message, server.max_draft, server.max_append];
    let rewrite = Rewrite {
        without: without(dice),
        think: think(server.stick_lease, dice),
        words: words(lengths, dice),
        topics: dice.one_in(3).then(|| dice.between(0, 2)),
        rooms: dice.one_in(3).then(|| dice.between(1, 3)),
        rounds: dice.pick(&[1, 3, 6, 20]),
        max_wait: server.max_wait,
    };
    if let Some(rooms) = rewrite.rooms {
        dice.say(format!("{rooms} to a room name"));
    }
    for persona in flows_mut(plan).into_iter().flat_map(|flows| flows.1) {
        let steps = changed(&persona.flow, &mut |step| rewrite.step(step, dice));
        if !steps.is_empty() {
            Arc::make_mut(persona).flow = steps;
        }
    }
}

/// Whether any user of the plan takes breaks. Otherwise nothing is drawn about them.
pub(super) fn has_breaks(plan: &Plan) -> bool {
    let mut steps = flows(plan).1.iter().flat_map(|it| single_steps(&it.flow));
    steps.any(|step| matches!(step, Step::Call(Verb::Break { .. })))
}

fn without(dice: &mut Dice) -> BTreeSet<&'static str> {
    if dice.coin() {
        return BTreeSet::new();
    }
    let without: BTreeSet<_> = CLASSES.into_iter().filter(|_| dice.one_in(5)).collect();
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

fn words(lengths: [u32; 3], dice: &mut Dice) -> MessageTexts {
    let (texts, words) = match dice.between(0, 6) {
        0 => (MessageTexts::Alike, "all say hello".to_owned()),
        1 => (MessageTexts::Short, "few words".to_owned()),
        2 => {
            // Longer texts only slow down a run.
            let limit = dice.pick(&lengths).min(400);
            (
                MessageTexts::AtLimit(limit),
                format!("texts about {limit} long"),
            )
        }
        _ => return MessageTexts::Own,
    };
    dice.say(words);
    texts
}

impl Rewrite {
    fn step(&self, step: &Step, dice: &mut Dice) -> Option<Step> {
        if self.without.contains(class(step)) {
            return None;
        }
        let mut step = step.clone();
        if let Step::Call(verb) = &mut step {
            self.change(verb, dice);
        } else if let (Step::Think(length), Some(think)) = (&mut step, self.think) {
            *length = table(think);
        } else if let Step::Loop { count, .. } = &mut step {
            *count = (*count).min(self.rounds);
        }
        Some(step)
    }

    fn change(&self, verb: &mut Verb, dice: &mut Dice) {
        if let (Verb::EnterQueue { interests, .. }, Some(most)) = (&mut *verb, self.topics) {
            *interests = topics(most, dice);
        } else if let Verb::Login { rooms, .. } = verb {
            *rooms = self.rooms.unwrap_or((*rooms).min(3));
        } else if let Verb::Send(text) | Verb::Append(text) = verb {
            self.words(text, dice);
        } else if let Verb::Check { wait, .. } = verb {
            *wait = (*wait).min(self.max_wait);
        }
    }

    fn words(&self, text: &mut Text, dice: &mut Dice) {
        let (low, high) = match self.words {
            MessageTexts::Own => return,
            MessageTexts::Alike => return *text = Text::Words("hello".into()),
            MessageTexts::Short => (1, 3),
            MessageTexts::AtLimit(limit) => {
                let limit = u64::from(limit.max(2));
                dice.pick(&[(1, limit), (limit - 1, limit + 1), (limit, limit)])
            }
        };
        *text = Text::Length(table(Shape::Uniform(low, high)));
    }
}

fn topics(most: u32, dice: &mut Dice) -> Arc<[Arc<str>]> {
    let some = dice.between(0, most);
    (0..some).map(|_| dice.pick(&TOPICS).into()).collect()
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
