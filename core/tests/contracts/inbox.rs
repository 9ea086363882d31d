//! Compares the inbox with a naive model: all events ever received, and positions in that list.
//!
//! The events come from a twin with the same entries, whose inbox never overflows and acknowledges
//! nothing.

use std::ops::RangeInclusive;
use std::sync::Arc;

use chat_core::{
    Body, Effect, EndReason, Entry, Event, Hub, Implied, Item, LostRange, Membership, RoomId,
    RoomSeq, Seq, StickLoss, UserId,
};
use proptest::prelude::*;

use crate::journal::{journal, step, users};

/// One step of a page: a gap, from its first place to its last, and the event after it.
struct Step {
    gap: Option<(usize, usize)>,
    event: Option<usize>,
}

#[derive(Default)]
struct Model {
    events: Vec<Arc<Event>>,
    /// The places with events.
    kept: Vec<usize>,
    /// The dropped events that were not acknowledged, each with its place, in the order of
    /// dropping.
    lost: Vec<(Seq, Arc<Event>)>,
    delivered: usize,
}

impl Model {
    /// The event at a place.
    fn at(&self, place: usize) -> &Arc<Event> {
        &self.events[place - 1]
    }

    fn push(&mut self, event: Arc<Event>, limit: usize) {
        self.events.push(event);
        self.kept.push(self.events.len());
        while self.kept.len() > limit {
            let out = self.next_to_go();
            self.kept.retain(|place| *place != out);
            self.lost.push((Seq(out as u64), Arc::clone(self.at(out))));
        }
    }

    /// The place that is dropped next: the oldest delivered one, otherwise the oldest of the room
    /// with the most events.
    fn next_to_go(&self) -> usize {
        let oldest = self.kept[0];
        if oldest <= self.delivered {
            return oldest;
        }
        let size = |place: usize| {
            let same = |other: &&usize| self.at(**other).room == self.at(place).room;
            self.kept.iter().filter(same).count()
        };
        let most = self.kept.iter().map(|place| size(*place)).max();
        let mut of_largest = self.kept.iter().filter(|place| Some(size(**place)) == most);
        *of_largest.next().expect("one is the largest")
    }

    fn read(&mut self, acknowledged: Seq, delivered: Seq) {
        let mark = |seq: Seq| usize::try_from(seq.0).map_or(0, |seq| seq.min(self.events.len()));
        let (acknowledged, delivered) = (mark(acknowledged), mark(delivered));
        self.kept.retain(|place| *place > acknowledged);
        let open: Vec<RoomId> = self
            .lost
            .iter()
            .filter(|(seq, _)| seq.0 > acknowledged as u64)
            .map(|(_, event)| event.room)
            .collect();
        self.lost.retain(|(_, event)| open.contains(&event.room));
        self.delivered = self.delivered.max(acknowledged).max(delivered);
    }

    /// The steps of a page. The last one has no event if the events end before `max`.
    fn page(&self, after: usize, max: usize) -> Vec<Step> {
        let ahead = self.kept.iter().filter(|place| **place > after);
        let mut ends: Vec<_> = ahead.take(max).map(|place| Some(*place)).collect();
        if ends.len() < max {
            ends.push(None);
        }
        let mut next = after + 1;
        let items = ends.into_iter().map(|end| {
            let behind = end.unwrap_or(self.events.len() + 1);
            let gap = (next < behind).then_some((next, behind - 1));
            next = behind + 1;
            Step { gap, event: end }
        });
        items.collect()
    }

