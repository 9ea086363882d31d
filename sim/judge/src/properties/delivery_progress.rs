//! `delivery_progress`: every call is answered, a waiting check as soon as its inbox grows or its
//! wait is over, an open stream carries new events at once, and the entries implied by reads are
//! committed in time.

use super::Rule;
use crate::comparison::Comparison;
use crate::difference::Difference;
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::DeliveryProgress,
    counts: &[Comparison::InTime, Comparison::Answer],
    breaks: |difference, _| {
        matches!(
            difference,
            Difference::Late { .. }
                | Difference::Early { .. }
                | Difference::Unsolicited(_)
                | Difference::Batch { .. }
        )
    },
};
