//! `stick_order`: claims are granted in their order.

use sim_model::protocol::OpKind;

use super::{Rule, concerns, events, grants, kind};
use crate::comparison::Comparison;
use crate::difference::Difference;
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::StickOrder,
    counts: &[Comparison::Claim, Comparison::Claimed],
    breaks: |difference, _| {
        matches!(kind(difference), Some(OpKind::TalkingStick | OpKind::Reset))
            || concerns(difference, Comparison::Claimed)
            || both_grant(difference)
    },
};

/// Whether both events are grants, to different members.
fn both_grant(difference: &Difference) -> bool {
    let [owed, seen] = events(difference);
    grants(owed) && grants(seen)
}
