//! Events and notices on the wire.

use chat_core::{
    Body, EndReason, Gap, Item, LostRange, Membership, NoticeKind, Page, RoomId, Seq, StickLoss,
    UserId,
};
use serde::Serialize;

use super::{User, timestamp};

/// An event of an inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Its place in the inbox, which is also its cursor.
    pub seq: u64,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Its instant; a gap has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// Its room; a gap may concern several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_id: Option<String>,
    /// Its place in the room's order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_seq: Option<u64>,
    /// The fields of its type.
    #[serde(flatten)]
    pub payload: Payload,
}

/// The fields of each type of event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[expect(
    missing_docs,
    reason = "each field is the one of that name on the wire"
)]
pub enum Payload {
    Partner {
        partner: User,
    },
    Message {
        message_id: String,
        sender: User,
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        epoch: Option<u64>,
    },
    Reason {
        reason: String,
    },
    User {
        user: User,
    },
    Claimed {
        user: User,
        place: u32,
    },
    Granted {
        user: User,
        epoch: u64,
        lease_seconds: u64,
    },
    Ended {
        user: User,
        epoch: u64,
    },
    Moderated {
        user: User,
        reason: String,
    },
    Gap {
        from_seq: u64,
        to_seq: u64,
        lost: u64,
        rooms: Vec<Lost>,
        rooms_omitted: bool,
    },
}

/// The part of a gap that concerns one room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// The room.
    pub room_id: String,
    /// A lower bound: no event of the room before this place was dropped.
    pub from_room_seq: u64,
    /// The room's last dropped event.
    pub to_room_seq: u64,
    /// The number of dropped messages; 0 unless the last of them lies within this gap.
    pub messages: u64,
    /// The last change of the reader's own membership: `joined`, `left` or `kicked`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub you: Option<&'static str>,
    /// Whether another member joined, left, went away or came back.
    pub members_changed: bool,
    /// The last change of the reader's own stick: `granted`, `released` or `expired`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stick: Option<&'static str>,
    /// The epoch of that grant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// Whether the stick was granted to, released by or taken from another member.
    pub stick_changed: bool,
    /// Why the room ended, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<&'static str>,
}

/// A transient notice: it has no place, and only the latest counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// Its type: `user.typing` or `user.waiting`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Its instant.
    pub timestamp: String,
    /// The room.
    pub room_id: String,
    /// The sender.
    pub user: User,
    /// How long the sender has been waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_seconds: Option<u64>,
}

/// A page of the inbox of `reader`: its events and gaps.
#[must_use]
pub fn events(page: &Page, reader: UserId) -> Vec<Event> {
    let items = page.items().map(|item| match item {
        Item::Gap(lost) => gap(lost),
        Item::Event(seq, event) => one(event, seq, reader),
    });
    items.collect()
}

fn gap(gap: &Gap) -> Event {
    Event {
        seq: gap.to.0,
        kind: "gap",
        timestamp: None,
        room_id: None,
        room_seq: None,
        payload: Payload::Gap {
            from_seq: gap.from.0,
            to_seq: gap.to.0,
            lost: gap.to.0 + 1 - gap.from.0,
            rooms: gap.rooms.iter().map(lost).collect(),
            rooms_omitted: gap.rooms_omitted,
        },
    }
}

fn lost(range: &LostRange) -> Lost {
    Lost {
        room_id: range.room.to_string(),
        from_room_seq: range.from.0,
        to_room_seq: range.to.0,
        messages: range.messages,
        you: range.you.map(Membership::as_str),
        members_changed: range.members_changed,
        stick: range.stick.map(StickLoss::as_str),
        epoch: range.stick.map(|loss| loss.epoch().0),
        stick_changed: range.stick_changed,
        ended: range.ended.map(EndReason::as_str),
    }
}

fn one(event: &chat_core::Event, seq: Seq, reader: UserId) -> Event {
    Event {
        seq: seq.0,
        kind: event.kind(),
        timestamp: Some(timestamp(event.at)),
        room_id: Some(event.room.to_string()),
        room_seq: Some(event.room_seq.0),
        payload: payload(event, reader),
    }
}

