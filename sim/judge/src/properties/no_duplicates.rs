//! `no_duplicates`: a message is in an inbox once, however often it was sent or delivered.

use super::{Rule, concerns};
use crate::comparison::Comparison;
use crate::difference::{Channel, Difference, EventPosition};
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::NoDuplicates,
    counts: &[Comparison::Message],
    breaks: |difference, _| match difference {
        // The inbox already has the message, and the expected one comes later.
        Difference::Event(EventPosition {
            repeated: true,
            skipped: false,
            ..
        }) => concerns(difference, Comparison::Message),
        // A check without a cursor that begins before the end of the last answer.
        Difference::Reach {
            channel: Channel::Check,
            owed,
            seen,
            ..
        } => seen.0 < owed.0,
        _ => false,
    },
};
