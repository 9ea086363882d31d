//! `no_lost_messages`: an accepted message is in the inbox of each member to whom it is owed; a
//! check without a cursor continues after the last answer; only a cursor acknowledges.

use sim_model::listing::Kept;
use sim_model::protocol::{Code, Reply};
use sim_model::server::{Entry, Implied};

use super::{Rule, batched, events, kept, refuses};
use crate::comparison::Comparison;
use crate::difference::{Channel, Decision, Difference};
use crate::findings::Property;
use crate::model::Body;

pub(super) const RULE: Rule = Rule {
    property: Property::NoLostMessages,
    counts: &[Comparison::Message, Comparison::Page],
    breaks: |difference, _| match difference {
        Difference::Event(place) => {
            let [owed, _] = events(difference);
            matches!(owed, Some(Body::Message { .. })) && (place.skipped || place.seen.is_none())
        }
        // An archive would take the message from the state.
        Difference::Listed { .. } => match kept(difference) {
            [Some(Kept::Message(owed)), seen] => {
                !matches!(seen, Some(Kept::Message(seen)) if seen.room_seq == owed.room_seq)
            }
            _ => false,
        },
        Difference::Reach {
            channel: Channel::Check,
            ..
        } => true,
        Difference::Batch { .. } => {
            let implied = batched(difference).and_then(Entry::implied);
            matches!(implied, Some((_, Implied::Read { .. })))
        }
        // A draft of the caller is gone.
        Difference::Decision(Decision {
            owed: Ok(Reply::Sent { .. }),
            ..
        }) => refuses(difference, Code::DraftEmpty),
        _ => false,
    },
};
