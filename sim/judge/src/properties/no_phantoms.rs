//! `no_phantoms`: an inbox holds no message that was never sent, was refused, was sent to a room of
//! which the reader is no member, has another sender's name, or is from a blocked participant.

use sim_model::listing::Kept;
use sim_model::protocol::{Code, OpKind};

use super::{Rule, events, kept, kind, refuses};
use crate::comparison::Comparison;
use crate::findings::Property;
use crate::model::Body;

pub(super) const RULE: Rule = Rule {
    property: Property::NoPhantoms,
    counts: &[Comparison::Message, Comparison::Speech],
    breaks: |difference, _| {
        let [owed, seen] = events(difference);
        let seen = seen.and_then(Body::message);
        seen.is_some() && seen != owed.and_then(Body::message)
            || keeps_other(kept(difference))
            || refuses(difference, Code::NotInRoom) && kind(difference).is_some_and(speaks)
            || refuses(difference, Code::MessageEmpty)
            || refuses(difference, Code::DraftEmpty)
            || matches!(kind(difference), Some(OpKind::Append | OpKind::Undo))
    },
};

/// Whether an archive takes a message that no room keeps, or another one in its place.
fn keeps_other(kept: [Option<&Kept>; 2]) -> bool {
    let [owed, seen] = kept.map(said);
    seen.is_some() && owed != seen
}

fn said(kept: Option<&Kept>) -> Option<impl PartialEq> {
    match kept? {
        Kept::Message(event) => Some(&event.body),
        Kept::Room { .. } | Kept::Member { .. } => None,
    }
}

/// Whether the call would send a message.
const fn speaks(call: OpKind) -> bool {
    matches!(call, OpKind::Send | OpKind::Push)
}
