//! `queue_progress`: two participants that can be matched are matched the next time the protocol
//! examines the queue, and a patience ends in time.

use sim_model::protocol::Op;

use super::{Rule, events, op};
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
            || matches!(op(difference), Some(Op::EnterQueue { .. } | Op::LeaveQueue))
            || matches!(
                difference,
                Difference::Late {
                    due: Due::Deadline(Deadline::Patience(_)),
                    ..
                }
            )
    },
};
