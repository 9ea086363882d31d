//! `moderation`: blocks, reports, mutes, kicks, closings and bans have the prescribed effects, and
//! members receive their events.

use sim_model::listing::Listed;
use sim_model::protocol::{Code, OpKind};
use sim_model::server::Entry;

use super::{Rule, concerns, decision, kept, kind, refuses};
use crate::comparison::Comparison;
use crate::difference::Difference;
use crate::findings::Property;

/// The stored blocks, reports, bans and mutes, the lists of them, and all lists
/// after an operator's act, but for what an archive takes.
pub(super) const KEPT: Rule = Rule {
    property: Property::Moderation,
    counts: &[Comparison::Listed],
    breaks: |difference, _| {
        kept(difference) == [None, None]
            && matches!(
                difference,
                Difference::Listed {
                    after_act: true,
                    ..
                } | Difference::Listed {
                    owed: Some(Listed::Measure(..) | Listed::Report(_)),
                    ..
                } | Difference::Listed {
                    seen: Some(Listed::Measure(..) | Listed::Report(_)),
                    ..
                } | Difference::Kept {
                    what: "blocks" | "bans" | "reports" | "reports_per_address",
                    ..
                }
            )
    },
};

pub(super) const RULE: Rule = Rule {
    property: Property::Moderation,
    counts: &[Comparison::Moderation, Comparison::Moderated],
    breaks: |difference, _| {
        refuses(difference, Code::Muted)
            || refuses(difference, Code::Blocked)
            || concerns(difference, Comparison::Moderated)
            || matches!(
                kind(difference),
                Some(OpKind::Block | OpKind::Unblock | OpKind::Report)
            )
            || decision(difference)
                .is_some_and(|decision| matches!(decision.entry, Entry::Operate { .. }))
    },
};