/// The event's fields for its reader.
pub(super) fn payload(event: &chat_core::Event, reader: UserId) -> Payload {
    let user = |who: &chat_core::Who| User::seen_by(who, reader);
    match &event.body {
        Body::Found([a, b]) => Payload::Partner {
            partner: user(if a.id == reader { b } else { a }),
        },
        Body::PartnerAway(who) | Body::PartnerReconnected(who) => {
            Payload::Partner { partner: user(who) }
        }
        Body::Message {
            sender,
            text,
            epoch,
        } => Payload::Message {
            message_id: event.message_id().to_string(),
            sender: user(sender),
            message: text.to_string(),
            epoch: epoch.map(|epoch| epoch.0),
        },
        Body::PartnerDisconnected(reason) => Payload::Reason {
            reason: reason.as_str().into(),
        },
        Body::Closed { reason } => Payload::Reason {
            reason: reason.to_string(),
        },
        Body::Joined(who) | Body::Left(who) | Body::Away(who) | Body::Back(who) => {
            Payload::User { user: user(who) }
        }
        Body::StickClaimed { user: who, place } => Payload::Claimed {
            user: user(who),
            place: *place,
        },
        Body::StickGranted {
            user: who,
            epoch,
            lease,
        } => Payload::Granted {
            user: user(who),
            epoch: epoch.0,
            lease_seconds: lease.as_secs_ceil(),
        },
        Body::StickReleased { user: who, epoch } | Body::StickExpired { user: who, epoch } => {
            Payload::Ended {
                user: user(who),
                epoch: epoch.0,
            }
        }
        Body::Muted { user: who, reason } | Body::Kicked { user: who, reason } => {
            Payload::Moderated {
                user: user(who),
                reason: reason.to_string(),
            }
        }
    }
}

/// A notice as its reader sees it.
#[must_use]
pub fn notice(room: RoomId, notice: &chat_core::Notice) -> Notice {
    let (kind, waited) = match notice.kind {
        NoticeKind::Typing => ("user.typing", None),
        NoticeKind::Waiting(span) => ("user.waiting", Some(span.as_secs())),
    };
    Notice {
        kind,
        timestamp: timestamp(notice.at),
        room_id: room.to_string(),
        user: User::from(&*notice.user),
        waited_seconds: waited,
    }
}

/// The notices that a reader is shown.
#[must_use]
pub fn notices(all: &[(RoomId, chat_core::Notice)]) -> Vec<Notice> {
    all.iter().map(|(room, one)| notice(*room, one)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use chat_core::{Epoch, Event as CoreEvent, RoomSeq, Time, Who};
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
        let event = CoreEvent {
            room: RoomId(3),
            room_seq: RoomSeq(4),
            at: Time(0),
            body,
        };
        serde_json::to_value(one(&event, Seq(9), UserId(1))).unwrap()
    }

    #[test]
    fn a_message_says_who_where_and_under_which_grant() {
        let body = Body::Message {
            sender: who(2, "Ben"),
            text: "hi".into(),
            epoch: Some(Epoch(7)),
        };
        let expected = json!({
            "seq": 9, "type": "message.received", "timestamp": "1970-01-01T00:00:00.000Z",
            "room_id": "room_3", "room_seq": 4, "message_id": "msg_3_4", "message": "hi",
            "sender": { "user_id": "user_2", "display_name": "Ben" }, "epoch": 7
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
            you: None,
            members_changed: false,
            stick: None,
            stick_changed: false,
            ended: None,
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
        let shown = events(&page, UserId(1));
        let places: Vec<_> = shown.iter().map(|event| (event.seq, event.kind)).collect();
        assert_eq!(places, [(3, "user.left"), (6, "gap"), (7, "user.left")]);
        let shown = serde_json::to_value(&shown[1]).unwrap();
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
