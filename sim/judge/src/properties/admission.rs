//! `admission`: rate limits, overload, a journal that cannot be written and a server that stops are
//! refused when the protocol says so, no other call is, and the refusal says when to come again.

use super::{Rule, refuses};
use crate::compared::Compared;
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::Admission,
    counts: &[Compared::Admitted],
    breaks: |difference, _| RETRYABLE.iter().any(|code| refuses(difference, code)),
};

/// The refusals that ask the client to come again.
const RETRYABLE: [&str; 4] = [
    "rate_limited",
    "overloaded",
    "storage_unavailable",
    "shutting_down",
];
