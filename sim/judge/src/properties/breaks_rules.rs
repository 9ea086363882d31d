//! `breaks_rules`: stress rises by one a minute and falls with a break; the boss notices and calms
//! down; a break under a fully alert boss is answered 20 s later, every other at once.

use sim_model::protocol::OpKind;

use super::{Rule, kind};
use crate::comparison::Comparison;
use crate::difference::{Difference, Due};
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::BreaksRules,
    counts: &[Comparison::Break, Comparison::Mood],
    breaks: |difference, _| {
        matches!(kind(difference), Some(OpKind::Break | OpKind::Mood))
            || matches!(
                difference,
                Difference::Late { due: Due::Answer(call), .. }
                    if call.kind() == Some(OpKind::Break)
            )
    },
};
