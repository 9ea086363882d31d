//! `idempotent_requests`: a repeated request key has one effect and one answer, and a refusal tells
//! what is known of earlier attempts.

use chat_types::Code;
use sim_model::server::Call;

use super::{Rule, decision, refuses};
use crate::comparison::Comparison;
use crate::difference::Difference;
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::IdempotentRequests,
    counts: &[Comparison::Repeat],
    breaks: |difference, _| {
        decision(difference).is_some_and(|decision| decision.repeated)
            || refuses(difference, Code::RequestKeyReused)
            || earlier_attempts_differ(difference)
            || denies(difference)
    },
};

/// Whether a decided call is refused as retryable.
fn denies(difference: &Difference) -> bool {
    matches!(
        difference,
        Difference::Answer { owed: Ok(_), said: Err(said), call }
            if said.is_retryable() && matches!(*call.ask, Call::Command { .. })
    )
}

/// Whether both are the same refusal, except for what they tell about earlier attempts.
fn earlier_attempts_differ(difference: &Difference) -> bool {
    matches!(
        difference,
        Difference::Answer { owed: Err(owed), said: Err(said), .. }
            if owed.code == said.code && owed.earlier != said.earlier
    )
}
