//! The two facts of a difference, each in its own words, for marks in a diagram.

use chat_types::Span;
use sim_model::outcome::Subject;

use super::differences::{PageRange, Written};
use super::{Describe, Detail, Sentence};
use crate::difference::{Decision, Difference, EventPosition};
use crate::model::GivenAgain;

impl Difference {
    /// Adds what the protocol prescribes and what was seen to the subject of a violation.
    pub(crate) fn add_facts(&self, subject: &mut Subject) {
        let (predicted, seen) = facts(self);
        subject.predicted = predicted.to_string();
        subject.seen = seen.to_string();
        if let Self::Late { since, .. } | Self::Overtaken { since, .. } = self {
            subject.due = Some(Span(since.0));
        }
    }
}

/// The prescribed fact, and the observed one.
fn facts(difference: &Difference) -> (Sentence, Sentence) {
    match difference {
        Difference::Decision(Decision { owed, said, .. }) => both(owed, said),
        Difference::Answer { owed, said, .. } => both(owed, said),
        Difference::Uncommitted { said, .. } => both(&"no answer before its entry", said),
        Difference::Early { said, .. } => both(&"no answer yet", said),
        Difference::Unsolicited(seen) => both(&"nothing", seen),
        Difference::Event(EventPosition { owed, seen, .. }) => both(&owed.as_deref(), seen),
        Difference::Gap { owed, seen, .. } => both(owed, seen),
        Difference::Listed { owed, seen, .. } => both(owed, seen),
        Difference::Reach { owed, seen, .. } => both(&PageRange(*owed), &PageRange(*seen)),
        Difference::Notice { owed, seen, .. } => both(owed, seen),
        Difference::Late { due, .. } => both(due, &"nothing until now"),
        Difference::Unserved { call } => both(&"a later record of the log", call),
        Difference::Overtaken { due, .. } => both(due, &"a record of the log without it"),
        Difference::Batch { owed, seen } => both(owed, seen),
        Difference::Taken { owed, .. } => both(owed, &"put in a batch for the journal"),
        Difference::Entry { call, entry } => both(call, &Written(entry, call.caller)),
        Difference::Size { size, limit, .. }
        | Difference::Kept {
            owed: limit, size, ..
        } => both(limit, size),
        Difference::Position { owed, seen } | Difference::Damaged { owed, seen, .. } => {
            both(owed, seen)
        }
        Difference::AcceptedLoss { owed, seen, .. } => both(owed, seen),
        Difference::GivenAgain(GivenAgain { given, next, .. }) => both(given, next),
        Difference::Redecided { before, after, .. } => both(before, after),
        Difference::Unjournaled { said, .. } => {
            both(&"an entry of the journal with this answer", said)
        }
        Difference::Servers(detail) => both(&"one history of one log", &Detail(detail)),
        Difference::Witnessed(facts) => both(&facts[0], &facts[1]),
    }
}

fn both(predicted: &impl Describe, seen: &impl Describe) -> (Sentence, Sentence) {
    (Sentence::of(predicted), Sentence::of(seen))
}
