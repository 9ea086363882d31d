//! Lists in answers: past messages, members, and notices.

use std::borrow::Cow;
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
pub(super) struct PastJson<'a> {
    room_seq: Option<u64>,
    #[serde(borrow)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow)]
    sender: Option<WhoJson<'a>>,
    #[serde(borrow)]
    message: Cow<'a, str>,
    epoch: Option<u64>,
}

/// A member of a room in JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MemberJson<'a> {
    #[serde(borrow)]
    user_id: Cow<'a, str>,
    #[serde(borrow)]
    display_name: Cow<'a, str>,
    #[serde(borrow)]
    presence: Cow<'a, str>,
    #[serde(borrow)]
    since: Option<Cow<'a, str>>,
}

/// A notice in JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NoticeJson<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow)]
    room_id: Cow<'a, str>,
    #[serde(borrow)]
    user: WhoJson<'a>,
    waited_seconds: Option<u64>,
}

impl Reader<'_> {
    /// The messages of a history. Messages without a place or a sender are skipped.
    pub(super) fn messages(&self, room: Room, json: &ReplyJson<'_>) -> Vec<Arc<Event>> {
        let message = |past: &PastJson<'_>| {
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
    pub(super) fn members(&self, json: &ReplyJson<'_>) -> Vec<Member> {
        let member = |member: &MemberJson<'_>| {
            let who = WhoJson {
                user_id: Cow::Borrowed(&*member.user_id),
                display_name: Cow::Borrowed(&*member.display_name),
            };
            Some(Member {
                who: self.names.who(&who),
                since: self.time(member.since.as_deref()),
                presence: attendance(&member.presence)?,
            })
        };
        json.users.iter().flatten().filter_map(member).collect()
    }

    /// The notices. Notices of an unknown kind are skipped.
    pub(super) fn notices(&self, json: &ReplyJson<'_>) -> Vec<(Room, Notice)> {
        let notice = |notice: &NoticeJson<'_>| {
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
