//! The steps that drawn flows consist of, and the change of all steps of a flow.

use std::sync::Arc;

use chat_types::{Config, Span};

use super::dice::{Dice, table};
use super::texts;
use sim_model::draw::Shape;
use sim_model::plan::{Choice, Step, Verb};
use sim_model::protocol::{Plain, ReadBy};

pub(super) const fn plain(verb: Plain) -> Step {
    Step::Call(Verb::Plain(verb))
}

/// A login to this room, under the user's own name.
pub(super) fn login(room: impl Into<Arc<str>>) -> Step {
    Step::Call(Verb::Login {
        room: room.into(),
        rooms: 1,
        name: None,
    })
}

/// An entry into the queue: with a public id one time in `one_in`, and without interests in `none`
/// of eight draws.
pub(super) fn enter(
    name: Option<Arc<str>>,
    one_in: u64,
    (circle, none): (&str, u32),
    server: &Config,
    dice: &mut Dice,
) -> Step {
    Step::Call(Verb::EnterQueue {
        name,
        user_id: texts::public_id(one_in, dice),
        interests: texts::interests(circle, none, server.max_interests, dice),
    })
}

/// A check that waits, at most as long as the server allows.
pub(super) fn check(wait: Span, by: ReadBy, server: &Config) -> Step {
    let wait = wait.min(server.max_wait);
    Step::Call(Verb::Check { wait, by })
}

/// A look at past messages, of one of these numbers.
pub(super) fn history(limits: &[u32], dice: &mut Dice) -> Step {
    Step::Call(Verb::History {
        before: dice.coin().then(|| u64::from(dice.between(1, 12))),
        limit: dice.pick(limits),
    })
}

/// A pause of at most this length.
pub(super) fn pause(most: Span) -> Step {
    Step::Think(table(Shape::Uniform(0, most.0)))
}

pub(super) fn repeat(steps: impl Into<Arc<[Step]>>, count: u32) -> Step {
    let steps = steps.into();
    Step::Loop { count, steps }
}

/// The steps as `change` makes them, without those that it leaves out. A loop or a choice is changed
/// before the steps in it.
pub(super) fn changed(
    steps: &[Step],
    change: &mut dyn FnMut(&Step) -> Option<Step>,
) -> Arc<[Step]> {
    let mut all = Vec::new();
    for step in steps {
        all.extend(match change(step) {
            Some(Step::Loop { count, steps }) => Some(repeat(changed(&steps, change), count)),
            Some(Step::Choose(choices)) => {
                let choices = choices.iter().map(|choice| Choice {
                    weight: choice.weight,
                    steps: changed(&choice.steps, change),
                });
                Some(Step::Choose(choices.collect()))
            }
            step => step,
        });
    }
    all.into()
}
