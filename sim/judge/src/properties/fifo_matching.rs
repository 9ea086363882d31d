//! `fifo_matching`: under `fifo` the possible participant that has waited longest is matched first,
//! and the answer has its true place.

use chat_types::config::Matching;
use sim_model::protocol::Reply;

use super::{Rule, decided_otherwise, events};
use crate::comparison::Comparison;
use crate::difference::{Difference, is_alike};
use crate::findings::Property;
use crate::model::Body;

pub(super) const RULE: Rule = Rule {
    property: Property::FifoMatching,
    counts: &[Comparison::Queue, Comparison::Found],
    breaks: |difference, model| {
        model.config().matching == Matching::Fifo
            && (partners_differ(difference) || decided_otherwise(difference, place))
    },
};

/// Whether both outcomes are a match, with different partners.
fn partners_differ(difference: &Difference) -> bool {
    let partner = |answer: &Reply| match answer {
        Reply::Matched { partner, .. } => Some(partner.id),
        _ => None,
    };
    decided_otherwise(difference, partner)
        || matches!(
            events(difference),
            [Some(owed @ Body::Found(_)), Some(seen @ Body::Found(_))] if !is_alike(owed, seen)
        )
}

/// The place in the queue.
const fn place(answer: &Reply) -> Option<u32> {
    match answer {
        Reply::Waiting { position, .. } => Some(*position),
        _ => None,
    }
}
