//! Deadlines, the passing of time, and the return after downtime. // 2.3, 2.6

use std::collections::{BTreeMap, BTreeSet};

use chat_types::{Config, Continuity, Span, Time};
use sim_model::protocol::{Room, User};

use super::Model;

/// A kind of deadline. Deadlines at the same instant fire in this order. // 2.3
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Deadline {
    /// A participant goes away, or is forgotten.
    Presence(User),
    /// The grant of a room's stick expires.
    Lease(Room),
    /// A waiter accepts any partner.
    Patience(User),
}

/// All deadlines, also in the order in which they fire.
#[derive(Clone, Debug, Default)]
pub(super) struct Deadlines {
    instants: BTreeMap<Deadline, Time>,
    in_order: BTreeSet<(Time, Deadline)>,
}

impl Deadlines {
    pub(super) fn next(&self) -> Option<(Time, Deadline)> {
        self.in_order.first().copied()
    }

    /// Sets the instant of a deadline, or removes it.
    pub(super) fn set(&mut self, what: Deadline, at: Option<Time>) {
        let before = match at {
            Some(at) => self.instants.insert(what, at),
            None => self.instants.remove(&what),
        };
        if before != at {
            if let Some(before) = before {
                self.in_order.remove(&(before, what));
            }
            self.in_order.extend(at.map(|at| (at, what)));
        }
    }
}

impl Model {
    /// The deadline that fires next.
    pub(crate) fn next_deadline(&self) -> Option<(Time, Deadline)> {
        self.deadlines.next()
    }

    /// Time passes: every deadline up to `at` fires at its own instant. // 2.2 (1)
    pub(super) fn pass(&mut self, at: Time) {
        let until = self.now.max(at);
        self.fire(until);
        self.now = until;
    }

    /// Fires deadlines up to `until`; after each the next is determined again. // 2.3
    fn fire(&mut self, until: Time) {
        while let Some((at, deadline)) = self.deadlines.next() {
            if at > until {
                break;
            }
            self.now = self.now.max(at);
            match deadline {
                Deadline::Presence(user) => self.presence_is_over(user),
                Deadline::Lease(room) => self.expire_stick(room),
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
        for &user in &users {
            self.participant_mut(user).stress_state.settle(now, was, is); // 2.6 (2), 10.4
        }
        for &user in &users {
            // 2.6 (3)
            if self.participant(user).presence.streams > 0 {
                self.lose_last_stream(user);
            } else {
                self.change_presence(user, |presence| presence.until += down);
            }
        }
        for room in self.rooms.numbers().into_iter().map(Room) {
            match is_lost {
                true => self.pass_epochs(room, down),  // 2.7
                false => self.shift_lease(room, down), // 2.6 (4)
            }
        }
        self.shift_line(down); // 2.6 (4)
        self.fire(self.now); // 2.6 (5)
    }

    /// The clock went forward by a step. // 2.8
    pub(super) fn step(&mut self, at: Time) {
        let step = at.since(self.now);
        self.now = self.now.max(at);
        for user in self.participants.numbers().into_iter().map(User) {
            self.change_presence(user, |presence| presence.until += step);
        }
        for room in self.rooms.numbers().into_iter().map(Room) {
            self.shift_lease(room, step);
        }
        self.shift_line(step);
        self.fire(self.now);
    }

    /// The time until an alert boss calms down by one level. // 10.2
    pub(super) fn cooldown(&self) -> Span {
        match self.config.boss_alertness_cooldown {
            Span::ZERO => Span::secs(1),
            cooldown => cooldown,
        }
    }
}
