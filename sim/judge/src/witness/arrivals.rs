//! One place of an inbox, or of a room, shows one event: to one reader again, and to all readers
//! (`no_duplicates`, `room_order`). Within an inbox the places of a room ascend, and no timestamp
//! of a room goes back. A stream carries place after place (`stream_continuity`).

use std::collections::BTreeMap;

use chat_types::Time;
use sim_model::history::Path;
use sim_model::protocol::{Room, Saw, User};

use super::blame;
use super::book::{Book, Person, Seen};
use super::fact::Fact;
use crate::findings::{Findings, Property};
use crate::model::{Event, What};

/// An event as it arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival<'a> {
    pub(super) at: Time,
    pub(super) reader: User,
    pub(super) seq: u64,
    pub(super) sent_at: Time,
    pub(super) saw: &'a Saw<'a>,
}

impl Arrival<'_> {
    /// The event; none for a gap. A found event names its reader too.
    fn event(&self) -> Option<Event> {
        let mut event = Event::of(self.saw, self.sent_at)?;
        if let What::Found { pair } = &mut event.what {
            pair[0] = self.reader;
        }
        Some(event)
    }

    fn fact(&self) -> Option<Fact> {
        let (reader, seq) = (self.reader, self.seq);
        self.event()
            .map(|event| Fact::Received { reader, seq, event })
    }
}

/// Compares an arrival with what arrived before, and takes it in.
pub(super) fn record(book: &mut Book, arrival: &Arrival<'_>, findings: &mut Findings) {
    let Arrival {
        at,
        reader,
        seq,
        saw,
        ..
    } = *arrival;
    let Some(place) = saw.place() else {
        if let (Saw::Gap { from, to, .. }, Some(person)) = (saw, book.people.get_mut(&reader)) {
            person.miss(*from, *to);
        }
        return;
    };
    let known = book
        .people
        .get(&reader)
        .and_then(|person| person.inbox.get(&seq));
    if let Some(known) = known {
        findings.exercise(Property::NoDuplicates, 1);
        if *known != place
            && let (Some(first), Some(now)) = (book.seen(known.0, known.1), arrival.fact())
        {
            let event = first.event.clone();
            let first = Fact::Received { reader, seq, event };
            blame(findings, Property::NoDuplicates, at, [first, now]);
            return;
        }
    } else if let Some(person) = book.people.get_mut(&reader) {
        person.receive(seq, place);
    }
    match book.seen(place.0, place.1) {
        Some(first) => {
            findings.exercise(Property::RoomOrder, 1);
            if first.event.seen_by(reader) != *saw
                && let Some(now) = arrival.fact()
            {
                let first = first.fact();
                blame(findings, Property::RoomOrder, at, [first, now]);
            }
        }
        None => {
            if let Some(event) = arrival.event() {
                let of_room = book.rooms.entry(place.0).or_default();
                of_room.insert(
                    place.1,
                    Seen {
                        event,
                        reader,
                        seq,
                        at,
                    },
                );
            }
        }
    }
}

/// Where the open stream of each participant is.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams(BTreeMap<User, u64>);

impl Streams {
    /// The stream ended, or a new one begins: where it begins is not known.
    pub(super) fn end(&mut self, user: User) {
        self.0.remove(&user);
    }

    /// A stream goes on with the place behind the one before, or with a gap that begins there.
    pub(super) fn record(&mut self, arrival: &Arrival<'_>, path: Path, findings: &mut Findings) {
        if path != Path::Stream {
            return;
        }
        let Arrival {
            at,
            reader,
            seq,
            saw,
            ..
        } = *arrival;
        let (from, to) = match saw {
            Saw::Gap { from, to, .. } => (*from, *to),
            Saw::Found { .. }
            | Saw::Message { .. }
            | Saw::Ended { .. }
            | Saw::PartnerAway { .. }
            | Saw::PartnerBack { .. }
            | Saw::Member { .. }
            | Saw::Stick { .. }
            | Saw::Moderation { .. } => (seq, seq),
        };
        if let Some(before) = self.0.insert(reader, to) {
            findings.exercise(Property::StreamContinuity, 1);
            if from != before + 1 {
                let facts = [before, from].map(|seq| Fact::Streamed { reader, seq });
                blame(findings, Property::StreamContinuity, at, facts);
            }
        }
    }
}

/// The order of the rooms' places in every inbox, and of each room's timestamps.
pub(super) fn judge(book: &Book, findings: &mut Findings) {
    for (reader, person) in &book.people {
        ascend(book, *reader, person, findings);
    }
    for of_room in book.rooms.values() {
        let mut latest: Option<&Seen> = None;
        // A server may give no timestamps. Then the instant of the arrival stands in its place.
        for seen in of_room.values().filter(|seen| seen.event.at != seen.at) {
            if let Some(before) = latest {
                findings.exercise(Property::RoomOrder, 1);
                if seen.event.at < before.event.at {
                    blame(
                        findings,
                        Property::RoomOrder,
                        seen.at,
                        [before.fact(), seen.fact()],
                    );
                }
            }
            latest = Some(seen);
        }
    }
}

fn ascend(book: &Book, reader: User, person: &Person, findings: &mut Findings) {
    let mut last: BTreeMap<Room, (u64, u64)> = BTreeMap::new();
    for (seq, (room, room_seq)) in &person.inbox {
        let Some((before, before_seq)) = last.insert(*room, (*room_seq, *seq)) else {
            continue;
        };
        findings.exercise(Property::NoDuplicates, 1);
        findings.exercise(Property::RoomOrder, 1);
        let property = match room_seq.cmp(&before) {
            std::cmp::Ordering::Greater => continue,
            std::cmp::Ordering::Equal => Property::NoDuplicates,
            std::cmp::Ordering::Less => Property::RoomOrder,
        };
        let received = |seq: u64, room_seq: u64| {
            let seen = book.seen(*room, room_seq)?;
            let event = seen.event.clone();
            Some((Fact::Received { reader, seq, event }, seen.at))
        };
        if let (Some((one, _)), Some((other, at))) =
            (received(before_seq, before), received(*seq, *room_seq))
        {
            blame(findings, property, at, [one, other]);
        }
    }
}
