//! One position of an inbox, or of a room, has one event: for one reader at any time
//! (`no_duplicates`), and for all readers (`room_order`). Within an inbox the positions of a room
//! ascend, and no timestamp of a room goes back.

use std::cmp::Ordering;

use chat_types::Time;
use rustc_hash::FxHashMap;
use sim_model::protocol::{InboxEvent, Room, User};

use super::Witness;
use super::observations::{Client, ObservedEvent};
use crate::difference::Fact;
use crate::findings::{Findings, Property};
use crate::model::{Body, Event};

impl Witness {
    /// An event, or a gap, arrived: compares it with earlier arrivals, and adds it.
    pub(super) fn arrive(
        &mut self,
        (at, sent_at): (Time, Time),
        (reader, seq): (User, u64),
        event: InboxEvent<'_>,
        findings: &mut Findings,
    ) {
        let participant = self.participants.entry(reader).or_default();
        let event = match event {
            InboxEvent::Gap(gap) => return participant.miss((gap.from.0, gap.to.0)),
            InboxEvent::Event(event) => event,
        };
        let place = (event.room, event.room_seq.0);
        let known = participant.inbox.get(&seq).copied();
        if known.is_none() {
            participant.receive(seq, place);
        }
        let event = Event {
            at: sent_at,
            ..event.clone()
        };
        findings.exercise(Property::NoDuplicates, u64::from(known.is_some()));
        if let Some(first) = known
            .filter(|known| *known != place)
            .and_then(|known| self.seen(&known))
        {
            let first = Fact::Received(reader, seq, first.event.clone());
            let now = Fact::Received(reader, seq, event);
            findings.contradict(Property::NoDuplicates, at, [first, now]);
        } else if let Some(first) = self.seen(&place) {
            let holds = is_same(first, reader, &event);
            let now = || Fact::Received(reader, seq, event);
            findings.compare(Property::RoomOrder, holds, at, || [first.fact(), now()]);
        } else {
            let seen = ObservedEvent {
                event,
                reader,
                seq,
                at,
            };
            self.places.entry(place).or_default().seen = Some(seen);
        }
    }
}

/// Whether two readers received the same event. Each partner of a match sees only the other.
fn is_same(first: &ObservedEvent, reader: User, received: &Event) -> bool {
    let first = &first.event;
    if let [Body::Found(_), Body::Found(_)] = [&first.body, &received.body] {
        let partner = |event: &Event| event.about(reader).map(|who| who.id);
        return partner(first) == partner(received);
    }
    let place = |event: &Event| (event.room, event.room_seq);
    (place(first), &first.body) == (place(received), &received.body)
}

/// Judges the order of the rooms' positions in every inbox, and of each room's timestamps.
pub(super) fn judge(witness: &Witness, findings: &mut Findings) {
    for (reader, client) in &witness.participants {
        ascend(witness, (*reader, client), findings);
    }
    // Without a timestamp, the instant of the arrival is used.
    let stamped = witness.events().filter(|seen| seen.event.at != seen.at);
    for (before, seen) in stamped.clone().zip(stamped.skip(1)) {
        if before.event.room != seen.event.room {
            continue;
        }
        let holds = seen.event.at >= before.event.at;
        let facts = || [before.fact(), seen.fact()];
        findings.compare(Property::RoomOrder, holds, seen.at, facts);
    }
}

fn ascend(witness: &Witness, (reader, client): (User, &Client), findings: &mut Findings) {
    let mut last: FxHashMap<Room, (u64, u64)> = FxHashMap::default();
    for (seq, place) in &client.inbox {
        let Some((before, before_seq)) = last.insert(place.0, (place.1, *seq)) else {
            continue;
        };
        findings.exercise(Property::NoDuplicates, 1);
        findings.exercise(Property::RoomOrder, 1);
        let property = match place.1.cmp(&before) {
            Ordering::Greater => continue,
            Ordering::Equal => Property::NoDuplicates,
            Ordering::Less => Property::RoomOrder,
        };
        let facts = witness
            .received(reader, before_seq)
            .zip(witness.received(reader, *seq));
        if let (Some((one, other)), Some(seen)) = (facts, witness.seen(place)) {
            findings.contradict(property, seen.at, [one, other]);
        }
    }
}
