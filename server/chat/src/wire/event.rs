//! Events and notices on the wire: the core's own, written as their reader sees them.

use std::sync::Arc;

use chat_core::{
    Body, EndReason, Item, LostRange, Membership, NoticeKind, Page, RoomId, Seq, StickLoss, UserId,
};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{User, timestamp};

/// Writes a field that is left out if there is no value.
pub(super) fn optional<M: SerializeMap>(
    map: &mut M,
    name: &'static str,
    value: Option<impl Serialize>,
) -> Result<(), M::Error> {
    match value {
        Some(value) => map.serialize_entry(name, &value),
        None => Ok(()),
    }
}

/// An event of an inbox, or a gap, as its reader sees it.
#[derive(Clone, Copy, Debug)]
pub struct SeenItem<'a> {
    item: Item<'a>,
    reader: UserId,
}

impl SeenItem<'_> {
    /// Its place in the inbox, which is also its cursor.
    #[must_use]
    pub const fn seq(&self) -> Seq {
        match self.item {
            Item::Gap(gap) => gap.to,
            Item::Event(seq, _) => seq,
        }
    }

    /// Its type.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.item {
            Item::Gap(_) => "gap",
            Item::Event(_, event) => event.kind(),
        }
    }
}

impl Serialize for SeenItem<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("seq", &self.seq())?;
        map.serialize_entry("type", self.kind())?;
        match self.item {
            Item::Gap(gap) => {
                map.serialize_entry("from_seq", &gap.from)?;
                map.serialize_entry("to_seq", &gap.to)?;
                map.serialize_entry("lost", &gap.lost())?;
                let rooms: Vec<_> = gap.rooms.iter().map(Lost).collect();
                map.serialize_entry("rooms", &rooms)?;
                map.serialize_entry("rooms_omitted", &gap.rooms_omitted)?;
            }
            Item::Event(_, event) => {
                map.serialize_entry("timestamp", &timestamp(event.at))?;
                map.serialize_entry("room_id", &event.room)?;
                map.serialize_entry("room_seq", &event.room_seq)?;
                write_body(&mut map, event, self.reader)?;
            }
        }
        map.end()
    }
}

/// The part of a gap that concerns one room.
struct Lost<'a>(&'a LostRange);

impl Serialize for Lost<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("room_id", &self.0.room)?;
        map.serialize_entry("from_room_seq", &self.0.from)?;
        map.serialize_entry("to_room_seq", &self.0.to)?;
        map.serialize_entry("messages", &self.0.messages)?;
        optional(&mut map, "you", self.0.you.map(Membership::name))?;
        map.serialize_entry("members_changed", &self.0.members_changed)?;
        optional(&mut map, "stick", self.0.stick.map(StickLoss::name))?;
        optional(&mut map, "epoch", self.0.stick.map(|loss| loss.epoch()))?;
        map.serialize_entry("stick_changed", &self.0.stick_changed)?;
        optional(&mut map, "ended", self.0.ended.map(EndReason::name))?;
        map.end()
    }
}

/// A transient notice: it has no place, and only the latest counts.
#[derive(Clone, Copy, Debug)]
pub struct SeenNotice<'a>(pub RoomId, pub &'a chat_core::Notice);

impl SeenNotice<'_> {
    /// Its type: `user.typing` or `user.waiting`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self.1.kind {
            NoticeKind::Typing => "user.typing",
            NoticeKind::Waiting(_) => "user.waiting",
        }
    }
}

impl Serialize for SeenNotice<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(room, notice) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.kind())?;
        map.serialize_entry("timestamp", &timestamp(notice.at))?;
        map.serialize_entry("room_id", room)?;
        map.serialize_entry("user", &User::from(&*notice.user))?;
        if let NoticeKind::Waiting(span) = notice.kind {
            map.serialize_entry("waited_seconds", &span.as_secs())?;
        }
        map.end()
    }
}

/// A page of the inbox of `reader`: its events and gaps.
pub fn events(page: &Page, reader: UserId) -> impl Iterator<Item = SeenItem<'_>> {
    page.items().map(move |item| SeenItem { item, reader })
}

/// Writes the fields of the event's type.
fn write_body<M: SerializeMap>(
    map: &mut M,
    event: &chat_core::Event,
    reader: UserId,
) -> Result<(), M::Error> {
    let who = if matches!(event.body, Body::Message { .. }) {
        map.serialize_entry("message_id", &event.message_id().to_string())?;
        "sender"
    } else if let Body::Found(_) | Body::PartnerAway(_) | Body::PartnerReconnected(_) = event.body {
        "partner"
    } else {
        "user"
    };
    let about = event.about(reader);
    optional(map, who, about.map(|about| User::seen_by(about, reader)))?;
    match &event.body {
        Body::Message {
            text, epoch, to, ..
        } => {
            let to = to.iter().map(|who| User::seen_by(who, reader));
            let to: Vec<_> = to.collect();
            optional(map, "to", Some(to).filter(|to| !to.is_empty()))?;
            map.serialize_entry("message", &**text)?;
            optional(map, "epoch", *epoch)
        }
        Body::StickClaimed { place, .. } => map.serialize_entry("place", place),
        Body::StickGranted { epoch, lease, .. } => {
            map.serialize_entry("epoch", epoch)?;
            map.serialize_entry("lease_seconds", &lease.as_secs_ceil())
        }
        Body::StickReleased { epoch, .. } | Body::StickExpired { epoch, .. } => {
            map.serialize_entry("epoch", epoch)
        }
        Body::PartnerDisconnected(reason) => map.serialize_entry("reason", reason.name()),
        Body::Muted { reason, .. } | Body::Kicked { reason, .. } | Body::Closed { reason } => {
            map.serialize_entry("reason", &**reason)
        }
        Body::Found(_)
        | Body::PartnerAway(_)
        | Body::PartnerReconnected(_)
        | Body::Joined(_)
        | Body::Left(_)
        | Body::Away(_)
        | Body::Back(_) => Ok(()),
    }
}

