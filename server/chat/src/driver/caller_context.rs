//! The caller's context, which accompanies each answer: its identity, its rooms, and its unread
//! events.

use std::sync::Arc;

use chat_core::{
    Attendance, Call, Event, Floor, MemberView, Reader, Reply, Response, RoomId, RoomSeq, Seq,
    Span, Ticket, Time, UserId, Who,
};
use serde::{Deserialize, Serialize};

use crate::view::View;

/// The context at the instant of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallerContext {
    /// The instant.
    pub at: Time,
    /// The caller; none if the handle is unknown.
    pub me: Option<Me>,
    /// Additional facts for this kind of answer.
    pub more: AnswerFacts,
}

/// A caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Me {
    /// Its names.
    pub who: Arc<Who>,
    /// The live rooms that it is in.
    pub rooms: Vec<RoomLabel>,
    /// Whether it waits in the queue.
    pub is_waiting: bool,
    /// How long it stays present after a call.
    pub silence: Span,
    /// The place after which a bare `check` would continue.
    pub cursor: Seq,
    /// The number of events after it.
    pub unread: u64,
}

/// A room with its label for members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomLabel {
    /// The room.
    pub id: RoomId,
    /// Its kind.
    pub kind: RoomKind,
    /// What the caller needs to speak there.
    pub floor: Floor,
}

/// The kind of a room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RoomKind {
    /// A named room.
    Named(Arc<str>),
    /// A pair room with this partner.
    Pair(Option<Arc<Who>>),
}

/// Additional facts for one kind of answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AnswerFacts {
    /// The answer needs no further facts.
    #[default]
    Nothing,
    /// `enter_queue`: the number of waiters.
    Queue(usize),
    /// `login`: the room's members, and its last messages, oldest first.
    Joined(Box<(Vec<MemberView>, Vec<Arc<Event>>)>),
    /// A message in a named room: no other member is present.
    Alone,
    /// `talking_stick`: the holder, and the caller's draft in that room.
    Stick {
        /// The holder.
        holder: Option<Arc<Who>>,
        /// The draft, if there is one.
        draft: Option<Box<KeptDraft>>,
    },
    /// A stream that opened: the event after which it starts.
    Begins(Seq),
    /// A refusal: why an operator banned the caller's handle.
    Banned(Arc<str>),
    /// `history`: the place before which there may be older messages.
    Before(RoomSeq),
}

/// A draft that the caller has in a room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptDraft {
    /// Its length in characters.
    pub length: u32,
    /// Its last characters.
    pub suffix: Box<str>,
}

/// The secret by which a call identifies its caller, as a hash; an operator has none.
pub(super) const fn reader_of(call: &Call) -> Option<Reader> {
    match call {
        Call::Command { caller, .. } => Some(Reader::Handle(caller.handle())),
        Call::Read { reader, .. } | Call::OpenStream { reader, .. } => Some(*reader),
        Call::Operate { .. } => None,
    }
}

fn find(view: View<'_>, reader: Option<Reader>) -> Option<UserId> {
    match reader? {
        Reader::Handle(hash) => view.hub.user_by_handle(&hash),
        Reader::ReaderId(hash) => view.hub.user_by_reader(&hash),
    }
}

/// Collects the caller's context for this answer.
pub(super) fn gather<E>(
    view: View<'_>,
    at: Time,
    (ticket, reader): (Ticket, Option<Reader>),
    outcome: &Result<Response, E>,
) -> CallerContext {
    let user = find(view, reader);
    let me = user.and_then(|user| me(view, user));
    let more = match outcome {
        Ok(Response::Done(reply)) => Some(more(view, user, reply)),
        Ok(Response::Streaming) => {
            let begins = view.node.and_then(|node| node.stream_cursor(ticket));
            begins.map(AnswerFacts::Begins)
        }
        Err(_) => match reader {
            Some(Reader::Handle(handle)) => {
                let reason = view.hub.why_banned(&handle);
                reason.map(|reason| AnswerFacts::Banned(Arc::clone(reason)))
            }
            Some(Reader::ReaderId(_)) | None => None,
        },
        Ok(Response::Read(_)) => None,
    };
    let more = more.unwrap_or_default();
    CallerContext { at, me, more }
}

fn me(view: View<'_>, user: UserId) -> Option<Me> {
    let hub = view.hub;
    let (cursor, unread) = view.unread(user)?;
    let label = |room: &RoomId| {
        let floor = hub.floor_of(user, *room)?;
        let kind = match hub.room_name(*room) {
            Some(name) => RoomKind::Named(name.into()),
            None => {
                let partner = hub.members_of(*room).find(|member| *member != user);
                RoomKind::Pair(partner.and_then(|partner| hub.who_is(partner).cloned()))
            }
        };
        Some(RoomLabel {
            id: *room,
            kind,
            floor,
        })
    };
    Some(Me {
        who: Arc::clone(hub.who_is(user)?),
        rooms: hub.rooms_of(user).iter().filter_map(label).collect(),
        is_waiting: hub.is_waiting(user),
        silence: hub.stays_present(user),
        cursor,
        unread,
    })
}

/// The most messages that a `login` shows, and the most bytes of their texts.
const LAST_SAID: (usize, usize) = (5, 2_000);

/// The last messages of a room for one that joins.
fn last_said(view: View<'_>, user: UserId, room: RoomId) -> Vec<Arc<Event>> {
    let (most, mut bytes) = LAST_SAID;
    let (mut messages, _) = view.hub.read_history(user, room, None, most);
    let fits = |event: &&Arc<Event>| {
        let length = event.body.message().map_or(0, |(_, text)| text.len());
        bytes.checked_sub(length).map(|left| bytes = left).is_some()
    };
    let shown = messages.iter().rev().take_while(fits).count();
    messages.drain(..messages.len() - shown);
    messages
}

fn more(view: View<'_>, user: Option<UserId>, reply: &Reply) -> AnswerFacts {
    let hub = view.hub;
    match reply {
        Reply::Waiting { .. } => AnswerFacts::Queue(hub.counts().waiting),
        Reply::LoggedIn { room, .. } => {
            let user = user.filter(|user| hub.rooms_of(*user).contains(room));
            let joined = user.map(|user| (hub.read_members(*room), last_said(view, user, *room)));
            AnswerFacts::Joined(Box::new(joined.unwrap_or_default()))
        }
        Reply::Sent { room, .. } if hub.room_name(*room).is_some() => {
            let mut others = hub.members_of(*room).filter(|member| Some(*member) != user);
            let is_there = |other| hub.presence_of(other) != Some(Attendance::Away);
            match others.any(is_there) {
                true => AnswerFacts::Nothing,
                false => AnswerFacts::Alone,
            }
        }
        Reply::Stick { holder, room, .. } => {
            let draft = user.and_then(|user| hub.draft_of(user, *room));
            AnswerFacts::Stick {
                holder: hub.who_is(*holder).cloned(),
                draft: draft.map(|(length, suffix)| {
                    let suffix = suffix.into();
                    Box::new(KeptDraft { length, suffix })
                }),
            }
        }
        Reply::Matched { .. }
        | Reply::LeftQueue { .. }
        | Reply::Sent { .. }
        | Reply::LeftChat
        | Reply::Draft { .. }
        | Reply::OnBreak { .. }
        | Reply::Done
        | Reply::Lifted { .. } => AnswerFacts::Nothing,
    }
}
