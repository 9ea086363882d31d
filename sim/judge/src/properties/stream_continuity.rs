//! `stream_continuity`: a stream carries every event behind the cursor it opened with, in order,
//! and each notice of its participant's rooms at once.

use super::Rule;
use crate::comparison::Comparison;
use crate::difference::{Channel, Difference, Due};
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::StreamContinuity,
    counts: &[Comparison::Push, Comparison::Noticed],
    breaks: |difference, _| {
        matches!(
            difference,
            Difference::Reach {
                channel: Channel::Stream,
                ..
            } | Difference::Notice { .. }
                | Difference::Late {
                    due: Due::Notice(_),
                    ..
                }
        )
    },
};
