//! Faults healed, a claimant is granted within place × lease + 2 s.

use chat_core::{Span, Time};

use super::findings::{Findings, Property, name};
use super::ledger::Ledger;
use super::ledger::client::Call;
use crate::protocol::Room;

/// What comes on top of the leases.
const SLACK: Span = Span::secs(2);

/// Somebody who was told to wait for a stick.
#[derive(Clone, Copy, Debug)]
struct Wait {
    person: usize,
    room: Room,
    place: u32,
    answered_at: Time,
}

/// The property.
#[derive(Clone, Debug, Default)]
pub(crate) struct StickProgress {
    pub(crate) checks: u64,
    waits: Vec<Wait>,
}

impl Wait {
    fn deadline(&self, l: &Ledger, healed: Time) -> Time {
        let leases = l.config.stick_lease.times(u64::from(self.place));
        self.answered_at.max(healed) + leases + SLACK
    }
}

impl StickProgress {
    /// Somebody was told its place, 0 if it holds the stick.
    pub(crate) fn answered(
        &mut self,
        l: &mut Ledger,
        person: usize,
        call: &Call,
        (room, place, epoch): (Room, u32, u64),
    ) {
        if place == 0 {
            if self.drop(l, person, Some(room)) && l.clock.healed_at.is_some() {
                self.checks += 1;
            }
            return;
        }
        // A remembered answer, or one that comes after the news of the grant, or that the claimant
        // was taken for gone or the room closed, or while it withdraws what it claimed, tells of a
        // claim that may be over.
        let claimed_at = call.at + l.clock.jumped;
        let overtaken = l.people[person].dropped_at >= claimed_at
            || l.people[person].may_have_withdrawn(room, claimed_at);
        let granted = l
            .stay(person, room)
            .is_some_and(|stay| stay.own_epoch > epoch);
        if call.attempts > 1 || overtaken || granted {
            return;
        }
        let wait = Wait {
            person,
            room,
            place,
            answered_at: l.clock.now,
        };
        l.people[person].claims_stick = true;
        let known = self
            .waits
            .iter_mut()
            .find(|w| w.person == person && w.room == room);
        match (known, l.clock.healed_at) {
            (None, _) => self.waits.push(wait),
            (Some(known), None) => *known = wait,
            // Whichever promises more: the places can only shrink.
            (Some(known), Some(healed)) => {
                if wait.deadline(l, healed) < known.deadline(l, healed) {
                    *known = wait;
                }
            }
        }
    }

    /// Somebody's claim may be over: granted, withdrawn, or gone with its claimant.
    pub(crate) fn drop(&mut self, l: &mut Ledger, person: usize, room: Option<Room>) -> bool {
        if !l.people[person].claims_stick {
            return false;
        }
        let before = self.waits.len();
        self.waits
            .retain(|w| w.person != person || room.is_some_and(|room| room != w.room));
        l.people[person].claims_stick = self.waits.iter().any(|w| w.person == person);
        self.waits.len() < before
    }

    /// Somebody went out of a room, or the room is no more, as of this time by the server's clock:
    /// what it claimed before is over, even if the answer to it comes later.
    pub(crate) fn dropped(&mut self, l: &mut Ledger, person: usize, room: Room, sent_at: Time) {
        let dropped_at = &mut l.people[person].dropped_at;
        *dropped_at = sent_at.max(*dropped_at);
        self.drop(l, person, Some(room));
    }

    /// Somebody was granted the stick, at this time by the server's clock.
    pub(crate) fn granted(
        &mut self,
        l: &mut Ledger,
        person: usize,
        room: Room,
        sent_at: Time,
        f: &mut Findings,
    ) {
        let granted_at = Time(sent_at.0.saturating_sub(l.clock.jumped.0));
        if l.clock.healed_at.is_some_and(|healed| granted_at > healed) {
            self.judge(l, person, Some(room), granted_at, f);
            if l.people[person].claims_stick {
                self.checks += 1;
            }
        }
        self.drop(l, person, Some(room));
    }

    /// Somebody's inbox is empty as of `empty_at`: no grant has come until then.
    pub(crate) fn emptied(&mut self, l: &mut Ledger, person: usize, f: &mut Findings) {
        let empty_at = l.people[person].empty_at;
        self.judge(l, person, None, empty_at, f);
    }

    fn judge(
        &mut self,
        l: &mut Ledger,
        person: usize,
        room: Option<Room>,
        until: Time,
        f: &mut Findings,
    ) {
        let Some(healed) = l.clock.healed_at else {
            return;
        };
        let late = self.waits.iter().position(|w| {
            w.person == person
                && room.is_none_or(|room| room == w.room)
                && until > w.deadline(l, healed)
        });
        let Some(late) = late else {
            return;
        };
        let wait = self.waits.swap_remove(late);
        self.checks += 1;
        let user = l.people[person].user;
        f.blame(Property::StickProgress, l.clock.now, &[user], || {
            format!(
                "{} was at place {} for the stick of room_{}, and was not granted it in time",
                name(user),
                wait.place,
                wait.room.0
            )
        });
    }
}
