//! `fifo_matching`: under `fifo` the possible participant that has waited longest is matched first,
//! and the answer has its true place.

use chat_types::config::Matching;
use sim_model::protocol::{Answer, Outcome};

use super::{Rule, decision, events};
use crate::compared::Compared;
use crate::difference::Difference;
use crate::findings::Property;
use crate::model::What;

pub(super) const RULE: Rule = Rule {
    property: Property::FifoMatching,
    counts: &[Compared::Queue, Compared::Found],
    breaks: |difference, model| {
        model.config().matching == Matching::Fifo
            && (partners_differ(difference) || places_differ(difference))
    },
};

/// Whether both outcomes are a match, with different partners.
fn partners_differ(difference: &Difference) -> bool {
    let partner = |outcome: &Outcome| match outcome {
        Ok(Answer::Matched { partner, .. }) => Some(*partner),
        _ => None,
    };
    let pair = |what: Option<&What>| match what {
        Some(What::Found { pair }) => Some(*pair),
        _ => None,
    };
    let (owed, seen) = events(difference);
    let found = pair(owed)
        .zip(pair(seen))
        .is_some_and(|(owed, seen)| owed != seen);
    let matched = decision(difference).is_some_and(|(_, owed, said)| {
        partner(owed)
            .zip(partner(said))
            .is_some_and(|(owed, said)| owed != said)
    });
    found || matched
}

/// Whether both decisions put the caller into the queue, at different places.
fn places_differ(difference: &Difference) -> bool {
    let place = |outcome: &Outcome| match outcome {
        Ok(Answer::Waiting { position, .. }) => Some(*position),
        _ => None,
    };
    decision(difference).is_some_and(|(_, owed, said)| {
        place(owed)
            .zip(place(said))
            .is_some_and(|(owed, said)| owed != said)
    })
}
