//! `presence`: a participant goes away, comes back and is forgotten at its deadline, neither before
//! nor after, and streams count from their opening to their end.

use sim_model::server::{Entry, Implied};

use chat_types::Code;

use super::{Rule, batched, concerns, decision, refuses};
use crate::comparison::Comparison;
use crate::difference::{Difference, Due, Unsolicited};
use crate::findings::Property;
use crate::model::Deadline;

pub(super) const RULE: Rule = Rule {
    property: Property::Presence,
    counts: &[
        Comparison::There,
        Comparison::Presence,
        Comparison::PresenceDeadline,
    ],
    breaks: |difference, _| {
        concerns(difference, Comparison::There)
            || refuses(difference, Code::UnknownHandle)
            || tells_of_presence(difference)
            || matches!(
                difference,
                Difference::Late {
                    due: Due::Deadline(Deadline::Presence(_))
                        | Due::Close(_)
                        | Due::Seen(_)
                        | Due::StreamEnd(_),
                    ..
                }
            )
            || matches!(difference, Difference::Unsolicited(Unsolicited::End(_)))
            || decision(difference).is_some_and(|decision| {
                let entry = &decision.entry;
                matches!(entry, Entry::Implied { implied, .. } if !matches!(implied, Implied::Read { .. }))
            })
    },
};

/// Whether a batch holds, or lacks, an entry about a participant's presence.
fn tells_of_presence(difference: &Difference) -> bool {
    let implied = batched(difference).and_then(Entry::implied);
    matches!(
        implied,
        Some((_, Implied::CloseStream | Implied::Seen { .. }))
    )
}
