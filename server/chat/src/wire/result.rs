//! Results on the wire, for all transports: written from the core's answers and the caller's context.

use std::sync::Arc;

use chat_core::{
    Answer, BreakKind, Epoch, Event, MemberView, MessageId, Reply, Response, RoomId, RoomSeq, Span,
    Time, UserId, WasWaiting,
};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use server_storage::history::QueryWords;

use super::event::{SeenNotice, SeenPast, events, optional};
use super::outcome::{CallOutcome, Done};
use super::{User, public_id, timestamp};
use crate::break_words::spoken;
use crate::driver::{AnswerFacts, RoomKind, RoomLabel};
use crate::identity::{Handle, ReaderId};
use crate::tools::Tool;

/// A member of a room.
#[derive(Serialize)]
struct Member {
    #[serde(flatten)]
    user: User,
    /// `present`, `reconnecting` or `away`.
    presence: &'static str,
    /// The instant at which it joined.
    since: String,
    /// The place in the room up to which it has read.
    read_to: RoomSeq,
}

/// Messages of the past, as their reader sees them. Those of several rooms say of which they are.
pub fn past<'a>(
    messages: &'a [Arc<Event>],
    reader: UserId,
    names_rooms: bool,
) -> Vec<SeenPast<'a>> {
    let seen = |event: &'a Arc<Event>| SeenPast {
        event,
        reader,
        room: names_rooms.then_some(event.room),
    };
    messages.iter().map(seen).collect()
}

impl Serialize for CallOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.result {
            Ok(done) => {
                match done {
                    Done::Answered(Response::Done(reply)) => self.write_reply(reply, &mut map)?,
                    Done::Answered(Response::Read(answer)) => self.write_read(answer, &mut map)?,
                    Done::Answered(Response::Streaming) => success(&mut map)?,
                    Done::Found {
                        found,
                        query,
                        before,
                    } => {
                        let messages = past(&found.messages, self.reads(), true);
                        map.serialize_entry("messages", &messages)?;
                        map.serialize_entry("more", &before.is_some())?;
                        optional(&mut map, "before", before.as_deref())?;
                        optional(&mut map, "since", found.since.map(timestamp))?;
                        optional(&mut map, "searched", QueryWords::left_of(query))?;
                    }
                }
                if let Some(heard) = &self.heard {
                    self.write_read(heard, &mut map)?;
                }
                map.serialize_entry("unread", &self.unread())?;
            }
            Err(refusal) => map.serialize_entry("error", refusal)?,
        }
        map.end()
    }
}

fn success<M: SerializeMap>(map: &mut M) -> Result<(), M::Error> {
    map.serialize_entry("success", &true)
}

impl CallOutcome {
    /// The participant that reads the answer.
    pub(crate) fn reads(&self) -> UserId {
        self.me().map_or(UserId(0), |me| me.who.id)
    }

    /// The number of events of the caller's inbox that no answer has carried yet.
    pub(crate) fn unread(&self) -> u64 {
        // The node's cursor may lie past this answer, or before it if the caller named an older place.
        // Only what follows the answer counts.
        let unread = || self.me().map_or(0, |me| me.unread);
        self.page().map_or_else(unread, |page| page.unread)
    }

    /// A room that the caller is in.
    pub(crate) fn room(&self, room: RoomId) -> Option<&RoomLabel> {
        let mut rooms = self.me().into_iter().flat_map(|me| &me.rooms);
        rooms.find(|label| label.id == room)
    }

    /// The name of a room that the caller is in.
    pub(crate) fn room_name(&self, room: RoomId) -> &str {
        match self.room(room).map(|label| &label.kind) {
            Some(RoomKind::Named(name)) => name,
            Some(RoomKind::Pair(_)) | None => "",
        }
    }

