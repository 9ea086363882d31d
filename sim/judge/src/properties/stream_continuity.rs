//! `stream_continuity`: a stream carries every event behind the cursor it opened with, in order.

use super::Rule;
use crate::compared::Compared;
use crate::difference::{Channel, Difference};
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::StreamContinuity,
    counts: &[Compared::Push],
    breaks: |difference, _| {
        matches!(
            difference,
            Difference::Reach {
                channel: Channel::Stream,
                ..
            }
        )
    },
};
