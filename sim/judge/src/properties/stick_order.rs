//! `stick_order`: claims are granted in their order.

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

/// Whether both events are grants, to different members.
fn both_grant(difference: &Difference) -> bool {
    let (owed, seen) = events(difference);
    grants(owed) && grants(seen)
}
