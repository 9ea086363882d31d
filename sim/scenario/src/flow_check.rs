//! Finds all impossible steps of a flow, which cannot work on any path to them: `send` before anything
//! that could put the user into a room, `leave_queue` before `enter_queue`, and so on.
//!
//! A possibility never ends: only a run shows whether a match happened, or a chat ended. A step
//! after a `choose` may rely on any of its branches, and a step of a loop with several rounds on
//! all other steps of the loop. The steps form is not checked, because it is also for calls that
//! the server must refuse.
//!
//! After an impossible step, what it lacks counts as there: the step that will be added before it
//! helps the later ones, too.

use super::error::{Problem, Problems, Read};
use super::node::{Node, Value};
use sim_model::plan::{Step, Verb};
use sim_model::protocol::OpKind;

chat_types::listed! {
    /// What a step may need, and a user may have at a step of its flow: what is wrong without it, and
    /// what to do.
    Need {
        /// To be registered.
        Handle "no step before it registers the user"
            "`enter_queue`, `login` or `break` before it",
        /// To be in the queue.
        PlaceInQueue "no step before it puts the user into the queue"
            "`enter_queue` before it",
        /// To be in a room.
        Room "the steps before it leave the user in no room"
            "`login`, or `enter_queue` and `await: chatroom.found`, before it",
        /// To have claimed the stick.
        Claim "no step before it claims the stick"
            "`talking_stick` before it",
    }
}

/// The most of each need that a user may have: one, or the number of its rooms.
#[derive(Clone, Copy, Debug, Default)]
struct Possibilities([u32; Need::ALL.len()]);

impl Possibilities {
    /// What a step with this requirement has.
    fn for_need(need: Need) -> Self {
        let mut least = Self::default();
        least.0[Need::Handle as usize] = 1;
        least.0[need as usize] = 1;
        least
    }

    /// The union of the possibilities of two paths.
    fn or(mut self, other: Self) -> Self {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            *own = other.max(*own);
        }
        self
    }

    fn has(self, need: Need) -> bool {
        self.0[need as usize] > 0
    }

    /// The possibilities after these steps.
    fn after(self, steps: &[Step]) -> Self {
        steps.iter().fold(self, |before, step| match step {
            Step::Call(verb) => before.after_call(verb.kind()),
            Step::Await { .. } | Step::Think(_) | Step::Disconnect(_) => before,
            Step::Loop { steps, .. } => before.after(steps),
            Step::Choose(choices) => choices
                .iter()
                .fold(before, |sum, choice| sum.or(before.after(&choice.steps))),
        })
    }

    fn after_call(mut self, kind: OpKind) -> Self {
        let Self([handle, place_in_queue, rooms, claim]) = &mut self;
        if kind == OpKind::Unregister {
            return Self::default();
        } else if kind.registers() {
            *handle = 1;
        }
        if kind == OpKind::EnterQueue {
            *place_in_queue = 1;
        } else if kind == OpKind::LeaveChat {
            *rooms = rooms.saturating_sub(1);
        } else if let OpKind::TalkingStick | OpKind::Speak = kind {
            *claim = 1;
        }
        if matches!(kind, OpKind::EnterQueue | OpKind::Login) {
            *rooms = rooms.saturating_add(1);
        }
        self
    }
}

/// The requirement of a call: a room, or a participant met in one, if it names one.
fn needs(verb: &Verb) -> Option<Need> {
    let kind = verb.kind();
    if kind.registers() {
        None
    } else if kind == OpKind::LeaveQueue {
        Some(Need::PlaceInQueue)
    } else if kind.is_among_others() {
        Some(Need::Room)
    } else {
        Some(Need::Handle)
    }
}

/// The requirement for receiving this event.
fn comes_after(event: &str) -> Need {
    match event {
        "chatroom.found" => Need::PlaceInQueue,
        "stick.granted" => Need::Claim,
        _ => Need::Room,
    }
}

/// Refuses the impossible steps of a flow. `node` is the list of the steps.
pub(super) fn refuse_impossible(node: &Node, steps: &[Step]) -> Read<()> {
    let mut problems = Problems::default();
    look(node, steps, Possibilities::default(), &mut problems);
    problems.finish(Some(()))
}

/// Looks for impossible steps. Returns what they lack.
fn look(
    node: &Node,
    steps: &[Step],
    mut before: Possibilities,
    problems: &mut Problems,
) -> Possibilities {
    let mut lacked = Possibilities::default();
    let Value::List(items) = &node.value else {
        return lacked;
    };
    for (item, step) in items.iter().zip(steps) {
        let mut inside_lacked = Possibilities::default();
        let need = match step {
            Step::Call(verb) => needs(verb),
            Step::Await { event, .. } => Some(comes_after(event)),
            Step::Loop { count, steps } => {
                // A later round may rely on the effects of earlier rounds.
                let rounds_before = if *count > 1 {
                    before.after(steps)
                } else {
                    before
                };
                if let Some(inside) = item.only().and_then(|loops| loops.key("steps")) {
                    inside_lacked = look(inside, steps, rounds_before, problems);
                }
                None
            }
            Step::Choose(choices) => {
                if let Some(Value::List(written)) = item.only().map(|node| &node.value) {
                    for (branch, choice) in written.iter().zip(choices.iter()) {
                        if let Some(inside) = branch.key("steps") {
                            inside_lacked =
                                inside_lacked.or(look(inside, &choice.steps, before, problems));
                        }
                    }
                }
                None
            }
            Step::Think(_) | Step::Disconnect(_) => None,
        };
        if let Some(need) = need.filter(|need| !before.has(*need)) {
            problems.keep::<()>(Err(impossible(item, need)));
            lacked = lacked.or(Possibilities::for_need(need));
            before = before.or(Possibilities::for_need(need));
        }
        before = before.after(std::slice::from_ref(step)).or(inside_lacked);
        lacked = lacked.or(inside_lacked);
    }
    lacked
}

fn impossible(item: &Node, need: Need) -> Box<Problem> {
    const REFUSED: &str =
        "what is meant to be refused belongs in the steps form (`users` and `steps`)";
    let (place, verb) = item.word();
    let (lacks, before) = (need.name(), need.word(1));
    let what = format!("`{verb}` cannot work here: {lacks}");
    let wrong = place.wrong(what, format!("{before}; {REFUSED}"));
    wrong.labelled(lacks)
}
