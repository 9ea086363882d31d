//! The record of an inbox's dropped events: a bounded one for each room.
//!
//! An inbox drops the oldest event of a room first, so that all dropped events of a room lie before
//! all kept ones. A record keeps the inbox place of the last event of each kind. Only the gap that
//! contains this place shows that event.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use chat_types::{
    Body, EndReason, Event, LostRange, Membership, RoomId, RoomSeq, Seq, StickLoss, UserId,
};

/// The largest number of rooms that a gap can name. Beyond it, the room whose last event was
/// dropped earliest is removed.
const MAX_ROOMS: usize = 256;

/// The records of dropped events by room. A record is removed when its last event was acknowledged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lost {
    rooms: Vec<Record>,
    /// The last place of what no record has: an event of a removed room, or one of a lost life.
    omitted: Seq,
}

/// The record of one room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    room: RoomId,
    from: RoomSeq,
    to: RoomSeq,
    messages: u64,
    /// The last place of each kind of event. Place 0 means none.
    last: Seq,
    message: Seq,
    members: Seq,
    stick: Seq,
    own_membership: Option<(Seq, Membership)>,
    own_stick: Option<(Seq, StickLoss)>,
    ended: Option<(Seq, EndReason)>,
}

impl Lost {
    /// Handles an acknowledgement of all places up to `after`. A room whose last dropped event lies
    /// after it keeps its record: a later gap still shows it.
    pub(crate) fn acknowledge(&mut self, after: Seq) {
        self.rooms.retain(|record| record.last > after);
        if self.omitted <= after {
            self.omitted = Seq(0);
        }
    }

    /// Records that rooms unknown have lost events up to `end`.
    pub(crate) fn omit(&mut self, end: Seq) {
        self.omitted = end;
    }

    /// Records that `event`, at `seq` of the inbox of `reader`, was dropped.
    pub(crate) fn add(&mut self, seq: Seq, event: &Event, reader: UserId) {
        let known = self.rooms.iter().position(|one| one.room == event.room);
        let place = known.unwrap_or_else(|| self.begin(event));
        let record = &mut self.rooms[place];
        record.to = event.room_seq;
        record.last = seq;
        record.add(seq, &event.body, reader);
    }

    /// Creates the record of the event's room; returns its index.
    fn begin(&mut self, event: &Event) -> usize {
        if self.rooms.len() >= MAX_ROOMS {
            let oldest = (0..self.rooms.len()).min_by_key(|place| self.rooms[*place].last);
            let record = self.rooms.remove(oldest.expect("there are many"));
            self.omitted = self.omitted.max(record.last);
        }
        self.rooms.push(Record {
            room: event.room,
            from: event.room_seq,
            ..Record::default()
        });
        self.rooms.len() - 1
    }

    /// The rooms of a gap, and whether others were omitted.
    pub(crate) fn within(&self, from: Seq, to: Seq) -> (Vec<LostRange>, bool) {
        let gap = from..=to;
        let rooms = self.rooms.iter().filter_map(|record| record.within(&gap));
        (rooms.collect(), self.omitted >= from)
    }

    /// The place of the room's last dropped event, if it is recorded.
    pub(crate) fn last_of(&self, room: RoomId) -> Seq {
        let known = self.rooms.iter().find(|record| record.room == room);
        known.map_or(Seq(0), |record| record.last)
    }

    /// The place in its order of the room's first dropped event. If it is unknown of which rooms events
    /// were dropped, it is the room's first place.
    pub(crate) fn first_of(&self, room: RoomId) -> Option<RoomSeq> {
        if self.omitted > Seq(0) {
            return Some(RoomSeq(1));
        }
        let known = self.rooms.iter().find(|record| record.room == room);
        known.map(|record| record.from)
    }

    /// Checks the invariants of an inbox that ends at `end`.
    pub(crate) fn validate(&self, end: Seq) -> Result<(), String> {
        if self.rooms.len() > MAX_ROOMS {
            return Err(format!("remembers losses of {} rooms", self.rooms.len()));
        }
        if self.omitted > end {
            return Err("a room is no longer named for what is not lost yet".into());
        }
        for (place, record) in self.rooms.iter().enumerate() {
            let room = record.room;
            if self.rooms[..place].iter().any(|other| other.room == room) {
                return Err(format!("what is lost of {room} is remembered twice"));
            }
            record
                .validate(end)
                .map_err(|why| format!("what is lost of {room}: {why}"))?;
        }
        Ok(())
    }
}

