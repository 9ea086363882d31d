//! Events of an inbox: from servers' JSON to clients' words.

use std::sync::Arc;

use chat_types::{Seq, Span, Time};

use super::clock::{Clock, timestamp};
use super::names::Names;
use super::shape::{EventJson, LostJson, WhoJson};
use sim_model::protocol::{
    Body, EndReason, Event, Gap, InboxEvent, LostRange, Membership, StickLoss, User, Who,
};

/// What stands at a place of an inbox, for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Received {
    /// Its place in the inbox.
    pub(super) seq: u64,
    /// The server's timestamp; none if there is none.
    pub(super) sent_at: Option<Time>,
    item: Item,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Event(Event),
    Gap(Gap),
}

impl Received {
    /// Parses an event. Notices have no place in the inbox, and give none.
    pub(super) fn read(json: &EventJson, names: &Names, clock: &Clock) -> Option<Self> {
        let seq = json.seq?;
        let at = json.timestamp.as_deref().and_then(timestamp);
        let sent_at = at.map(|at| clock.of_server(at));
        // Of an event of an unknown kind only the place is known: it counts as a gap.
        let is_gap = json.kind.as_deref() == Some("gap");
        let bounds = [json.from_seq, json.to_seq].map(|bound| bound.filter(|_| is_gap));
        let [from, to] = bounds.map(|bound| bound.unwrap_or(Seq(seq)));
        let rooms = json.rooms.iter().flatten();
        let rooms = rooms.map(|lost| lost_range(lost, names));
        let item = match event(json, names, sent_at.unwrap_or_default()) {
            Some(event) => Item::Event(event),
            None => Item::Gap(Gap {
                from,
                to,
                rooms: rooms.collect(),
                rooms_omitted: false,
            }),
        };
        Some(Self { seq, sent_at, item })
    }

    /// Adds the reader to the event of its match, which names the partner alone.
    pub(super) fn read_by(&mut self, reader: Option<User>) {
        if let (Item::Event(event), Some(id)) = (&mut self.item, reader)
            && let Body::Found([me, _]) = &mut event.body
        {
            Arc::make_mut(me).id = id;
        }
    }

    /// It as the client sees it.
    pub(super) const fn inbox_event(&self) -> InboxEvent<'_> {
        match &self.item {
            Item::Event(event) => InboxEvent::Event(event),
            Item::Gap(gap) => InboxEvent::Gap(gap),
        }
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

/// Those that a message is addressed to.
pub(super) fn addressees(json: &EventJson, names: &Names) -> Box<[Arc<Who>]> {
    let to = json.to.iter().flatten();
    to.map(|who| names.who(who)).collect()
}

/// The event, at this instant; none for a gap, or if a part is missing.
fn event(json: &EventJson, names: &Names, at: Time) -> Option<Event> {
    let who = |who: &Option<WhoJson>| who.as_ref().map(|who| names.who(who));
    let (user, partner) = (|| who(&json.user), || who(&json.partner));
    let why = || Arc::from(json.reason.as_deref().unwrap_or_default());
    let body = match json.kind.as_deref()? {
        "chatroom.found" => Body::Found([partner()?, partner()?]),
        "message.received" => Body::Message {
            sender: who(&json.sender)?,
            text: said(json.message.as_deref().unwrap_or_default()).into(),
            epoch: json.epoch,
            to: addressees(json, names),
        },
        "partner.disconnected" => {
            Body::PartnerDisconnected(EndReason::named(json.reason.as_deref()?)?)
        }
        "partner.away" => Body::PartnerAway(partner()?),
        "partner.reconnected" => Body::PartnerReconnected(partner()?),
        "user.joined" => Body::Joined(user()?),
        "user.left" => Body::Left(user()?),
        "user.away" => Body::Away(user()?),
        "user.back" => Body::Back(user()?),
        "stick.claimed" => Body::StickClaimed {
            user: user()?,
            place: json.place?,
        },
        "stick.granted" => Body::StickGranted {
            user: user()?,
            epoch: json.epoch?,
            lease: Span::secs(json.lease_seconds.unwrap_or_default()),
        },
        "stick.released" => Body::StickReleased {
            user: user()?,
            epoch: json.epoch?,
        },
        "stick.expired" => Body::StickExpired {
            user: user()?,
            epoch: json.epoch?,
        },
        "moderation.muted" => Body::Muted {
            user: user()?,
            reason: why(),
        },
        "moderation.kicked" => Body::Kicked {
            user: user()?,
            reason: why(),
        },
        "moderation.closed" => Body::Closed { reason: why() },
        _ => return None,
    };
    Some(Event {
        room: names.room(json.room_id.as_deref()?),
        room_seq: json.room_seq?,
        at,
        body,
    })
}

fn lost_range(lost: &LostJson, names: &Names) -> LostRange {
    let epoch = lost.epoch.unwrap_or_default();
    let stick = lost.stick.as_deref();
    let sticks = [
        StickLoss::Granted(epoch),
        StickLoss::Released(epoch),
        StickLoss::Expired(epoch),
    ];
    LostRange {
        room: names.room(lost.room_id.as_deref().unwrap_or_default()),
        from: lost.from_room_seq.unwrap_or_default(),
        to: lost.to_room_seq.unwrap_or_default(),
        messages: lost.messages.unwrap_or_default(),
        you: lost.you.as_deref().and_then(Membership::named),
        members_changed: lost.members_changed.unwrap_or_default(),
        stick: sticks.into_iter().find(|loss| stick == Some(loss.name())),
        stick_changed: lost.stick_changed.unwrap_or_default(),
        ended: lost.ended.as_deref().and_then(EndReason::named),
    }
}

#[cfg(test)]
mod tests {
    use chat_types::{Epoch, RoomId, RoomSeq, Who};
    use serde::Deserialize as _;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn escaped_text_is_unescaped() {
        assert_eq!(said("a\\u{200b}b\\u{e0041}"), "a\u{200b}b\u{e0041}");
        for plain in ["", "plain", "\\u{", "\\u{x}", "\\u{110000}", "a\\u{20"] {
            assert_eq!(said(plain), plain);
        }
    }

