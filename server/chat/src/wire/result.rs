//! Results on the wire, for all transports.

use chat_core::{Answer, Attendance, MessageId, Reply, Response, RoomId, Time, UserId, WasWaiting};
use serde::Serialize;
use server_storage::history::{Past, QueryWords};

use super::break_words::{Spoken, spoken};
use super::event::{Event, Notice, Payload, events, notices, payload};
use super::{User, public_id, timestamp};
use crate::driver::{AnswerFacts, CallerContext, Me, RoomKind};
use crate::identity::{Handle, Secrets};
use crate::tools::MemberPart;

/// The result of an accepted call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Done {
    /// Its content.
    #[serde(flatten)]
    pub said: Said,
    /// The number of events of the caller's inbox that no answer has carried yet.
    pub unread: u64,
}

/// The contents of the tools' results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[expect(
    missing_docs,
    reason = "each field is the one of that name on the wire"
)]
pub enum Said {
    Waiting {
        status: &'static str,
        #[serde(flatten)]
        me: Credentials,
        position: u32,
        queue_length: usize,
        estimated_wait_seconds: Option<u64>,
    },
    Matched {
        status: &'static str,
        #[serde(flatten)]
        me: Credentials,
        room_id: String,
        partner: User,
    },
    LeftQueue {
        left: bool,
    },
    LoggedIn {
        #[serde(flatten)]
        me: Credentials,
        room_id: String,
        /// The room's name, as its opener gave it.
        room: String,
        #[serde(flatten)]
        members: Members,
    },
    Sent {
        success: bool,
        message_id: String,
        room_id: String,
        room_seq: u64,
        timestamp: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        turns_left: Option<u32>,
    },
    Stick {
        status: &'static str,
        room_id: String,
        place: u32,
        epoch: u64,
        holder: Option<User>,
        lease_expires_in_seconds: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        draft_length: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        draft_suffix: Option<String>,
    },
    Draft {
        draft_length: u32,
        truncated: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        draft_suffix: Option<String>,
    },
    Success {
        success: bool,
    },
    Page {
        events: Vec<Event>,
        notices: Vec<Notice>,
        cursor: u64,
        more: bool,
        /// The ids of the rooms that the caller is in.
        rooms: Vec<String>,
    },
    Users {
        room_id: String,
        #[serde(flatten)]
        members: Members,
    },
    History {
        room_id: String,
        messages: Vec<PastMessage>,
        more: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        before: Option<u64>,
    },
    Found {
        messages: Vec<FoundMessage>,
        more: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        before: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        since: Option<String>,
        /// The words that were looked for, if the query has more than letters, digits and blanks.
        #[serde(skip_serializing_if = "Option::is_none")]
        searched: Option<String>,
    },
    OnBreak {
        #[serde(flatten)]
        me: Option<Credentials>,
        message: String,
        break_summary: &'static str,
        stress_level: u8,
        boss_alert_level: u8,
    },
    Mood {
        stress_level: u8,
        boss_alert_level: u8,
    },
}

/// A message of a room's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PastMessage {
    /// Its place in the room's order.
    pub room_seq: u64,
    /// Its instant.
    pub timestamp: String,
    /// Its text and its sender.
    #[serde(flatten)]
    pub payload: Payload,
}

/// A message that a search found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundMessage {
    /// Its room.
    pub room_id: String,
    /// The message.
    #[serde(flatten)]
    pub past: PastMessage,
}

/// The caller's identity, with its secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Credentials {
    /// The secret that identifies the caller.
    pub handle: String,
    /// The public id.
    pub user_id: String,
    /// The display name.
    pub display_name: String,
    /// The address of its inbox as a resource.
    pub inbox_uri: String,
}

/// A part of a room's members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Members {
    /// The members, in ascending number.
    pub users: Vec<Member>,
    /// The place after which the next part begins, unless this is the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// A member of a room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Member {
    /// The member.
    #[serde(flatten)]
    pub user: User,
    /// `present`, `reconnecting` or `away`.
    pub presence: &'static str,
    /// The instant at which it joined.
    pub since: String,
}

impl Member {
    fn seen_by(member: &chat_core::MemberView, reader: UserId) -> Self {
        Self {
            user: User::seen_by(&member.who, reader),
            presence: presence(member.presence),
            since: timestamp(member.since),
        }
    }
}

/// The presence on the wire.
#[must_use]
pub const fn presence(view: Attendance) -> &'static str {
    match view {
        Attendance::Present => "present",
        Attendance::Reconnecting => "reconnecting",
        Attendance::Away => "away",
    }
}

