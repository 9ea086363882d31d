//! The outcome of a call, which each transport shows in its own format. And refusals, with what the caller
//! needs to call again.

use std::sync::Arc;

use chat_core::{
    Answer, Body, Epoch, NameFault, NameHolder, Page, Reject, Response, RoomId, RoomSeq, Time, Who,
};
use serde_json::Value;
use server_storage::history::Past;

use super::{User, timestamp};
use crate::driver::{AnswerFacts, CallerContext, KeptDraft, Me, RoomKind, RoomLabel};
use crate::identity::{Handle, ReaderId};
use crate::refusal::{OwnRoom, Refusal, RefusalFacts};
use crate::tools::{MemberPart, Tool};

/// The outcome of a call.
#[derive(Clone, Debug)]
pub struct CallOutcome {
    /// The tool.
    pub tool: Tool,
    /// The result.
    pub result: Result<Done, Refusal>,
    /// The caller's identity and rooms; nothing if the node was not called.
    pub context: CallerContext,
    /// Whether the caller may omit its handle from now on.
    pub implicit: HandleUse,
    /// The caller's handle; `None` if the caller was not identified.
    pub caller: Option<Handle>,
    /// The caller's reader id, by which its inbox is a resource, if the tool may have registered the caller.
    pub reader: Option<ReaderId>,
    /// Whether the call registered its caller, whose credentials the result must contain.
    pub is_newcomer: bool,
    /// The caller's own words that the result repeats.
    pub own_words: Option<Arc<str>>,
    /// The part of a member list to show.
    pub part: MemberPart,
    /// What the caller of a command heard after it.
    pub heard: Option<Answer>,
}

/// What an accepted call gave.
#[derive(Clone, Debug)]
pub enum Done {
    /// The core's answer.
    Answered(Response),
    /// The result of a search.
    Found {
        /// What it found.
        found: Past,
        /// The words that it looked for.
        query: Arc<str>,
        /// The place before which the next page begins, if there is one.
        before: Option<String>,
    },
}

/// Whether a caller must pass its handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleUse {
    /// It is the only participant of this process.
    MayBeLeftOut,
    /// It is the only participant of its session or token: until that ends, or the server restarts.
    KnownForNow,
    /// It must.
    MustBePassed,
}

impl CallOutcome {
    /// A call of which nothing but its result is known.
    #[must_use]
    pub fn of(tool: Tool, result: Result<Done, Refusal>) -> Self {
        Self {
            tool,
            result,
            context: CallerContext::default(),
            implicit: HandleUse::MustBePassed,
            caller: None,
            reader: None,
            is_newcomer: false,
            own_words: None,
            part: MemberPart::default(),
            heard: None,
        }
    }

    /// A call that was refused before the node.
    #[must_use]
    pub fn refused(tool: Tool, refusal: Refusal) -> Self {
        Self::of(tool, Err(refusal))
    }

    /// The result, or `{"error": …}`.
    ///
    /// # Panics
    /// Never: all of it is strings, numbers, lists and maps with names as keys.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::to_value(self).expect("results are plain JSON")
    }

    /// The core's answer, if the call is accepted.
    #[must_use]
    pub const fn response(&self) -> Option<&Response> {
        match &self.result {
            Ok(Done::Answered(response)) => Some(response),
            Ok(Done::Found { .. }) | Err(_) => None,
        }
    }

    /// The caller, if it is known.
    #[must_use]
    pub fn me(&self) -> Option<&Me> {
        self.context.me.as_ref()
    }

    /// The holder of the stick that the answer is about, and the caller's draft.
    #[must_use]
    pub fn stick(&self) -> (Option<&Who>, Option<&KeptDraft>) {
        if let AnswerFacts::Stick { holder, draft } = &self.context.more {
            return (holder.as_deref(), draft.as_deref());
        }
        (None, None)
    }

    /// The page of the answer, of a check or of what follows a command.
    pub(crate) fn page(&self) -> Option<&Page> {
        let answer = match (&self.heard, self.response()) {
            (Some(heard), _) | (None, Some(Response::Read(heard))) => heard,
            (None, _) => return None,
        };
        match answer {
            Answer::Page { page, .. } => Some(page),
            Answer::Members { .. } | Answer::History { .. } | Answer::Mood { .. } => None,
        }
    }

    /// Whether a message of the caller that waited for the stick of this room was said meanwhile: it released a
    /// grant that is later than the one for whose end it waited.
    pub(crate) fn has_spoken(&self, room: RoomId, waited_for: Epoch) -> bool {
        let Some(Answer::Page { page, .. }) = &self.heard else {
            return false;
        };
        page.events.iter().any(|(_, event)| {
            matches!(&event.body, Body::StickReleased { user, epoch }
                if event.room == room && user.id == self.reads() && *epoch > waited_for)
        })
    }

    /// The seconds from the answer until this instant.
    pub(crate) fn seconds_until(&self, until: Time) -> u64 {
        until.since(self.context.at).as_secs_ceil()
    }

    /// The place before which a room has older messages than those of the answer.
    pub(crate) fn before(&self) -> Option<RoomSeq> {
        let Some(Response::Read(Answer::History {
            messages,
            more: true,
            ..
        })) = self.response()
        else {
            return None;
        };
        if let AnswerFacts::Before(before) = &self.context.more {
            return Some(*before);
        }
        messages.first().map(|event| event.room_seq)
    }
}

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
