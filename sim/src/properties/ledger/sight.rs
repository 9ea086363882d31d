//! How the order of a room becomes known: by events as they arrive, and by senders' answers.

use chat_core::Time;

use super::event::Event;
use super::person::Last;
use super::room::{Claim, Entry};
use super::seen::Noted;
use super::{Clock, Ledger};
use crate::protocol::{Presence, Room, User};

/// An event as it reaches somebody for the first time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) person: usize,
    pub(crate) room: Room,
    pub(crate) room_seq: u64,
    pub(crate) inbox_seq: u64,
    pub(crate) sent_at: Time,
    pub(crate) event: Event,
    pub(crate) text: u64,
    pub(crate) print: u64,
}

/// What was known before an arrival, and what it adds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight<'a> {
    pub(crate) arrival: &'a Arrival,
    pub(crate) user: User,
    pub(crate) slot: usize,
    /// What was known of the place; none if it lies too far back to be remembered.
    pub(crate) before: Option<Entry>,
    /// Whether the person has it for the first time.
    pub(crate) noted: Noted,
    /// Whether a gap had told the person that it may be missing.
    pub(crate) gapped: bool,
    /// The person's last event of the room until then.
    pub(crate) last: Last,
}

impl Sight<'_> {
    /// Whether no client had seen the place before.
    pub(crate) fn is_first(&self) -> bool {
        self.before.is_some_and(|before| !before.is_shown())
    }
}

/// What was known of a place before a sender was told that its message stands there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claimed {
    pub(crate) slot: Option<usize>,
    pub(crate) before: Option<Entry>,
}

impl Ledger {
    /// An event reached somebody for the first time: enters it where it belongs.
    pub(crate) fn arrive<'a>(&mut self, arrival: &'a Arrival) -> Sight<'a> {
        let Arrival {
            person,
            room,
            room_seq,
            ..
        } = *arrival;
        let mut index = self.people[person].stay_at(room, room_seq);
        let slot = match index {
            Some(index) => self.people[person].memberships[index].slot,
            None => self.room(room),
        };
        let before = self.enter(slot, arrival);
        if before.is_some_and(|before| !before.is_shown())
            && !matches!(arrival.event, Event::Message { .. })
        {
            self.take_effect(slot, room_seq, arrival.event);
            index = self.people[person].stay_at(room, room_seq);
        }
        let index = index.unwrap_or_else(|| self.guess_stay(person, slot, room_seq));
        let someone = &mut self.people[person];
        let stay = &mut someone.memberships[index];
        stay.reach(room_seq);
        // One's own join may show after others have seen the next one.
        if stay.joined.is_none() && arrival.event == Event::Member(someone.user, Presence::Joined) {
            stay.begin(room_seq);
        }
        // And one's own leave when the stay that it ended is settled and forgotten.
        if arrival.event == Event::Member(someone.user, Presence::Left) {
            if stay.joined.is_none() {
                stay.begin(room_seq);
                stay.left = Some(room_seq);
            }
            // Where it ended was only guessed as long as nobody told.
            if stay.loose {
                stay.left = Some(room_seq);
                stay.loose = false;
            }
        }
        // The end may have been shown to another before anyone knew that this one was there.
        if let Event::Ended(_) = arrival.event {
            stay.left.get_or_insert(room_seq);
        }
        let last = stay.last;
        let noted = stay.seen.note(room_seq);
        if room_seq > last.room_seq {
            stay.last = Last {
                room_seq,
                inbox_seq: arrival.inbox_seq,
                sent_at: arrival.sent_at,
            };
        }
        let gapped = noted == Noted::Again && stay.is_gapped(room_seq);
        let user = someone.user;
        if self.rooms[slot].wants_trim() {
            self.trim(slot);
        }
        Sight {
            arrival,
            user,
            slot,
            before,
            noted,
            gapped,
            last,
        }
    }

    /// Writes what is new into the room's order, and hands back what was known before.
    fn enter(&mut self, slot: usize, arrival: &Arrival) -> Option<Entry> {
        let Clock { now, era, .. } = self.clock;
        let entry = self.rooms[slot].entry_mut(arrival.room_seq)?;
        let before = *entry;
        if !before.is_shown() {
            entry.event = arrival.event;
            entry.shown = arrival.print;
            entry.text = arrival.text;
            entry.sent_at = arrival.sent_at;
            if !before.is_known() {
                entry.known_at = now;
                entry.era = era;
            }
        }
        Some(before)
    }

    /// A sender was told that its call made the message at this place. Hands back what was known
    /// of it before; none if the room or the place is no longer remembered.
    pub(crate) fn claim(&mut self, room: Room, seq: u64, user: User, claim: Claim) -> Claimed {
        let Clock { now, era, .. } = self.clock;
        // A sender who named no room may be told of it by this very answer, before anyone else.
        let forgotten = self.last_forgotten.is_some_and(|last| room <= last);
        let slot = match self.room_known(room) {
            Some(slot) => slot,
            None if !forgotten => self.room(room),
            None => {
                return Claimed {
                    slot: None,
                    before: None,
                };
            }
        };
        let Some(entry) = self.rooms[slot].entry_mut(seq) else {
            return Claimed {
                slot: Some(slot),
                before: None,
            };
        };
        let before = *entry;
        if before.claim.is_none() {
            entry.claim = Some(claim);
        }
        if !before.is_known() {
            entry.event = Event::Message {
                sender: user,
                epoch: None,
            };
            entry.known_at = now;
            entry.era = era;
        }
        if let Some(person) = self.person_known(user)
            && let Some(index) = self.people[person].stay_at(room, seq)
        {
            let stay = &mut self.people[person].memberships[index];
            stay.reach(seq);
            stay.seen.note(seq);
        }
        Claimed {
            slot: Some(slot),
            before: Some(before),
        }
    }
}
