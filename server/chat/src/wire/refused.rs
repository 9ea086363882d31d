//! Refusals on the wire, with what the caller needs to call again.

use chat_core::{NameFault, NameHolder, Reject};

use super::{User, timestamp};
use crate::driver::{AnswerFacts, CallerContext, RoomKind, RoomLabel};
use crate::refusal::{OwnRoom, Refusal, RefusalFacts};

impl From<&RoomLabel> for OwnRoom {
    fn from(label: &RoomLabel) -> Self {
        let (room, partner) = match &label.kind {
            RoomKind::Named(name) => (Some(name.to_string()), None),
            RoomKind::Pair(partner) => (None, partner.as_deref().map(User::from)),
        };
        Self {
            room_id: label.id.to_string(),
            room,
            partner,
        }
    }
}

/// A refusal of a call, with what its caller needs to call again and the core does not say.
#[must_use]
pub fn refused(reject: Reject, context: &CallerContext) -> Refusal {
    if reject == Reject::UnknownHandle
        && let AnswerFacts::Banned(reason) = &context.more
    {
        return Refusal::banned(reject, reason);
    }
    let mut refusal = Refusal::from(reject);
    let mut facts = RefusalFacts::default();
    if let Some(me) = &context.me {
        let kept = NameFault::Kept;
        if reject == (Reject::NameNotAllowed { why: kept }) {
            refusal.message = format!("{}: {}", refusal.message, me.who.name);
        }
        if let Reject::RoomAmbiguous { .. } | Reject::RoomNotFound | Reject::NotInRoom = reject {
            facts.rooms = me.rooms.iter().map(OwnRoom::from).collect();
        }
    }
    if reject == (Reject::RoomAmbiguous { rooms: 0 }) {
        refusal.message = "You are in no room; log in to one, or enter the queue".into();
    }
    if let Reject::NameTaken { holder } = reject {
        match holder {
            NameHolder::SameAddress(silence) => {
                facts.free_at = Some(timestamp(context.at + silence));
            }
            NameHolder::Other(away) => {
                facts.free_after_away_seconds = Some(away.as_secs_ceil());
            }
            NameHolder::Server => {}
        }
    }
    match facts == RefusalFacts::default() {
        true => refusal,
        false => refusal.with(facts),
    }
}