/// The caller's part of a result, as far as the call determines it.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'a> {
    /// The handle of the call, or the minted one.
    pub handle: &'a Handle,
    /// The secrets from which the inbox's address is derived.
    pub secrets: &'a Secrets,
    /// Whether it called without a handle.
    pub newcomer: Newcomer,
    /// Its own words that the result repeats.
    pub own_words: Option<&'a str>,
    /// The part of a member list to show.
    pub part: MemberPart,
}

/// Whether a call registered its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newcomer {
    /// It called without a handle, which the result must contain.
    Yes,
    /// It has a handle.
    No,
}

/// The result of an accepted call.
#[must_use]
pub fn result(response: &Response, context: &CallerContext, facts: CallFacts<'_>) -> Done {
    let mut unread = context.me.as_ref().map_or(0, |me| me.unread);
    let said = match response {
        Response::Done(reply) => done(reply, context, facts),
        Response::Read(answer) => {
            if let Answer::Page { page, .. } = answer {
                // The node's cursor may lie past this answer, or before it if the caller named an
                // older place. Only what follows the answer counts.
                unread = page.unread;
            }
            read(answer, context, facts.part)
        }
        Response::Streaming => Said::Success { success: true },
    };
    Done { said, unread }
}

fn credentials(context: &CallerContext, facts: CallFacts<'_>) -> Credentials {
    let who = context.me.as_ref().map(|me| &*me.who);
    Credentials {
        handle: facts.handle.expose().into(),
        user_id: who.map(public_id).unwrap_or_default(),
        display_name: who.map(|who| who.name.to_string()).unwrap_or_default(),
        inbox_uri: facts.secrets.reader_of(facts.handle).inbox_uri(),
    }
}

/// The name of a room that the caller is in.
fn room_name(context: &CallerContext, room: RoomId) -> String {
    let mut rooms = context.me.iter().flat_map(|me| &me.rooms);
    let found = rooms.find(|label| label.id == room);
    match found.map(|label| &label.kind) {
        Some(RoomKind::Named(name)) => name.to_string(),
        _ => String::new(),
    }
}

/// The credentials of a caller that was registered by this call.
fn minted(context: &CallerContext, facts: CallFacts<'_>) -> Option<Credentials> {
    (facts.newcomer == Newcomer::Yes).then(|| credentials(context, facts))
}

fn done(reply: &Reply, context: &CallerContext, facts: CallFacts<'_>) -> Said {
    let me = || credentials(context, facts);
    match reply {
        Reply::Waiting {
            position,
            estimated_wait,
            ..
        } => Said::Waiting {
            status: "waiting",
            me: me(),
            position: *position,
            queue_length: queue_length(&context.more),
            estimated_wait_seconds: estimated_wait.map(|wait| wait.as_secs_ceil()),
        },
        Reply::Matched { room, partner, .. } => Said::Matched {
            status: "matched",
            me: me(),
            room_id: room.to_string(),
            partner: User::from(&**partner),
        },
        Reply::LeftQueue { left } => Said::LeftQueue {
            left: *left == WasWaiting::Yes,
        },
        Reply::LoggedIn { room, .. } => Said::LoggedIn {
            me: me(),
            room_id: room.to_string(),
            room: room_name(context, *room),
            members: members(context, facts.part),
        },
        Reply::Sent {
            room,
            room_seq,
            at,
            turns_left,
        } => Said::Sent {
            success: true,
            message_id: MessageId(*room, *room_seq).to_string(),
            room_id: room.to_string(),
            room_seq: room_seq.0,
            timestamp: timestamp(*at),
            turns_left: *turns_left,
        },
        Reply::Stick {
            room,
            place,
            epoch,
            lease_until,
            ..
        } => stick(context, *room, *place, epoch.0, *lease_until),
        Reply::Draft {
            length,
            cut,
            suffix,
        } => Said::Draft {
            draft_length: *length,
            truncated: *cut,
            draft_suffix: suffix.as_deref().map(str::to_owned),
        },
        Reply::OnBreak {
            kind,
            stress,
            boss_alert,
            flavour,
            ..
        } => {
            let words = spoken(*kind, *flavour, facts.own_words);
            on_break(words, (*stress, *boss_alert), minted(context, facts))
        }
        Reply::LeftChat | Reply::Done | Reply::Lifted { .. } => Said::Success { success: true },
    }
}

