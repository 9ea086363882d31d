//! Events of an inbox: from servers' JSON to clients' words.

use chat_types::{Epoch, RoomSeq, Span, Time};
use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;

use super::clock::{Clock, timestamp};
use super::names::{Names, WhoJson};
use sim_model::protocol::{
    EndReason, InboxEvent, LostRange, Membership, Moderated, Presence, Room, Shown, StickChange,
    StickLoss, User,
};

/// An event in JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct EventJson<'a> {
    seq: Option<u64>,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow)]
    room_id: Option<Cow<'a, str>>,
    room_seq: Option<u64>,
    #[serde(borrow)]
    partner: Option<WhoJson<'a>>,
    #[serde(borrow)]
    sender: Option<WhoJson<'a>>,
    #[serde(borrow)]
    user: Option<WhoJson<'a>>,
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
    epoch: Option<u64>,
    #[serde(borrow)]
    reason: Option<Cow<'a, str>>,
    place: Option<u32>,
    lease_seconds: Option<u64>,
    from_seq: Option<u64>,
    to_seq: Option<u64>,
    lost: Option<u64>,
    #[serde(borrow)]
    rooms: Vec<LostJson<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LostJson<'a> {
    #[serde(borrow)]
    room_id: Cow<'a, str>,
    from_room_seq: u64,
    to_room_seq: u64,
    messages: u64,
    #[serde(borrow)]
    you: Option<Cow<'a, str>>,
    members_changed: bool,
    #[serde(borrow)]
    stick: Option<Cow<'a, str>>,
    epoch: u64,
    stick_changed: bool,
    #[serde(borrow)]
    ended: Option<Cow<'a, str>>,
}

/// An event for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// Its place in the inbox.
    pub(super) seq: u64,
    /// The server's timestamp; none if there is none.
    pub(super) sent_at: Option<Time>,
    /// All parts without references.
    shape: InboxEvent<'static>,
    text: Box<str>,
    reason: Box<str>,
    /// The named participant.
    shown: Shown<Arc<str>>,
    rooms: Box<[LostRange]>,
}

impl Event {
    /// Parses an event. Notices have no place in the inbox, and give none.
    pub(super) fn read(json: &EventJson<'_>, names: &Names, clock: &Clock) -> Option<Self> {
        let seq = json.seq?;
        let at = json.timestamp.as_deref().and_then(timestamp);
        let rooms = json.rooms.iter().map(|lost| lost_range(lost, names));
        Some(Self {
            seq,
            sent_at: at.map(|at| clock.of_server(at)),
            // Of an event of an unknown kind only the place is known: it counts as a gap.
            shape: shape(json, names).unwrap_or(InboxEvent::Gap {
                from: seq,
                to: seq,
                lost: 1,
                rooms: &[],
            }),
            text: said(json.message.as_deref().unwrap_or_default()).into(),
            reason: json.reason.as_deref().unwrap_or_default().into(),
            shown: json.who().map(|who| names.shown(who)).unwrap_or_default(),
            rooms: rooms.collect(),
        })
    }

    /// The event as the client sees it.
    pub(super) fn inbox_event(&self) -> InboxEvent<'_> {
        let mut event: InboxEvent<'_> = self.shape;
        match &mut event {
            InboxEvent::Found { shown, .. }
            | InboxEvent::PartnerAway { shown, .. }
            | InboxEvent::PartnerBack { shown, .. }
            | InboxEvent::Member { shown, .. }
            | InboxEvent::Stick { shown, .. } => *shown = self.shown.as_ref(),
            InboxEvent::Message { shown, text, .. } => {
                *shown = self.shown.as_ref();
                *text = &self.text;
            }
            InboxEvent::Moderation { shown, reason, .. } => {
                *shown = self.shown.as_ref();
                *reason = &self.reason;
            }
            InboxEvent::Gap { rooms, .. } => *rooms = &self.rooms,
            InboxEvent::Ended { .. } => {}
        }
        event
    }
}

impl<'a> EventJson<'a> {
    /// The named participant.
    fn who(&self) -> Option<&WhoJson<'a>> {
        self.partner
            .as_ref()
            .or(self.sender.as_ref())
            .or(self.user.as_ref())
    }
}

/// The text that was sent. A server may show invisible characters as escapes, such as `\u{200b}`;
/// users here never send such an escape themselves.
pub(super) fn said(text: &str) -> String {
    let mut parts = text.split("\\u{");
    let mut said = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let escaped = part.split_once('}').and_then(|(code, rest)| {
            let c = char::from_u32(u32::from_str_radix(code, 16).ok()?)?;
            Some((c, rest))
        });
        if let Some((c, rest)) = escaped {
            said.push(c);
            said.push_str(rest);
        } else {
            said.push_str("\\u{");
            said.push_str(part);
        }
    }
    said
}

