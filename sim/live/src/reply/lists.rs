//! Lists in answers: past messages, members, and notices.

use std::sync::Arc;

use chat_types::{RoomSeq, Span};
use serde::Deserialize;

use super::{Reader, ReplyJson};
use crate::event::said;
use crate::names::WhoJson;
use sim_model::protocol::{Attendance, Body, Epoch, Event, Member, Notice, NoticeKind, Room};

/// A message of a room's history in JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PastJson {
    room_seq: Option<u64>,
    timestamp: Option<Box<str>>,
    sender: Option<WhoJson>,
    message: Box<str>,
    epoch: Option<u64>,
}

/// A member of a room in JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MemberJson {
    #[serde(flatten)]
    who: WhoJson,
    presence: Box<str>,
    since: Option<Box<str>>,
}

/// A notice in JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NoticeJson {
    #[serde(rename = "type")]
    kind: Box<str>,
    timestamp: Option<Box<str>>,
    room_id: Box<str>,
    user: WhoJson,
    waited_seconds: Option<u64>,
}

impl Reader<'_> {
    /// The messages of a history. Messages without a place or a sender are skipped.
    pub(super) fn messages(&self, room: Room, json: &ReplyJson) -> Vec<Arc<Event>> {
        let message = |past: &PastJson| {
            let sender = past.sender.as_ref()?;
            Some(Arc::new(Event {
                room,
                room_seq: RoomSeq(past.room_seq?),
                at: self.time(past.timestamp.as_deref()),
                body: Body::Message {
                    sender: self.names.who(sender),
                    text: said(&past.message).into(),
                    epoch: past.epoch.map(Epoch),
                },
            }))
        };
        json.messages.iter().flatten().filter_map(message).collect()
    }

    /// The members of a room. Members with an unknown presence are skipped.
    pub(super) fn members(&self, json: &ReplyJson) -> Vec<Member> {
        let member = |member: &MemberJson| {
            Some(Member {
                who: self.names.who(&member.who),
                since: self.time(member.since.as_deref()),
                presence: attendance(&member.presence)?,
            })
        };
        json.users.iter().flatten().filter_map(member).collect()
    }

    /// The notices. Notices of an unknown kind are skipped.
    pub(super) fn notices(&self, json: &ReplyJson) -> Vec<(Room, Notice)> {
        let notice = |notice: &NoticeJson| {
            let room = self.names.room(&notice.room_id);
            let notice = Notice {
                user: self.names.who(&notice.user),
                kind: match &*notice.kind {
                    "user.typing" => NoticeKind::Typing,
                    "user.waiting" => NoticeKind::Waiting(Span::secs(notice.waited_seconds?)),
                    _ => return None,
                },
                at: self.time(notice.timestamp.as_deref()),
            };
            Some((room, notice))
        };
        json.notices.iter().flatten().filter_map(notice).collect()
    }
}

fn attendance(word: &str) -> Option<Attendance> {
    Some(match word {
        "present" => Attendance::Present,
        "reconnecting" => Attendance::Reconnecting,
        "away" => Attendance::Away,
        _ => return None,
    })
}
