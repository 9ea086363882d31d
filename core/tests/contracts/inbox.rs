//! The inbox against a naive model of it: everything ever told, and marks into that.
//!
//! What was told is taken from a twin with the same entries, whose inbox never overflows and where
//! nothing is acknowledged.

use std::sync::Arc;

use chat_core::{
    Body, Effect, EndReason, Entry, Event, Hub, Implied, LostRange, Membership, RoomId, Seq,
    StickLoss, UserId,
};
use proptest::prelude::*;

use crate::journal::{journal, step, users};

#[derive(Default)]
struct Model {
    told: Vec<Arc<Event>>,
    /// How many are gone from the front.
    gone: usize,
    /// Those gone that were never acknowledged, each with its place.
    lost: Vec<(Seq, Arc<Event>)>,
    delivered: usize,
}

impl Model {
    fn push(&mut self, event: Arc<Event>, limit: usize) {
        if self.told.len() - self.gone == limit {
            let event = self.told[self.gone].clone();
            self.gone += 1;
            self.lost.push((Seq(self.gone as u64), event));
        }
        self.told.push(event);
    }

    fn read(&mut self, acknowledged: Seq, delivered: Seq) {
        let mark = |seq: Seq| usize::try_from(seq.0).map_or(0, |seq| seq.min(self.told.len()));
        let (acknowledged, delivered) = (mark(acknowledged), mark(delivered));
        if acknowledged >= self.gone {
            self.gone = acknowledged;
            self.lost.clear();
            self.delivered = self.delivered.max(acknowledged);
        }
        self.delivered = self.delivered.max(delivered);
    }

    /// Whether the Hub's inbox reads as this model does, from wherever one begins.
    fn agrees(&self, hub: &Hub, user: UserId, max: usize) -> Result<(), TestCaseError> {
        let (end, delivered) = hub.inbox_marks(user).expect("registered");
        prop_assert_eq!(end, Seq(self.told.len() as u64));
        prop_assert_eq!(delivered, Seq(self.delivered as u64));
        for after in 0..=self.told.len() {
            let page = hub
                .read_inbox(user, Seq(after as u64), max)
                .expect("a cursor");
            let start = after.max(self.gone);
            let events: Vec<_> = self.told[start..].iter().take(max).cloned().collect();
            prop_assert_eq!(page.cursor, Seq((start + events.len()) as u64));
            prop_assert_eq!(page.unread, (self.told.len() - start - events.len()) as u64);
            prop_assert_eq!(page.first, Seq(start as u64 + 1));
            prop_assert_eq!(&page.events, &events);
            let gap = page.gap.as_ref().map(|gap| (gap.from, gap.to));
            let expected =
                (after < self.gone).then_some((Seq(after as u64 + 1), Seq(self.gone as u64)));
            prop_assert_eq!(gap, expected);
            let rooms = page.gap.map_or(Vec::new(), |gap| gap.rooms);
            prop_assert_eq!(rooms, self.rooms(user, after as u64));
        }
        let beyond = hub.read_inbox(user, Seq(self.told.len() as u64 + 1), max);
        prop_assert_eq!(
            beyond.map_err(|why| why.code()).err(),
            Some("invalid_cursor")
        );
        Ok(())
    }

    /// What a gap behind `after` says of each room, in the order of their first losses.
    fn rooms(&self, reader: UserId, after: u64) -> Vec<LostRange> {
        let mut rooms: Vec<RoomId> = Vec::new();
        for (_, event) in &self.lost {
            if !rooms.contains(&event.room) {
                rooms.push(event.room);
            }
        }
        let shares = rooms.iter().filter_map(|room| {
            let of_room = self.lost.iter().filter(|(_, event)| event.room == *room);
            let unread = of_room.clone().filter(|(seq, _)| seq.0 > after);
            let (last, end) = unread.clone().next_back()?;
            let said = of_room.clone().filter(|(_, event)| is_message(event));
            let places = last.0 - after;
            let unread = || unread.clone().map(|(_, event)| &event.body).rev();
            Some(LostRange {
                room: *room,
                from: of_room.clone().next()?.1.room_seq,
                to: end.room_seq,
                messages: (said.count() as u64).min(places),
                you: unread().find_map(|body| membership(body, reader)),
                members_changed: unread().any(|body| changes_members(body, reader)),
                stick: unread().find_map(|body| of_stick(body, |user| user == reader)),
                stick_changed: unread().any(|body| of_stick(body, |user| user != reader).is_some()),
                ended: unread().find_map(ending),
            })
        });
        shares.collect()
    }
}

fn is_message(event: &Event) -> bool {
    matches!(event.body, Body::Message { .. })
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
            // The twin acknowledges nothing; a tick takes the same position.
            step(&mut twin, *at, if marks.is_some() { &Entry::Tick } else { same });
            for effect in effects {
                let Effect::InboxGrew(user) = effect else { continue };
                let model = &mut models[user.0 as usize - 1];
                let next = Seq(model.told.len() as u64);
                if let Ok(page) = twin.read_inbox(user, next, 1) {
                    model.push(page.events[0].clone(), limit);
                }
            }
            if let Some((user, acknowledged, delivered)) = marks {
                models[user.0 as usize - 1].read(acknowledged, delivered);
            }
            for (user, model) in users().zip(&models) {
                if hub.who_is(user).is_some() {
                    model.agrees(&hub, user, max)?;
                }
            }
        }
    }
}