/// The event without names, texts and a gap's rooms. None if a part is missing.
fn shape(json: &EventJson<'_>, names: &Names) -> Option<InboxEvent<'static>> {
    if json.kind == "gap" {
        let (from, to) = (json.from_seq?, json.to_seq?);
        return Some(InboxEvent::Gap {
            from,
            to,
            lost: json
                .lost
                .unwrap_or_else(|| to.saturating_add(1).saturating_sub(from)),
            rooms: &[],
        });
    }
    let (room, room_seq) = (names.room(json.room_id.as_deref()?), json.room_seq?);
    let who = |who: &Option<WhoJson<'_>>| who.as_ref().map(|who| names.user(&who.user_id));
    match &*json.kind {
        "chatroom.found" => Some(InboxEvent::Found {
            room,
            room_seq,
            partner: who(&json.partner)?,
            shown: Shown::NAMELESS,
        }),
        "message.received" => Some(InboxEvent::Message {
            room,
            room_seq,
            sender: who(&json.sender)?,
            shown: Shown::NAMELESS,
            text: "",
            epoch: json.epoch,
        }),
        "partner.disconnected" => Some(InboxEvent::Ended {
            room,
            room_seq,
            reason: reason(json.reason.as_deref()?)?,
        }),
        "partner.away" => Some(InboxEvent::PartnerAway {
            room,
            room_seq,
            partner: who(&json.partner)?,
            shown: Shown::NAMELESS,
        }),
        "partner.reconnected" => Some(InboxEvent::PartnerBack {
            room,
            room_seq,
            partner: who(&json.partner)?,
            shown: Shown::NAMELESS,
        }),
        kind => {
            let user = who(&json.user);
            of_member(kind, (room, room_seq), user)
                .or_else(|| of_stick(kind, (room, room_seq), user?, json))
                .or_else(|| of_moderation(kind, (room, room_seq), user))
        }
    }
}

fn lost_range(lost: &LostJson<'_>, names: &Names) -> LostRange {
    let you = |change: &str| match change {
        "matched" => Some(Membership::Matched),
        "joined" => Some(Membership::Joined),
        "left" => Some(Membership::Left),
        "kicked" => Some(Membership::Kicked),
        _ => None,
    };
    let stick = |change: &str| match change {
        "granted" => Some(StickLoss::Granted(Epoch(lost.epoch))),
        "released" => Some(StickLoss::Released(Epoch(lost.epoch))),
        "expired" => Some(StickLoss::Expired(Epoch(lost.epoch))),
        _ => None,
    };
    LostRange {
        room: names.room(&lost.room_id),
        from: RoomSeq(lost.from_room_seq),
        to: RoomSeq(lost.to_room_seq),
        messages: lost.messages,
        you: lost.you.as_deref().and_then(you),
        members_changed: lost.members_changed,
        stick: lost.stick.as_deref().and_then(stick),
        stick_changed: lost.stick_changed,
        ended: lost.ended.as_deref().and_then(reason),
    }
}

fn reason(text: &str) -> Option<EndReason> {
    Some(match text {
        "left" => EndReason::Left,
        "timeout" => EndReason::Timeout,
        "blocked" => EndReason::Blocked,
        "turn_limit" => EndReason::TurnLimit,
        "closed" => EndReason::Closed,
        _ => return None,
    })
}

fn of_member(
    kind: &str,
    (room, room_seq): (Room, u64),
    user: Option<User>,
) -> Option<InboxEvent<'static>> {
    let change = match kind {
        "user.joined" => Presence::Joined,
        "user.left" => Presence::Left,
        "user.away" => Presence::Away,
        "user.back" => Presence::Back,
        _ => return None,
    };
    Some(InboxEvent::Member {
        room,
        room_seq,
        user: user?,
        shown: Shown::NAMELESS,
        change,
    })
}

fn of_stick(
    kind: &str,
    (room, room_seq): (Room, u64),
    user: User,
    json: &EventJson<'_>,
) -> Option<InboxEvent<'static>> {
    let change = match kind {
        "stick.claimed" => StickChange::Claimed { place: json.place? },
        "stick.granted" => StickChange::Granted {
            epoch: json.epoch?,
            lease: Span::secs(json.lease_seconds.unwrap_or_default()),
        },
        "stick.released" => StickChange::Released { epoch: json.epoch? },
        "stick.expired" => StickChange::Expired { epoch: json.epoch? },
        _ => return None,
    };
    Some(InboxEvent::Stick {
        room,
        room_seq,
        user,
        shown: Shown::NAMELESS,
        change,
    })
}

