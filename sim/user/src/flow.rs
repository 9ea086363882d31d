//! A client's position in its flow: a cursor through nested loops and choices.

use std::fmt::Write as _;
use std::sync::Arc;

use sim_model::draw::Draw;
use sim_model::plan::Step;

/// The pace at which a flow is performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// As in the scenario.
    AsWritten,
    /// To its end as quickly as possible: without thinking and without further rounds of loops.
    Hurried,
}

/// The construct that contains a list of steps.
#[derive(Clone, Copy, Debug)]
enum FrameKind {
    Flow,
    Loop,
    Choice(usize),
}

#[derive(Clone, Debug)]
struct Frame {
    via: FrameKind,
    steps: Arc<[Step]>,
    /// Index of the next step.
    next: usize,
    /// The number of rounds after this one.
    rounds_left: u32,
}

/// The path from the top of the flow to the next step.
#[derive(Clone, Debug, Default)]
pub(super) struct Cursor {
    frames: Vec<Frame>,
    /// Whether rounds of a loop were skipped in a hurry, or an `await` was.
    pub(super) cut_short: bool,
}

impl Cursor {
    /// Moves to the beginning of the flow.
    pub(super) fn restart(&mut self, flow: &Arc<[Step]>) {
        self.frames.clear();
        self.enter(FrameKind::Flow, flow, 0);
    }

    /// The next step that is neither a loop nor a choice; none at the end of the flow.
    pub(super) fn next(&mut self, pace: Pace, draw: &mut Draw) -> Option<Step> {
        loop {
            let frame = self.frames.last_mut()?;
            let Some(step) = frame.steps.get(frame.next) else {
                if frame.rounds_left > 0 && pace == Pace::AsWritten {
                    frame.rounds_left -= 1;
                    frame.next = 0;
                } else {
                    self.cut_short |= frame.rounds_left > 0;
                    self.frames.pop();
                }
                continue;
            };
            frame.next += 1;
            match step {
                Step::Loop { count, steps } => {
                    let steps = steps.clone();
                    if *count > 0 && !steps.is_empty() {
                        let rounds_left = *count - 1;
                        self.enter(FrameKind::Loop, &steps, rounds_left);
                    }
                }
                Step::Choose(choices) => {
                    let weights = choices.iter().map(|choice| choice.weight);
                    if let Some(index) = by_weight(weights, draw) {
                        let steps = choices[index].steps.clone();
                        self.enter(FrameKind::Choice(index), &steps, 0);
                    }
                }
                Step::Call(_) | Step::Await { .. } | Step::Think(_) | Step::Disconnect(_) => {
                    return Some(step.clone());
                }
            }
        }
    }

    /// The path of the step that `next` returned last, as in `flow[5].loop.steps[1]`.
    pub(super) fn place(&self) -> String {
        let mut place = String::new();
        for frame in &self.frames {
            let index = frame.next.saturating_sub(1);
            // Writing to a string cannot fail.
            let _ = match frame.via {
                FrameKind::Flow => write!(place, "flow[{index}]"),
                FrameKind::Loop => write!(place, ".loop.steps[{index}]"),
                FrameKind::Choice(choice) => write!(place, ".choose[{choice}].steps[{index}]"),
            };
        }
        place
    }

    fn enter(&mut self, via: FrameKind, steps: &Arc<[Step]>, rounds_left: u32) {
        self.frames.push(Frame {
            via,
            steps: steps.clone(),
            next: 0,
            rounds_left,
        });
    }
}

/// Draws an index by weight; none if nothing has weight.
pub(super) fn by_weight(
    weights: impl Iterator<Item = u32> + Clone,
    draw: &mut Draw,
) -> Option<usize> {
    let at = draw.below(weights.clone().map(u64::from).sum());
    index_at(weights, at)
}

/// The index of the weight in which this place lies, of all weights one after another.
pub(super) fn index_at(mut weights: impl Iterator<Item = u32>, mut at: u64) -> Option<usize> {
    weights.position(|weight| {
        let is_here = at < u64::from(weight);
        at = at.saturating_sub(u64::from(weight));
        is_here
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_model::draw::Actor;
    use sim_model::plan::{Choice, Grant, Verb};
    use sim_model::protocol::Plain;

    fn call(verb: Verb) -> Step {
        Step::Call(verb)
    }

    fn repeat(count: u32, steps: Vec<Step>) -> Step {
        Step::Loop {
            count,
            steps: steps.into(),
        }
    }

    fn walk(flow: Vec<Step>, pace: Pace) -> Vec<String> {
        let (mut cursor, mut draw) = (Cursor::default(), Draw::new(1, Actor::User(0)));
        cursor.restart(&flow.into());
        let mut places = Vec::new();
        while cursor.next(pace, &mut draw).is_some() {
            places.push(cursor.place());
        }
        places
    }

    fn nested() -> Vec<Step> {
        vec![
            call(Verb::Undo(Grant::Unnamed)),
            repeat(
                2,
                vec![
                    call(Verb::Plain(Plain::Push)),
                    repeat(2, vec![call(Verb::Reset(Grant::Unnamed))]),
                ],
            ),
            repeat(0, vec![call(Verb::Plain(Plain::Push))]),
            repeat(1_000_000_000, vec![]),
            call(Verb::Plain(Plain::Typing)),
        ]
    }

    #[test]
    fn loops_nest() {
        let (push, reset) = (
            "flow[1].loop.steps[0]",
            "flow[1].loop.steps[1].loop.steps[0]",
        );
        assert_eq!(
            walk(nested(), Pace::AsWritten),
            ["flow[0]", push, reset, reset, push, reset, reset, "flow[4]"]
        );
        assert_eq!(
            walk(nested(), Pace::Hurried),
            ["flow[0]", push, reset, "flow[4]"]
        );
    }

    #[test]
    fn choices_are_drawn_by_weight() {
        let branch = |weight, verb| Choice {
            weight,
            steps: vec![call(verb)].into(),
        };
        let choices = vec![
            branch(0, Verb::Undo(Grant::Unnamed)),
            branch(3, Verb::Plain(Plain::Push)),
            branch(1, Verb::Reset(Grant::Unnamed)),
        ];
        let flow = vec![repeat(4_000, vec![Step::Choose(choices.into())])];
        let places = walk(flow, Pace::AsWritten);
        let pushes = places.iter().filter(|p| p.contains("choose[1]")).count();
        let resets = places.iter().filter(|p| p.contains("choose[2]")).count();
        assert_eq!(pushes + resets, 4_000);
        assert!((2_900..3_100).contains(&pushes), "{pushes}");
    }

    #[test]
    fn an_empty_choice_is_skipped() {
        let flow = vec![
            Step::Choose(vec![].into()),
            call(Verb::Undo(Grant::Unnamed)),
        ];
        assert_eq!(walk(flow, Pace::AsWritten), ["flow[1]"]);
    }
}