fn on_break(spoken: Spoken, (stress, boss): (u8, u8), me: Option<Credentials>) -> Said {
    Said::OnBreak {
        me,
        message: spoken.message,
        break_summary: spoken.summary,
        stress_level: stress,
        boss_alert_level: boss,
    }
}

fn members(context: &CallerContext, part: MemberPart) -> Members {
    if let AnswerFacts::Members(all) = &context.more {
        return Members::of(all, part, reader(context));
    }
    Members::of(&[], part, reader(context))
}

/// The participant that reads the answer.
fn reader(context: &CallerContext) -> UserId {
    context.me.as_ref().map_or(UserId(0), |me| me.who.id)
}

impl Members {
    /// A part of all members, which come in ascending number.
    fn of(all: &[chat_core::MemberView], part: MemberPart, reader: UserId) -> Self {
        let number = |view: &chat_core::MemberView| view.who.id.0;
        let after = part.after.unwrap_or_default();
        let begin = all.partition_point(|view| number(view) <= after);
        let rest = &all[begin..];
        let shown = &rest[..part.limit.min(rest.len())];
        let is_more = shown.len() < rest.len();
        Self {
            users: shown
                .iter()
                .map(|member| Member::seen_by(member, reader))
                .collect(),
            next: shown.last().filter(|_| is_more).map(number),
        }
    }
}

fn queue_length(more: &AnswerFacts) -> usize {
    if let AnswerFacts::Queue(length) = more {
        return *length;
    }
    0
}

fn stick(context: &CallerContext, room: RoomId, place: u32, epoch: u64, lease_until: Time) -> Said {
    let (holder, draft) = if let AnswerFacts::Stick { holder, draft } = &context.more {
        (holder.as_deref(), draft.as_deref())
    } else {
        (None, None)
    };
    Said::Stick {
        status: if place == 0 { "granted" } else { "waiting" },
        room_id: room.to_string(),
        place,
        epoch,
        holder: holder.map(|who| User::seen_by(who, reader(context))),
        draft_length: draft.map(|draft| draft.length),
        draft_suffix: draft.map(|draft| draft.suffix.to_string()),
        lease_expires_in_seconds: lease_until.since(context.at).as_secs_ceil(),
    }
}

fn read(answer: &Answer, context: &CallerContext, part: MemberPart) -> Said {
    let me = reader(context);
    match answer {
        Answer::Page {
            page,
            notices: said,
        } => Said::Page {
            events: events(page, me),
            notices: notices(said),
            cursor: page.cursor.0,
            more: page.unread > 0,
            rooms: context
                .me
                .iter()
                .flat_map(|me| &me.rooms)
                .map(|room| room.id.to_string())
                .collect(),
        },
        Answer::Members { room, members } => Said::Users {
            room_id: room.to_string(),
            members: Members::of(members, part, me),
        },
        Answer::History {
            room,
            messages,
            more,
        } => {
            let first = messages.first().map(|event| event.room_seq);
            let before = if let AnswerFacts::Before(before) = context.more {
                Some(before)
            } else {
                first
            };
            Said::History {
                room_id: room.to_string(),
                messages: messages.iter().map(|event| past(event, me)).collect(),
                more: *more,
                before: before.filter(|_| *more).map(|before| before.0),
            }
        }
        Answer::Mood { stress, boss_alert } => Said::Mood {
            stress_level: *stress,
            boss_alert_level: *boss_alert,
        },
    }
}

/// The result of a search for this query, with the place before which the next page begins, if there
/// is one.
#[must_use]
pub fn found(found: &Past, query: &str, before: Option<String>, me: Option<&Me>) -> Done {
    let reader = me.map_or(UserId(0), |me| me.who.id);
    let message = |event: &std::sync::Arc<chat_core::Event>| FoundMessage {
        room_id: event.room.to_string(),
        past: past(event, reader),
    };
    let said = Said::Found {
        messages: found.messages.iter().map(message).collect(),
        more: before.is_some(),
        before,
        since: found.since.map(timestamp),
        searched: QueryWords::left_of(query),
    };
    Done {
        said,
        unread: me.map_or(0, |me| me.unread),
    }
}

/// A message of a room's history, as its reader sees it.
#[must_use]
pub fn past(event: &chat_core::Event, reader: UserId) -> PastMessage {
    PastMessage {
        room_seq: event.room_seq.0,
        timestamp: timestamp(event.at),
        payload: payload(event, reader),
    }
}
