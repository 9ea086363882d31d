//! Presence: present, in grace, away, forgotten. // 2.4, 2.5, 9

use chat_types::{Span, Time};
use sim_model::protocol::{Code, Decided, EndReason, Refusal, Reply, User};

use super::deadline::Deadline;
use super::{Body, Model, refuse};

/// The state of a participant's presence. // 2.4
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Present, and its handle was never used.
    Unused,
    /// Present.
    Present,
    /// Its last stream closed, and no call came since.
    Grace,
    /// Away.
    Away,
}

/// A participant's presence. // 2.4
#[derive(Clone, Copy, Debug)]
pub(super) struct Presence {
    pub(super) state: State,
    pub(super) until: Time,
    pub(super) streams: u32,
}

impl Presence {
    /// `None` while a stream is open. // 2.3
    pub(super) const fn deadline(&self) -> Option<Time> {
        match self.streams {
            0 => Some(self.until),
            _ => None,
        }
    }
}

impl Model {
    /// The state of the participant's presence.
    pub(crate) fn presence(&self, user: User) -> Option<State> {
        Some(self.participants.get(user.0)?.presence.state)
    }

    /// Whether the participant is registered, and its handle was never used.
    pub(crate) fn is_unused(&self, user: User) -> bool {
        self.presence(user) == Some(State::Unused)
    }

    /// Whether a read at `at` implies a *seen* entry. // 9.5
    pub(crate) fn wants_seen(&self, user: User, at: Time) -> bool {
        let Some(participant) = self.participants.get(user.0) else {
            return false;
        };
        let presence = &participant.presence;
        match presence.state {
            State::Unused | State::Grace | State::Away => true,
            State::Present if presence.streams > 0 => false,
            State::Present => presence.until.since(at).times(4) < self.stays_present(user).times(3),
        }
    }

    pub(super) fn change_presence(&mut self, user: User, change: impl FnOnce(&mut Presence)) {
        let presence = &mut self.participant_mut(user).presence;
        let before = presence.deadline();
        change(presence);
        let after = presence.deadline();
        self.deadlines.set(Deadline::Presence(user), before, after);
    }

    /// The participant's presence is in this state from now on, for so long.
    fn enter(&mut self, user: User, state: State, stays: Span) {
        let until = self.now + stays;
        self.change_presence(user, |presence| {
            presence.state = state;
            presence.until = until;
        });
    }

    /// How long the participant stays present after a use of its handle. // 2.2 (6)
    fn stays_present(&self, user: User) -> Span {
        let idle = self.config.idle_timeout;
        match self.participant(user).ticket {
            Some(_) => idle.min(self.config.queue_timeout),
            None => idle,
        }
    }

    /// The presence deadline after a use of the handle. // 2.2 (6)
    pub(super) fn renew(&mut self, user: User) {
        if self.presence(user) == Some(State::Present) {
            let until = self.now + self.stays_present(user);
            self.change_presence(user, |presence| presence.until = until);
        }
    }

    /// Renews presence. // 2.5
    pub(super) fn seen(&mut self, user: User) {
        let before = self.participant(user).presence.state;
        self.enter(user, State::Present, self.config.idle_timeout);
        match before {
            State::Unused | State::Present => {}
            State::Grace => {
                if let Some(room) = self.participant(user).pair {
                    let back = Body::PartnerReconnected(self.who(user));
                    self.post(room, back, Some(user));
                }
            }
            State::Away => {
                for room in self.participant(user).live.clone() {
                    if !self.is_pair(room) {
                        self.post(room, Body::Back(self.who(user)), None);
                    }
                }
            }
        }
    }

    /// An open-stream call, after the steps of the envelope. // 9.1
    pub(super) fn open_stream(&mut self, user: User) -> Decided {
        if self.participant(user).presence.streams >= self.config.max_streams {
            return Err(Refusal {
                retry_after: Some(Span::secs(1)),
                ..refuse(Code::RateLimited)
            });
        }
        self.change_presence(user, |presence| presence.streams += 1);
        Ok(Reply::Done)
    }

    /// The implied *close stream*. // 9.2
    pub(super) fn close_stream(&mut self, user: User) {
        match self.participant(user).presence.streams {
            0 => {}
            1 => self.lose_last_stream(user),
            _ => self.change_presence(user, |presence| presence.streams -= 1),
        }
    }

    /// The last stream closed, or the server went down while it was open. // 9.2, 2.6
    pub(super) fn lose_last_stream(&mut self, user: User) {
        let lost = Presence {
            state: State::Grace,
            until: self.now + self.config.reconnect_grace,
            streams: 0,
        };
        self.change_presence(user, |presence| *presence = lost);
        if let Some(room) = self.participant(user).pair {
            self.post(room, Body::PartnerAway(self.who(user)), Some(user));
        }
    }

    /// The presence deadline fires. // 2.4
    pub(super) fn presence_is_over(&mut self, user: User) {
        match self.participant(user).presence.state {
            State::Unused => {
                self.go_away(user);
                self.forget(user);
            }
            State::Present | State::Grace => self.go_away(user),
            State::Away => self.forget(user),
        }
    }

    /// The participant goes away. // 9.3
    fn go_away(&mut self, user: User) {
        self.enter(user, State::Away, self.config.forget_after);
        self.leave_line(user);
        for room in self.participant(user).live.clone() {
            if self.is_pair(room) {
                self.end_pair(room, EndReason::Timeout, None);
            } else {
                self.give_up_stick(room, user);
                self.post(room, Body::Away(self.who(user)), None);
            }
        }
    }

    /// Whether the participant gives way to a caller from this address. // 5.1
    pub(super) fn gives_way(&self, user: User, from: u64) -> bool {
        self.participant(user).address == from
            && matches!(self.presence(user), Some(State::Away | State::Unused))
    }

    /// The first among these that gives way to a caller from this address. // 5.1
    pub(super) fn first_to_give_way(
        &self,
        users: impl Iterator<Item = User>,
        from: u64,
    ) -> Option<User> {
        let yielding = users.filter(|user| self.gives_way(*user, from));
        yielding.min_by_key(|user| {
            let presence = &self.participant(*user).presence;
            (presence.state != State::Away, presence.until, *user)
        })
    }

    /// The participant among these that has been away longest; `None` if none is away. // 5.1
    pub(super) fn longest_away(&self, users: impl Iterator<Item = User>) -> Option<User> {
        let away = users.filter(|user| self.presence(*user) == Some(State::Away));
        away.min_by_key(|user| (self.participant(*user).presence.until, *user))
    }

    /// The participant is forgotten. // 9.4
    pub(super) fn forget(&mut self, user: User) {
        self.leave_line(user);
        for room in self.participant(user).live.clone() {
            self.leave(room, user);
        }
        for room in std::mem::take(&mut self.participant_mut(user).ended) {
            self.forget_ended(room, user);
        }
        let participant = self
            .participants
            .remove(user.0)
            .expect("it was registered above");
        let deadline = participant.presence.deadline();
        self.deadlines.set(Deadline::Presence(user), deadline, None);
        self.handles.remove(&participant.handle);
        self.readers.remove(&participant.reader);
        self.drop_keys(&participant.who.name);
        if let Some(registered) = self.by_address.get_mut(&participant.address) {
            *registered -= 1;
        }
        if let Some(id) = &participant.who.chosen_id {
            self.drop_keys(id);
        }
        self.forgotten.push(user);
    }
}
