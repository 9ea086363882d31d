//! `queue_progress`: two participants that can be matched are matched the next time the protocol
//! examines the queue, and a patience ends in time.

use super::{Rule, events, kind};
use crate::comparison::Comparison;
use crate::difference::{Difference, Due};
use crate::findings::Property;
use crate::model::{Body, Deadline};

pub(super) const RULE: Rule = Rule {
    property: Property::QueueProgress,
    counts: &[Comparison::Queue, Comparison::Patience],
    breaks: |difference, _| {
        let [owed, _] = events(difference);
        matches!(owed, Some(Body::Found(_)))
            || kind(difference).is_some_and(|call| Comparison::decision(call) == Comparison::Queue)
            || matches!(
                difference,
                Difference::Late {
                    due: Due::Deadline(Deadline::Patience(_)),
                    ..
                }
            )
    },
};
