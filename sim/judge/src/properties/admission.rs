//! `admission`: calls are refused before the journal as the protocol prescribes: for rate limits,
//! overload, a journal that cannot be written, a server that stops, and texts that are far too
//! long. No other call is refused there, and the refusal has the time until a retry.

use chat_types::Code;

use super::{Rule, refuses};
use crate::comparison::Comparison;
use crate::difference::Difference;
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::Admission,
    counts: &[Comparison::Admitted],
    breaks: |difference, _| {
        matches!(difference, Difference::Taken { .. })
            || Code::ALL
                .iter()
                .any(|code| code.is_retryable() && refuses(difference, *code))
    },
};
