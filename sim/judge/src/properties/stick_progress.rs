//! `stick_progress`: a lease ends in time, and the next claimant then has its turn.

use super::{Rule, events, grants};
use crate::comparison::Comparison;
use crate::difference::{Difference, Due};
use crate::findings::Property;
use crate::model::Deadline;

pub(super) const RULE: Rule = Rule {
    property: Property::StickProgress,
    counts: &[Comparison::Lease, Comparison::Granted],
    breaks: |difference, _| {
        let [owed, seen] = events(difference);
        grants(owed) && !grants(seen)
            || matches!(
                difference,
                Difference::Late {
                    due: Due::Deadline(Deadline::Lease(_)),
                    ..
                }
            )
    },
};
