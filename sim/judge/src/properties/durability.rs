//! `durability`: an answer leaves after its entry is committed, and committed entries survive a
//! crash. A damaged journal costs the start, and no committed entry. An accepted loss costs only
//! what the damage took.

use chat_types::Code;

use super::Rule;
use crate::comparison::Comparison;
use crate::difference::Difference;
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::Durability,
    counts: &[
        Comparison::Recovered,
        Comparison::Damaged,
        Comparison::Journaled,
    ],
    breaks: |difference, _| {
        matches!(
            difference,
            Difference::Uncommitted { said: Ok(_), .. }
                | Difference::Position { .. }
                | Difference::Redecided { .. }
                | Difference::Damaged { .. }
                | Difference::AcceptedLoss { .. }
                | Difference::GivenAgain(_)
                | Difference::Unjournaled { .. }
        ) || matches!(
            difference,
            Difference::Answer { owed: Err(owed), said: Ok(_), .. }
                if owed.is(Code::StorageUnavailable)
        )
    },
};
