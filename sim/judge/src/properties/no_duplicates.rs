//! `no_duplicates`: a message is in an inbox once, however often it was sent or delivered.

use super::{Rule, concerns};
use crate::compared::Compared;
use crate::difference::{Channel, Difference, InboxPlace};
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::NoDuplicates,
    counts: &[Compared::Message],
    breaks: |difference, _| match difference {
        // A message that the inbox has already, while the one owed here comes later.
        Difference::Event(InboxPlace {
            repeated: true,
            skipped: false,
            ..
        }) => concerns(difference, Compared::Message),
        // A check without a cursor that begins before the place where the last answer ended.
        Difference::Reach {
            channel: Channel::Check,
            owed,
            seen,
            ..
        } => seen.0 < owed.0,
        _ => false,
    },
};
