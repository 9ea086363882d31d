//! `stick_progress`: a lease ends in time, and the next claimant then has its turn.

use sim_model::protocol::StickChange;

use super::{Rule, events};
use crate::compared::Compared;
use crate::difference::{Difference, Due};
use crate::findings::Property;
use crate::model::{Deadline, What};

pub(super) const RULE: Rule = Rule {
    property: Property::StickProgress,
    counts: &[Compared::Lease, Compared::Granted],
    breaks: |difference, _| {
        let (owed, seen) = events(difference);
        let granted = |what: Option<&What>| {
            matches!(
                what,
                Some(What::Stick {
                    change: StickChange::Granted { .. },
                    ..
                })
            )
        };
        granted(owed) && !granted(seen)
            || matches!(
                difference,
                Difference::Late {
                    due: Due::Deadline(Deadline::Lease(_)),
                    ..
                }
            )
    },
};