impl Record {
    fn add(&mut self, seq: Seq, body: &Body, reader: UserId) {
        let is_own = body.named().first().is_some_and(|who| who.id == reader);
        match body {
            Body::Found(_) => self.own_membership = Some((seq, Membership::Matched)),
            Body::Message { .. } => {
                self.messages += 1;
                self.message = seq;
            }
            Body::PartnerDisconnected(reason) => self.ended = Some((seq, *reason)),
            Body::Closed { .. } => self.ended = Some((seq, EndReason::Closed)),
            Body::Joined(_) if is_own => self.own_membership = Some((seq, Membership::Joined)),
            Body::Left(_) if is_own => self.own_membership = Some((seq, Membership::Left)),
            Body::Kicked { .. } if is_own => self.own_membership = Some((seq, Membership::Kicked)),
            // The reader's own absence does not change its membership.
            Body::Away(_) | Body::Back(_) if is_own => {}
            Body::Joined(_) | Body::Left(_) | Body::Away(_) | Body::Back(_) => self.members = seq,
            Body::PartnerAway(_) | Body::PartnerReconnected(_) | Body::Kicked { .. } => {
                self.members = seq;
            }
            Body::StickGranted { epoch, .. } if is_own => {
                self.own_stick = Some((seq, StickLoss::Granted(*epoch)));
            }
            Body::StickReleased { epoch, .. } if is_own => {
                self.own_stick = Some((seq, StickLoss::Released(*epoch)));
            }
            Body::StickExpired { epoch, .. } if is_own => {
                self.own_stick = Some((seq, StickLoss::Expired(*epoch)));
            }
            Body::StickGranted { .. } | Body::StickReleased { .. } | Body::StickExpired { .. } => {
                self.stick = seq;
            }
            // A claim does not change the stick's holder, and a mute does not change membership.
            Body::StickClaimed { .. } | Body::Muted { .. } => {}
        }
    }

    /// The part of the record that the gap shows; none if no place lies in it.
    fn within(&self, gap: &RangeInclusive<Seq>) -> Option<LostRange> {
        let has_messages = gap.contains(&self.message);
        let range = LostRange {
            room: self.room,
            from: self.from,
            to: self.to,
            messages: if has_messages { self.messages } else { 0 },
            you: within(self.own_membership, gap),
            members_changed: gap.contains(&self.members),
            stick: within(self.own_stick, gap),
            stick_changed: gap.contains(&self.stick),
            ended: within(self.ended, gap),
        };
        let is_named = gap.contains(&self.last)
            || has_messages
            || range.members_changed
            || range.stick_changed
            || range.you.is_some()
            || range.stick.is_some()
            || range.ended.is_some();
        is_named.then_some(range)
    }

    fn validate(&self, end: Seq) -> Result<(), String> {
        let places = [
            Some(self.message),
            Some(self.members),
            Some(self.stick),
            self.own_membership.map(|(seq, _)| seq),
            self.own_stick.map(|(seq, _)| seq),
            self.ended.map(|(seq, _)| seq),
        ];
        if self.last == Seq(0) || self.last > end {
            return Err(format!("its last place is {}, the end is {end}", self.last));
        }
        if places.into_iter().flatten().any(|seq| seq > self.last) {
            return Err("one of its events lies behind its last".into());
        }
        if self.from > self.to || self.messages > (self.to.0 - self.from.0).saturating_add(1) {
            return Err("it has more messages than places".into());
        }
        Ok(())
    }
}

