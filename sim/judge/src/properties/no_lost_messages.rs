//! `no_lost_messages`: an accepted message is in the inbox of each member to whom it is owed; a
//! check without a cursor goes on where the answer before it ended; only a cursor acknowledges.

use sim_model::server::{Batched, Entry};

use super::{Rule, events};
use crate::compared::Compared;
use crate::difference::{Channel, Difference};
use crate::findings::Property;
use crate::model::What;

pub(super) const RULE: Rule = Rule {
    property: Property::NoLostMessages,
    counts: &[Compared::Message, Compared::Page],
    breaks: |difference, _| match difference {
        Difference::Event { skipped, seen, .. } => {
            let (owed, _) = events(difference);
            matches!(owed, Some(What::Message { .. })) && (*skipped || seen.is_none())
        }
        Difference::Reach {
            channel: Channel::Check,
            ..
        } => true,
        Difference::Batch { owed, seen } => owed.iter().chain(seen).any(reads),
        _ => false,
    },
};

/// Whether the entry says how far a participant has read.
const fn reads(entry: &Batched) -> bool {
    matches!(entry, Batched::Own(Entry::Read { .. }))
}