    /// Checks that the Hub's inbox reads like this model from every cursor.
    fn agrees(&self, hub: &Hub, user: UserId, max: usize) -> Result<(), TestCaseError> {
        let (end, delivered) = hub.inbox_cursors(user).expect("registered");
        prop_assert_eq!(end, Seq(self.events.len() as u64));
        prop_assert_eq!(delivered, Seq(self.delivered as u64));
        for after in 0..=self.events.len() {
            let page = hub
                .read_inbox(user, Seq(after as u64), max)
                .expect("a cursor");
            let mut items = page.items();
            let mut cursor = after;
            for Step { gap, event } in self.page(after, max) {
                if let Some((from, to)) = gap {
                    let expected = chat_core::Gap {
                        from: Seq(from as u64),
                        to: Seq(to as u64),
                        rooms: self.rooms(user, from as u64..=to as u64),
                        rooms_omitted: false,
                    };
                    prop_assert_eq!(items.next(), Some(Item::Gap(&expected)));
                    cursor = to;
                }
                if let Some(place) = event {
                    let expected = Item::Event(Seq(place as u64), self.at(place));
                    prop_assert_eq!(items.next(), Some(expected));
                    cursor = place;
                }
            }
            prop_assert_eq!(items.next(), None);
            prop_assert_eq!(page.cursor, Seq(cursor as u64));
            prop_assert_eq!(page.unread, (self.events.len() - cursor) as u64);
        }
        self.agrees_on_what_is_read(hub, user)?;
        let beyond = hub.read_inbox(user, Seq(self.events.len() as u64 + 1), max);
        prop_assert_eq!(
            beyond.map_err(|why| why.code()).err(),
            Some("invalid_cursor")
        );
        Ok(())
    }

    /// Checks that each room's members see up to where the participant has read.
    fn agrees_on_what_is_read(&self, hub: &Hub, user: UserId) -> Result<(), TestCaseError> {
        let lost = || self.lost.iter().map(|(_, event)| event);
        let waiting = || lost().chain(self.kept.iter().map(|place| self.at(*place)));
        for room in hub.kept_rooms() {
            let mut of_room = waiting().filter(|event| event.room == room.id);
            let first = of_room.next().map(|event| RoomSeq(event.room_seq.0 - 1));
            let members = hub.read_members(room.id);
            if let Some(member) = members.iter().find(|member| member.who.id == user) {
                prop_assert_eq!(member.read_to, first.unwrap_or(room.last));
            }
        }
        Ok(())
    }

    /// The rooms of a gap, in the order of their first losses: for each kind of event the last one
    /// lost, if it lies in the gap.
    fn rooms(&self, reader: UserId, gap: RangeInclusive<u64>) -> Vec<LostRange> {
        let mut rooms: Vec<RoomId> = Vec::new();
        for (_, event) in &self.lost {
            if !rooms.contains(&event.room) {
                rooms.push(event.room);
            }
        }
        let shares = rooms.iter().filter_map(|room| {
            let all = || self.lost.iter().filter(|(_, event)| event.room == *room);
            let has = |seq: &Seq| gap.contains(&seq.0);
            let is_told = |wanted: &dyn Fn(&Body) -> bool| {
                let last = all().rfind(|(_, event)| wanted(&event.body));
                last.filter(|(seq, _)| has(seq)).is_some()
            };
            let (first, last) = (all().next()?, all().next_back()?);
            let said = all().filter(|(_, event)| is_message(&event.body)).count();
            let own = |user| user == reader;
            let range = LostRange {
                room: *room,
                from: first.1.room_seq,
                to: last.1.room_seq,
                messages: if is_told(&is_message) { said as u64 } else { 0 },
                you: last_of(all(), |body| membership(body, reader))
                    .filter(|_| is_told(&|body| membership(body, reader).is_some())),
                members_changed: is_told(&|body| changes_members(body, reader)),
                stick: last_of(all(), |body| of_stick(body, own))
                    .filter(|_| is_told(&|body| of_stick(body, own).is_some())),
                stick_changed: is_told(&|body| of_stick(body, |user| user != reader).is_some()),
                ended: last_of(all(), ending).filter(|_| is_told(&|body| ending(body).is_some())),
            };
            let nothing = LostRange {
                messages: 0,
                you: None,
                members_changed: false,
                stick: None,
                stick_changed: false,
                ended: None,
                ..range
            };
            (has(&last.0) || range != nothing).then_some(range)
        });
        shares.collect()
    }
}