    /// The part of a list of members to show, in ascending number, and the place after which the next
    /// part begins, unless this is the last one.
    pub(crate) fn part_of<'a>(&self, all: &'a [MemberView]) -> (&'a [MemberView], Option<u64>) {
        let number = |view: &MemberView| view.who.id.0;
        let after = self.part.after.unwrap_or_default();
        let begin = all.partition_point(|view| number(view) <= after);
        let rest = &all[begin..];
        let shown = &rest[..self.part.limit.min(rest.len())];
        let is_more = shown.len() < rest.len();
        (shown, shown.last().filter(|_| is_more).map(number))
    }

    /// The members of the room that the caller joined, and its last messages.
    pub(crate) fn joined(&self) -> (&[MemberView], &[Arc<Event>]) {
        if let AnswerFacts::Joined(joined) = &self.context.more {
            return (&joined.0, &joined.1);
        }
        (&[], &[])
    }

    fn write_members<M: SerializeMap>(
        &self,
        all: &[MemberView],
        map: &mut M,
    ) -> Result<(), M::Error> {
        let (shown, next) = self.part_of(all);
        let members = shown.iter().map(|member| Member {
            user: User::seen_by(&member.who, self.reads()),
            presence: member.presence.name(),
            since: timestamp(member.since),
            read_to: member.read_to,
        });
        map.serialize_entry("users", &members.collect::<Vec<_>>())?;
        optional(map, "next", next)
    }

    fn write_credentials<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let who = self.me().map(|me| &*me.who);
        let handle = self.caller.as_ref().map(Handle::expose);
        map.serialize_entry("handle", handle.unwrap_or_default())?;
        map.serialize_entry("user_id", &who.map(public_id).unwrap_or_default())?;
        map.serialize_entry("display_name", who.map_or("", |who| &who.name))?;
        let inbox_uri = self.reader.as_ref().map(ReaderId::inbox_uri);
        map.serialize_entry("inbox_uri", &inbox_uri.unwrap_or_default())
    }

    fn write_reply<M: SerializeMap>(&self, reply: &Reply, map: &mut M) -> Result<(), M::Error> {
        match reply {
            Reply::Waiting {
                position,
                estimated_wait,
                ..
            } => {
                map.serialize_entry("status", "waiting")?;
                self.write_credentials(map)?;
                map.serialize_entry("position", position)?;
                if let AnswerFacts::Queue(length) = self.context.more {
                    map.serialize_entry("queue_length", &length)?;
                }
                let wait = estimated_wait.map(Span::as_secs_ceil);
                map.serialize_entry("estimated_wait_seconds", &wait)
            }
            Reply::Matched { room, partner, .. } => {
                map.serialize_entry("status", "matched")?;
                self.write_credentials(map)?;
                map.serialize_entry("room_id", room)?;
                map.serialize_entry("partner", &User::from(&**partner))
            }
            Reply::LeftQueue { left } => map.serialize_entry("left", &(*left == WasWaiting::Yes)),
            Reply::LoggedIn { room, .. } => self.write_login(*room, map),
            Reply::Sent {
                room,
                room_seq,
                at,
                turns_left,
            } => {
                success(map)?;
                optional(map, "status", (self.tool == Tool::Speak).then_some("sent"))?;
                let id = MessageId(*room, *room_seq).to_string();
                map.serialize_entry("message_id", &id)?;
                map.serialize_entry("room_id", room)?;
                map.serialize_entry("room_seq", room_seq)?;
                map.serialize_entry("timestamp", &timestamp(*at))?;
                optional(map, "turns_left", *turns_left)?;
                let is_alone = self.context.more == AnswerFacts::Alone;
                optional(map, "alone", is_alone.then_some(true))
            }
            Reply::Stick {
                room,
                place,
                epoch,
                lease_until,
                ..
            } => self.write_stick((*room, *place, *epoch), *lease_until, map),
            Reply::Draft {
                length,
                cut,
                suffix,
            } => {
                map.serialize_entry("draft_length", length)?;
                map.serialize_entry("truncated", cut)?;
                optional(map, "draft_suffix", suffix.as_deref())
            }
            Reply::OnBreak {
                kind,
                stress,
                boss_alert,
                flavour,
                ..
            } => self.write_break(*kind, *flavour, (*stress, *boss_alert), map),
            Reply::LeftChat | Reply::Done | Reply::Lifted { .. } => success(map),
        }
    }

    fn write_login<M: SerializeMap>(&self, room: RoomId, map: &mut M) -> Result<(), M::Error> {
        self.write_credentials(map)?;
        map.serialize_entry("room_id", &room)?;
        map.serialize_entry("room", self.room_name(room))?;
        let (members, messages) = self.joined();
        self.write_members(members, map)?;
        let messages = past(messages, self.reads(), false);
        optional(map, "messages", (!messages.is_empty()).then_some(messages))
    }

    fn write_stick<M: SerializeMap>(
        &self,
        (room, place, epoch): (RoomId, u32, Epoch),
        lease_until: Time,
        map: &mut M,
    ) -> Result<(), M::Error> {
        if self.has_spoken(room, epoch) {
            map.serialize_entry("status", "sent")?;
            return map.serialize_entry("room_id", &room);
        }
        let status = if place == 0 { "granted" } else { "waiting" };
        map.serialize_entry("status", status)?;
        map.serialize_entry("room_id", &room)?;
        map.serialize_entry("place", &place)?;
        map.serialize_entry("epoch", &epoch)?;
        let (holder, draft) = self.stick();
        let holder = holder.map(|who| User::seen_by(who, self.reads()));
        map.serialize_entry("holder", &holder)?;
        let seconds = self.seconds_until(lease_until);
        map.serialize_entry("lease_expires_in_seconds", &seconds)?;
        optional(map, "draft_length", draft.map(|draft| draft.length))?;
        optional(map, "draft_suffix", draft.map(|draft| &*draft.suffix))
    }

    fn write_break<M: SerializeMap>(
        &self,
        kind: BreakKind,
        flavour: u32,
        levels: (u8, u8),
        map: &mut M,
    ) -> Result<(), M::Error> {
        if self.is_newcomer {
            self.write_credentials(map)?;
        }
        let words = spoken(kind, flavour, self.own_words.as_deref());
        map.serialize_entry("message", &words.message)?;
        map.serialize_entry("break_summary", words.summary)?;
        write_mood(map, levels)
    }

    fn write_read<M: SerializeMap>(&self, answer: &Answer, map: &mut M) -> Result<(), M::Error> {
        match answer {
            Answer::Page { page, notices } => {
                let shown: Vec<_> = events(page, self.reads()).collect();
                map.serialize_entry("events", &shown)?;
                let shown = notices.iter().map(|(room, one)| SeenNotice(*room, one));
                map.serialize_entry("notices", &shown.collect::<Vec<_>>())?;
                map.serialize_entry("cursor", &page.cursor)?;
                map.serialize_entry("more", &(page.unread > 0))?;
                let rooms = self.me().into_iter().flat_map(|me| &me.rooms);
                let rooms: Vec<_> = rooms.map(|room| room.id).collect();
                map.serialize_entry("rooms", &rooms)
            }
            Answer::Members { room, members } => {
                map.serialize_entry("room_id", room)?;
                self.write_members(members, map)
            }
            Answer::History {
                room,
                messages,
                more,
            } => {
                map.serialize_entry("room_id", room)?;
                map.serialize_entry("messages", &past(messages, self.reads(), false))?;
                map.serialize_entry("more", more)?;
                optional(map, "before", self.before())
            }
            Answer::Mood { stress, boss_alert } => write_mood(map, (*stress, *boss_alert)),
        }
    }
}

fn write_mood<M: SerializeMap>(map: &mut M, (stress, boss): (u8, u8)) -> Result<(), M::Error> {
    map.serialize_entry("stress_level", &stress)?;
    map.serialize_entry("boss_alert_level", &boss)
}
