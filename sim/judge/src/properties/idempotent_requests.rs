//! `idempotent_requests`: a repeated request key has one effect and one answer.

use super::{Rule, refuses};
use crate::compared::Compared;
use crate::difference::Difference;
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::IdempotentRequests,
    counts: &[Compared::Repeat],
    breaks: |difference, _| {
        matches!(difference, Difference::Decision { repeated: true, .. })
            || refuses(difference, "request_key_reused")
    },
};