fn last_of<'a, T>(
    lost: impl DoubleEndedIterator<Item = &'a (Seq, Arc<Event>)>,
    wanted: impl Fn(&Body) -> Option<T>,
) -> Option<T> {
    lost.rev().find_map(|(_, event)| wanted(&event.body))
}

fn is_message(body: &Body) -> bool {
    matches!(body, Body::Message { .. })
}

fn membership(body: &Body, reader: UserId) -> Option<Membership> {
    if let Body::Joined(who) = body {
        return (who.id == reader).then_some(Membership::Joined);
    }
    if let Body::Left(who) = body {
        return (who.id == reader).then_some(Membership::Left);
    }
    if let Body::Kicked { user, .. } = body {
        return (user.id == reader).then_some(Membership::Kicked);
    }
    matches!(body, Body::Found(_)).then_some(Membership::Matched)
}

fn changes_members(body: &Body, reader: UserId) -> bool {
    if let Body::Joined(user)
    | Body::Left(user)
    | Body::Away(user)
    | Body::Back(user)
    | Body::Kicked { user, .. } = body
    {
        return user.id != reader;
    }
    matches!(body, Body::PartnerAway(_) | Body::PartnerReconnected(_))
}

fn of_stick(body: &Body, wanted: impl Fn(UserId) -> bool) -> Option<StickLoss> {
    if let Body::StickGranted { user, epoch, .. } = body {
        return wanted(user.id).then_some(StickLoss::Granted(*epoch));
    }
    if let Body::StickReleased { user, epoch } = body {
        return wanted(user.id).then_some(StickLoss::Released(*epoch));
    }
    if let Body::StickExpired { user, epoch } = body {
        return wanted(user.id).then_some(StickLoss::Expired(*epoch));
    }
    None
}

fn ending(body: &Body) -> Option<EndReason> {
    if let Body::PartnerDisconnected(reason) = body {
        return Some(*reason);
    }
    matches!(body, Body::Closed { .. }).then_some(EndReason::Closed)
}

fn marks(entry: &Entry) -> Option<(UserId, Seq, Seq)> {
    if let Entry::Implied {
        user,
        implied: Implied::Read {
            acknowledged,
            delivered,
        },
    } = entry
    {
        return Some((*user, *acknowledged, *delivered));
    }
    None
}

proptest! {
    #[test]
    fn an_inbox_is_as_a_naive_one(journal in journal(), max in 1..6usize) {
        let limit = journal.config.inbox_limit as usize;
        let max = max.min(journal.config.max_answer as usize);
        let endless = journal.clone().under(|config| config.inbox_limit = 100_000);
        let (mut hub, mut twin) = (journal.hub(), endless.hub());
        let mut models: Vec<Model> = users().map(|_| Model::default()).collect();
        for ((at, entry), (_, same)) in journal.entries.iter().zip(&endless.entries) {
            let effects = step(&mut hub, *at, entry).effects;
            let marks = marks(entry);
            // The twin acknowledges nothing; a tick replaces the entry and takes its position.
            step(&mut twin, *at, if marks.is_some() { &Entry::Tick } else { same });
            for effect in effects {
                let Effect::InboxGrew(user) = effect else { continue };
                let model = &mut models[index(user)];
                let next = Seq(model.events.len() as u64);
                if let Ok(page) = twin.read_inbox(user, next, 1) {
                    model.push(page.events[0].1.clone(), limit);
                }
            }
            if let Some((user, acknowledged, delivered)) = marks {
                models[index(user)].read(acknowledged, delivered);
            }
            for (user, model) in users().zip(&models) {
                if hub.who_is(user).is_some() {
                    model.agrees(&hub, user, max)?;
                }
            }
        }
    }
}

/// The index of a participant's model.
fn index(user: UserId) -> usize {
    usize::try_from(user.0).expect("few users") - 1
}
