//! `stick_order`: claims are granted in the order in which they were made.

use sim_model::protocol::Op;

use super::{Rule, concerns, events, grants, op};
use crate::compared::Compared;
use crate::difference::Difference;
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::StickOrder,
    counts: &[Compared::Claim, Compared::Claimed],
    breaks: |difference, _| {
        matches!(
            op(difference),
            Some(Op::TalkingStick { .. } | Op::Reset { .. })
        ) || concerns(difference, Compared::Claimed)
            || both_grant(difference)
    },
};

/// Whether both events are grants: to another member each.
fn both_grant(difference: &Difference) -> bool {
    let (owed, seen) = events(difference);
    grants(owed) && grants(seen)
}