/// The last change, if its place lies in the gap.
fn within<T>(last: Option<(Seq, T)>, gap: &RangeInclusive<Seq>) -> Option<T> {
    last.filter(|(seq, _)| gap.contains(seq))
        .map(|(_, what)| what)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use chat_types::{Epoch, Span, Time, Who};

    const ANN: UserId = UserId(1);

    fn who(id: u64) -> Arc<Who> {
        Who::unnamed(UserId(id))
    }

    /// Ann's inbox after it dropped these events of room 1, from place 1 of both orders on.
    fn lost(bodies: Vec<Body>) -> Lost {
        let mut lost = Lost::default();
        for (seq, body) in (1..).zip(bodies) {
            let event = Event {
                room: RoomId(1),
                room_seq: RoomSeq(seq),
                at: Time(seq),
                body,
            };
            lost.add(Seq(seq), &event, ANN);
        }
        lost
    }

    fn message() -> Body {
        Body::Message {
            sender: who(2),
            text: "hi".into(),
            epoch: None,
            to: [].into(),
        }
    }

    fn of_rooms(rooms: std::ops::RangeInclusive<u64>) -> Lost {
        let mut lost = Lost::default();
        for room in rooms {
            let event = Event {
                room: RoomId(room),
                room_seq: RoomSeq(1),
                at: Time(0),
                body: message(),
            };
            lost.add(Seq(room), &event, ANN);
        }
        lost
    }

    #[test]
    fn a_loss_that_was_read_is_not_reported_again() {
        let lost = lost(vec![
            Body::Joined(who(1)),
            Body::Joined(who(2)),
            Body::StickGranted {
                user: who(1),
                epoch: Epoch(1),
                lease: Span::secs(9),
            },
            message(),
            Body::PartnerDisconnected(EndReason::Timeout),
        ]);
        let from = |seq| {
            let (rooms, omitted) = lost.within(Seq(seq), Seq(9));
            assert!(!omitted);
            rooms.into_iter().next()
        };
        let all = LostRange {
            room: RoomId(1),
            from: RoomSeq(1),
            to: RoomSeq(5),
            messages: 1,
            you: Some(Membership::Joined),
            members_changed: true,
            stick: Some(StickLoss::Granted(Epoch(1))),
            stick_changed: false,
            ended: Some(EndReason::Timeout),
        };
        assert_eq!(from(1), Some(all));
        let all = LostRange { you: None, ..all };
        assert_eq!(from(2), Some(all));
        let all = LostRange {
            members_changed: false,
            ..all
        };
        assert_eq!(from(3), Some(all));
        let all = LostRange { stick: None, ..all };
        assert_eq!(from(4), Some(all));
        let all = LostRange { messages: 0, ..all };
        assert_eq!(from(5), Some(all));
        assert_eq!(from(6), None);
    }

    #[test]
    fn a_loss_is_reported_in_the_gap_of_its_last_event() {
        let lost = lost(vec![
            message(),
            Body::Joined(who(1)),
            message(),
            Body::Joined(who(2)),
            Body::StickClaimed {
                user: who(2),
                place: 1,
            },
        ]);
        let within = |from, to| lost.within(Seq(from), Seq(to)).0.into_iter().next();
        let told = LostRange {
            room: RoomId(1),
            from: RoomSeq(1),
            to: RoomSeq(5),
            ..LostRange::default()
        };
        assert_eq!(within(1, 1), None);
        let you = Some(Membership::Joined);
        assert_eq!(within(1, 2), Some(LostRange { you, ..told }));
        assert_eq!(
            within(3, 3),
            Some(LostRange {
                messages: 2,
                ..told
            })
        );
        let members_changed = LostRange {
            members_changed: true,
            ..told
        };
        assert_eq!(within(4, 4), Some(members_changed));
        // The gap with the room's last dropped event shows the room.
        assert_eq!(within(5, 7), Some(told));
        assert_eq!(within(6, 7), None);
    }

    #[test]
    fn the_losses_of_a_room_are_dropped_when_the_last_is_acknowledged() {
        let mut lost = of_rooms(1..=3);
        lost.acknowledge(Seq(2));
        assert_eq!(
            (lost.last_of(RoomId(2)), lost.last_of(RoomId(3))),
            (Seq(0), Seq(3))
        );
        lost.acknowledge(Seq(3));
        assert_eq!(lost, Lost::default());
    }

    #[test]
    fn beyond_its_limit_the_oldest_room_is_dropped_and_reported() {
        let within = |lost: &Lost, from| {
            let (rooms, omitted) = lost.within(Seq(from), Seq(300));
            (rooms.len(), rooms[0].room.0, omitted)
        };
        assert_eq!(within(&of_rooms(1..=256), 1), (256, 1, false));
        let mut lost = of_rooms(1..=257);
        assert_eq!(within(&lost, 1), (256, 2, true));
        assert_eq!(within(&lost, 2), (256, 2, false));
        assert_eq!(lost.validate(Seq(257)), Ok(()));
        lost.acknowledge(Seq(1));
        assert_eq!(within(&lost, 1), (256, 2, false));
    }

    #[test]
    fn damage_is_seen() {
        let damaged = |change: fn(&mut Lost)| {
            let mut lost = lost(vec![message(), Body::Joined(who(1)), message()]);
            assert_eq!(lost.validate(Seq(3)), Ok(()));
            change(&mut lost);
            lost.validate(Seq(3)).expect_err("it is damaged")
        };
        assert!(damaged(|lost| lost.rooms[0].last = Seq(4)).contains("its last place is 4"));
        assert!(damaged(|lost| lost.rooms[0].last = Seq(0)).contains("its last place is 0"));
        assert!(damaged(|lost| lost.rooms[0].last = Seq(1)).contains("behind its last"));
        assert!(damaged(|lost| lost.rooms[0].messages = 4).contains("more messages"));
        assert!(damaged(|lost| lost.rooms[0].to = RoomSeq(0)).contains("more messages"));
        assert!(damaged(|lost| lost.omitted = Seq(4)).contains("not lost yet"));
        assert!(damaged(|lost| lost.rooms.push(lost.rooms[0])).contains("twice"));
    }
}
