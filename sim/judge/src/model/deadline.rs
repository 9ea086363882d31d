//! Deadlines, the passing of time, the return after downtime, and the numbers of a lost life, which
//! are passed. // 2.3, 2.6, 2.7

use std::collections::BTreeSet;

use chat_types::{Config, Continuity, LastNumbers, Span, Time};
use sim_model::protocol::{Room, User};

use super::Model;

/// A kind of deadline. Deadlines at the same instant fire in this order. // 2.3
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Deadline {
    /// A participant goes away, or is forgotten.
    Presence(User),
    /// The grant of a room's stick expires.
    Lease(Room),
    /// A waiter accepts any partner.
    Patience(User),
}

/// All deadlines, in the order in which they fire.
#[derive(Clone, Debug, Default)]
pub(super) struct Deadlines(BTreeSet<(Time, Deadline)>);

impl Deadlines {
    /// Sets the instant of a deadline. `before` is the one that its participant, stick or waiter had.
    pub(super) fn set(&mut self, what: Deadline, before: Option<Time>, after: Option<Time>) {
        if before != after {
            if let Some(before) = before {
                self.0.remove(&(before, what));
            }
            self.0.extend(after.map(|at| (at, what)));
        }
    }
}

impl Model {
    /// The deadline that fires next.
    pub(crate) fn next_deadline(&self) -> Option<(Time, Deadline)> {
        self.deadlines.0.first().copied()
    }

    /// Time passes: every deadline up to `at` fires at its own instant. // 2.2 (1)
    pub(super) fn pass(&mut self, at: Time) {
        let until = self.now.max(at);
        self.fire(until);
        self.now = until;
    }

    /// Fires deadlines up to `until`; after each the next is determined again. // 2.3
    fn fire(&mut self, until: Time) {
        while let Some((at, deadline)) = self.next_deadline() {
            if at > until {
                break;
            }
            self.now = self.now.max(at);
            match deadline {
                Deadline::Presence(user) => self.presence_is_over(user),
                Deadline::Lease(room) => self.end_lease(room, |epoch| epoch),
                Deadline::Patience(user) => self.patience_is_over(user),
            }
        }
    }

    /// The server has restarted after downtime. // 2.6
    pub(super) fn resume(&mut self, at: Time, config: &Config, continuity: Continuity) {
        let down = at.since(self.now);
        self.now = self.now.max(at); // 2.6 (1)
        let is_lost = continuity == Continuity::Broken;
        if is_lost {
            self.pass_numbers(down); // 2.7
        }
        let users: Vec<User> = self.participants.numbers().into_iter().map(User).collect();
        let was = self.cooldown();
        self.config = config.clone();
        let (now, is) = (self.now, self.cooldown());
        self.shift(down); // 2.6 (3), (4)
        for user in users {
            self.participant_mut(user).stress_state.settle(now, was, is); // 2.6 (2), 10.4
            if self.participant(user).presence.streams > 0 {
                self.lose_last_stream(user); // 2.6 (3)
            }
        }
        if is_lost {
            // The epochs of the lost life are passed, and its grants end. // 2.7
            for room in self.rooms.numbers().into_iter().map(Room) {
                self.end_lease(room, |epoch| pass(epoch, down));
            }
        }
        self.fire(self.now); // 2.6 (5)
    }

    /// The clock went forward by a step. // 2.8
    pub(super) fn step(&mut self, at: Time) {
        let step = at.since(self.now);
        self.now = self.now.max(at);
        self.shift(step);
        self.fire(self.now);
    }

    /// Moves all deadlines later.
    fn shift(&mut self, by: Span) {
        for user in self.participants.numbers().into_iter().map(User) {
            self.change_presence(user, |presence| presence.until += by);
        }
        for room in self.rooms.numbers().into_iter().map(Room) {
            self.shift_lease(room, by);
        }
        self.shift_line(by);
    }

    /// The time until an alert boss calms down by one level. // 10.2
    pub(super) fn cooldown(&self) -> Span {
        match self.config.boss_alertness_cooldown {
            Span::ZERO => Span::secs(1),
            cooldown => cooldown,
        }
    }
}

/// The largest number.
const LAST: u64 = (1 << 53) - 1;

/// The numbers that are not behind those of a life that was lost: what a new one goes on behind, and
/// what the lost one gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GivenAgain {
    /// The items that the numbers count.
    pub(crate) what: Numbered,
    /// The last one that clients may know.
    pub(crate) given: u64,
    /// The one behind which the next life goes on.
    pub(crate) next: u64,
}

/// The items that a series of numbers counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbered {
    /// The participants of the server.
    Users,
    /// The rooms of the server.
    Rooms,
    /// The events of this participant's inbox.
    Inbox(User),
    /// The events of this room.
    Room(Room),
    /// The grants of this room's stick.
    Grants(Room),
}

/// The number after a step over `down`. // 2.7
fn pass(last: u64, down: Span) -> u64 {
    last + (down.0.saturating_add(1_000_000)).min((LAST - last) / 8)
}

impl Model {
    /// The numbers of participants, rooms and events pass those of a lost life. // 2.7
    pub(super) fn pass_numbers(&mut self, down: Span) {
        self.has_lost_life = true;
        for last in [&mut self.participants.last, &mut self.rooms.last] {
            *last = pass(*last, down);
        }
        for user in self.participants.numbers().into_iter().map(User) {
            let participant = self.participant_mut(user);
            let end = pass(participant.inbox.end, down);
            participant.inbox.pass_to(end);
            self.grown.push(user);
        }
        for room in self.rooms.numbers().into_iter().map(Room) {
            let place = self.place_mut(room);
            place.last_seq = pass(place.last_seq, down);
        }
    }

    /// The first number of this state that a server which goes on from `position` and behind `next`
    /// gives again. Where all is lost, nothing says how far the steps of earlier lives went: such a
    /// server passes one step.
    pub(crate) fn given_beyond(&self, position: u64, next: &LastNumbers) -> Option<GivenAgain> {
        let most = match position == 0 && self.has_lost_life {
            true => pass(0, Span::ZERO),
            false => LAST,
        };
        let numbers = [
            (Numbered::Users, self.participants.last, next.user.0),
            (Numbered::Rooms, self.rooms.last, next.room.0),
        ];
        let inboxes = next.inboxes.iter().filter_map(|(user, next)| {
            let given = self.inbox(*user)?.end;
            Some((Numbered::Inbox(*user), given, next.0))
        });
        let places = next.places.iter().filter_map(|(room, (seq, epoch))| {
            let given = self.rooms.get(room.0)?.last_seq;
            let grants = self.stick(*room).map_or(0, |stick| stick.epoch);
            let both = [
                (Numbered::Room(*room), given, seq.0),
                (Numbered::Grants(*room), grants, epoch.0),
            ];
            Some(both)
        });
        let all = numbers.into_iter().chain(inboxes).chain(places.flatten());
        let known = |(what, given, next): (_, u64, _)| GivenAgain {
            what,
            given: given.min(most),
            next,
        };
        all.map(known).find(|one| one.next < one.given)
    }
}