/// A message of the past, as its reader sees it.
#[derive(Clone, Debug)]
pub struct SeenPast<'a> {
    /// The message.
    pub event: &'a Arc<chat_core::Event>,
    /// Its reader.
    pub reader: UserId,
    /// The room, unless the list of messages names it.
    pub room: Option<RoomId>,
}

impl Serialize for SeenPast<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        optional(&mut map, "room_id", self.room)?;
        map.serialize_entry("room_seq", &self.event.room_seq)?;
        map.serialize_entry("timestamp", &timestamp(self.event.at))?;
        write_body(&mut map, self.event, self.reader)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use chat_core::{Epoch, Event as CoreEvent, Gap, RoomSeq, Time, Who};
    use serde_json::json;

    use super::*;

    fn who(id: u64, name: &str) -> Arc<Who> {
        Arc::new(Who {
            id: UserId(id),
            chosen_id: None,
            name: name.into(),
        })
    }

    fn shown(body: Body) -> serde_json::Value {
        let event = Arc::new(CoreEvent {
            room: RoomId(3),
            room_seq: RoomSeq(4),
            at: Time(0),
            body,
        });
        let (item, reader) = (Item::Event(Seq(9), &event), UserId(1));
        serde_json::to_value(SeenItem { item, reader }).unwrap()
    }

    #[test]
    fn a_message_says_who_where_and_under_which_grant() {
        let body = Body::Message {
            sender: who(2, "Ben"),
            text: "hi".into(),
            epoch: Some(Epoch(7)),
            to: [who(1, "Ann")].into(),
        };
        let expected = json!({
            "seq": 9, "type": "message.received", "timestamp": "1970-01-01T00:00:00.000Z",
            "room_id": "room_3", "room_seq": 4, "message_id": "msg_3_4", "message": "hi",
            "sender": { "user_id": "user_2", "display_name": "Ben" }, "epoch": 7,
            "to": [{ "user_id": "user_1", "display_name": "Ann", "you": true }]
        });
        assert_eq!(shown(body), expected);
    }

    #[test]
    fn the_partner_is_the_other_one() {
        let found = shown(Body::Found([who(2, "Ben"), who(1, "Ann")]));
        assert_eq!(found["partner"]["display_name"], "Ben");
    }

    #[test]
    fn the_reader_itself_is_you() {
        let granted = |user| {
            let (epoch, lease) = (Epoch(7), chat_core::Span::secs(120));
            shown(Body::StickGranted { user, epoch, lease })["user"].clone()
        };
        let me = json!({ "user_id": "user_1", "display_name": "Ann", "you": true });
        assert_eq!(granted(who(1, "Ann")), me);
        let other = json!({ "user_id": "user_2", "display_name": "Ben" });
        assert_eq!(granted(who(2, "Ben")), other);
    }

    #[test]
    fn a_gap_stands_in_its_place_and_says_what_is_gone() {
        let quiet = LostRange {
            room: RoomId(3),
            from: RoomSeq(1),
            to: RoomSeq(3),
            messages: 2,
            ..LostRange::default()
        };
        let left = Arc::new(CoreEvent {
            room: RoomId(4),
            room_seq: RoomSeq(8),
            at: Time(0),
            body: Body::Left(who(2, "Ben")),
        });
        let page = Page {
            gaps: vec![Gap {
                from: Seq(4),
                to: Seq(6),
                rooms: vec![
                    LostRange {
                        you: Some(Membership::Left),
                        members_changed: true,
                        stick: Some(StickLoss::Expired(Epoch(7))),
                        ..quiet
                    },
                    LostRange {
                        room: RoomId(5),
                        ended: Some(EndReason::TurnLimit),
                        ..quiet
                    },
                ],
                rooms_omitted: true,
            }],
            events: [3, 7].map(|seq| (Seq(seq), Arc::clone(&left))).into(),
            cursor: Seq(7),
            unread: 0,
        };
        let shown: Vec<_> = events(&page, UserId(1)).collect();
        let places: Vec<_> = shown.iter().map(|one| (one.seq().0, one.kind())).collect();
        assert_eq!(places, [(3, "user.left"), (6, "gap"), (7, "user.left")]);
        let shown = serde_json::to_value(shown[1]).unwrap();
        let expected = json!({
            "seq": 6, "type": "gap", "from_seq": 4, "to_seq": 6, "lost": 3,
            "rooms": [
                { "room_id": "room_3", "from_room_seq": 1, "to_room_seq": 3, "messages": 2,
                  "you": "left", "members_changed": true, "stick": "expired", "epoch": 7,
                  "stick_changed": false },
                { "room_id": "room_5", "from_room_seq": 1, "to_room_seq": 3, "messages": 2,
                  "members_changed": false, "stick_changed": false, "ended": "turn_limit" },
            ],
            "rooms_omitted": true
        });
        assert_eq!(shown, expected);
    }
}