fn of_moderation(
    kind: &str,
    (room, room_seq): (Room, u64),
    user: Option<User>,
) -> Option<InboxEvent<'static>> {
    let act = match kind {
        "moderation.muted" => Moderated::Muted,
        "moderation.kicked" => Moderated::Kicked,
        "moderation.closed" => Moderated::Closed,
        _ => return None,
    };
    Some(InboxEvent::Moderation {
        room,
        room_seq,
        user,
        shown: Shown::NAMELESS,
        act,
        reason: "",
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn escaped_text_is_unescaped() {
        assert_eq!(said("a\\u{200b}b\\u{e0041}"), "a\u{200b}b\u{e0041}");
        for plain in ["", "plain", "\\u{", "\\u{x}", "\\u{110000}", "a\\u{20"] {
            assert_eq!(said(plain), plain);
        }
    }

    fn read(value: &Value) -> Option<Event> {
        let text = value.to_string();
        let json: EventJson<'_> = serde_json::from_str(&text).unwrap();
        Event::read(&json, &Names::new(0), &Clock::start())
    }

    #[test]
    fn a_message_has_its_sender_room_and_text() {
        let event = read(&json!({
            "seq": 9, "type": "message.received", "timestamp": "2026-01-01T00:00:00.000Z",
            "room_id": "room_3", "room_seq": 4, "message_id": "msg_3_4", "message": "a\nb",
            "sender": { "user_id": "user_2", "display_name": "Ben" }, "epoch": 7
        }));
        let event = event.unwrap();
        let expected = InboxEvent::Message {
            room: Room(3),
            room_seq: 4,
            sender: User(2),
            shown: Shown {
                chosen_id: None,
                name: "Ben",
            },
            text: "a\nb",
            epoch: Some(7),
        };
        assert_eq!((event.seq, event.inbox_event()), (9, expected));
    }

    #[test]
    fn every_kind_of_event_is_parsed() {
        let who = json!({ "user_id": "user_1" });
        for kind in sim_model::names::EVENTS {
            let event = json!({
                "seq": 1, "type": kind, "room_id": "room_1", "room_seq": 1, "user": who,
                "partner": who, "sender": who, "message": "m", "reason": "left", "place": 1,
                "epoch": 1, "lease_seconds": 4, "from_seq": 1, "to_seq": 1, "lost": 1, "rooms": [],
            });
            assert_eq!(read(&event).unwrap().inbox_event().kind(), kind);
        }
    }

    #[test]
    fn a_gap_lists_the_losses_of_each_room() {
        let gap = json!({
            "seq": 6, "type": "gap", "from_seq": 4, "to_seq": 6, "lost": 3, "rooms_omitted": false,
            "rooms": [
                { "room_id": "room_3", "from_room_seq": 1, "to_room_seq": 3, "messages": 2,
                  "members_changed": true, "stick_changed": true, "you": "kicked",
                  "stick": "granted", "epoch": 7, "ended": "closed" },
                { "room_id": "room_4", "from_room_seq": 5, "to_room_seq": 5 },
            ],
        });
        let rooms = [
            LostRange {
                room: Room(3),
                from: RoomSeq(1),
                to: RoomSeq(3),
                messages: 2,
                you: Some(Membership::Kicked),
                members_changed: true,
                stick: Some(StickLoss::Granted(Epoch(7))),
                stick_changed: true,
                ended: Some(EndReason::Closed),
            },
            LostRange {
                room: Room(4),
                from: RoomSeq(5),
                to: RoomSeq(5),
                ..LostRange::default()
            },
        ];
        let expected = InboxEvent::Gap {
            from: 4,
            to: 6,
            lost: 3,
            rooms: &rooms,
        };
        assert_eq!(read(&gap).unwrap().inbox_event(), expected);
    }

    #[test]
    fn a_gap_of_any_size_is_read() {
        for (from, to) in [(0, u64::MAX), (u64::MAX, 0), (1, u64::MAX)] {
            let gap = json!({ "seq": 6, "type": "gap", "from_seq": from, "to_seq": to });
            let read = read(&gap).unwrap();
            assert!(
                matches!(read.inbox_event(), InboxEvent::Gap { from: a, to: b, .. } if (a, b) == (from, to))
            );
        }
    }

    #[test]
    fn an_unknown_event_is_read_as_a_gap() {
        let odd = read(&json!({ "seq": 3, "type": "tea.served", "room_id": "room_1" })).unwrap();
        assert_eq!(odd.inbox_event().kind(), "gap");
        assert_eq!(
            read(&json!({ "type": "user.typing", "room_id": "room_1" })),
            None
        );
    }
}