    fn read(value: &Value) -> Option<Received> {
        let event = EventJson::deserialize(value).unwrap();
        Received::read(&event, &Names::new(0), &Clock::start())
    }

    #[test]
    fn a_message_has_its_sender_room_and_text() {
        let event = read(&json!({
            "seq": 9, "type": "message.received", "timestamp": "2026-01-01T00:00:00.000Z",
            "room_id": "room_3", "room_seq": 4, "message_id": "msg_3_4", "message": "a\nb",
            "sender": { "user_id": "user_2", "display_name": "Ben" }, "epoch": 7
        }));
        let event = event.unwrap();
        let expected = Event {
            room: RoomId(3),
            room_seq: RoomSeq(4),
            at: event.sent_at.unwrap(),
            body: Body::Message {
                sender: Arc::new(Who {
                    id: User(2),
                    chosen_id: None,
                    name: "Ben".into(),
                }),
                text: "a\nb".into(),
                epoch: Some(Epoch(7)),
                to: [].into(),
            },
        };
        let received = event.inbox_event();
        assert_eq!((event.seq, received), (9, InboxEvent::Event(&expected)));
    }

    #[test]
    fn a_match_names_the_partner_and_its_reader() {
        let partner = json!({ "user_id": "user_2", "display_name": "Ben" });
        let mut found = read(&json!({
            "seq": 1, "type": "chatroom.found", "room_id": "room_3", "room_seq": 1,
            "partner": partner,
        }))
        .unwrap();
        found.read_by(Some(User(1)));
        let Some(Body::Found(pair)) = found.inbox_event().body() else {
            panic!("{found:?}");
        };
        assert_eq!([pair[0].id, pair[1].id], [User(1), User(2)]);
    }

    #[test]
    fn every_kind_of_event_is_parsed() {
        let who = json!({ "user_id": "user_1" });
        for kind in sim_model::protocol::EVENTS {
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
                room: RoomId(3),
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
                room: RoomId(4),
                from: RoomSeq(5),
                to: RoomSeq(5),
                ..LostRange::default()
            },
        ];
        let expected = Gap {
            from: Seq(4),
            to: Seq(6),
            rooms: rooms.to_vec(),
            rooms_omitted: false,
        };
        let read = read(&gap).unwrap();
        assert_eq!(read.inbox_event(), InboxEvent::Gap(&expected));
    }

    #[test]
    fn a_gap_of_any_size_is_read() {
        for (from, to) in [(0, u64::MAX), (u64::MAX, 0), (1, u64::MAX)] {
            let gap = json!({ "seq": 6, "type": "gap", "from_seq": from, "to_seq": to });
            let (from, to) = (Seq(from), Seq(to));
            let expected = Gap {
                from,
                to,
                rooms: Vec::new(),
                rooms_omitted: false,
            };
            assert_eq!(
                read(&gap).unwrap().inbox_event(),
                InboxEvent::Gap(&expected)
            );
        }
    }

    #[test]
    fn an_unknown_event_is_read_as_a_gap() {
        let odd = read(&json!({ "seq": 3, "type": "tea.served", "room_id": "room_1" })).unwrap();
        assert_eq!(odd.inbox_event().kind(), "gap");
        let notice = json!({ "type": "user.typing", "room_id": "room_1" });
        assert_eq!(read(&notice), None);
    }
}
