//! The entries that reads imply (docs/protocol.md, 9.5), until a batch includes them.

use std::collections::VecDeque;

use chat_types::{Implied, Seq, Span, Time};
use sim_model::protocol::User;

use super::number_map::NumberMap;

/// The longest time that entries implied by reads may wait for other entries.
const DELAY: Span = Span::millis(250);

/// How far one participant has read since the server started.
#[derive(Clone, Copy, Debug, Default)]
struct ReadState {
    acknowledged: u64,
    delivered: u64,
    /// Whether an acknowledgement is not in a batch yet.
    has_read: bool,
    /// Whether a *seen* entry is not in a batch yet.
    is_seen: bool,
}

impl ReadState {
    const fn read(&self) -> Implied {
        Implied::Read {
            acknowledged: Seq(self.acknowledged),
            delivered: Seq(self.delivered),
        }
    }
}

/// How far all participants have read since the server started.
#[derive(Clone, Debug, Default)]
pub(super) struct Acknowledgements {
    states: NumberMap<ReadState>,
    /// Participants with implied entries that are not in a batch, in the order in which they arose.
    waiting: VecDeque<User>,
    due: Option<Time>,
}

impl Acknowledgements {
    /// The position after which a check without a cursor reads; `committed` is the inbox's own.
    pub(super) fn delivered(&self, user: User, committed: u64) -> u64 {
        committed.max(self.states.get(user.0).delivered)
    }

    /// The participant made a sign of life.
    pub(super) fn record_sign_of_life(&mut self, at: Time, user: User) {
        self.note(at, user, |state| state.is_seen = true);
    }

    /// The participant acknowledges everything up to `after`.
    pub(super) fn acknowledge(&mut self, at: Time, user: User, after: u64) {
        self.note(at, user, |state| {
            state.has_read |= after > state.acknowledged;
            state.acknowledged = state.acknowledged.max(after);
            state.delivered = state.delivered.max(after);
        });
    }

    /// The last *read* entry of the participant was not written.
    pub(super) fn read_again(&mut self, at: Time, user: User) {
        self.note(at, user, |state| state.has_read = true);
    }

    /// An answer with events up to `cursor` left for the participant.
    pub(super) fn deliver(&mut self, at: Time, user: User, cursor: u64) {
        self.note(at, user, |state| {
            state.has_read |= cursor > state.delivered;
            state.delivered = state.delivered.max(cursor);
        });
    }

    fn note(&mut self, at: Time, user: User, change: impl FnOnce(&mut ReadState)) {
        let state = self.states.get_mut(user.0);
        let waited = state.has_read || state.is_seen;
        change(state);
        if !waited && (state.has_read || state.is_seen) {
            self.waiting.push_back(user);
            self.due.get_or_insert(at + DELAY);
        }
    }

    pub(super) fn forget(&mut self, user: User) {
        *self.states.get_mut(user.0) = ReadState::default();
        self.waiting.retain(|waiting| *waiting != user);
        if self.waiting.is_empty() {
            self.due = None;
        }
    }

    /// The instant by which a batch must include the implied entries.
    pub(super) fn due(&self, at_once: bool) -> Option<Time> {
        let since = |due: Time| Time(due.0.saturating_sub(DELAY.0));
        self.due.map(|due| if at_once { since(due) } else { due })
    }

    /// The participant that waits longest, and whether it also has a *seen* entry.
    pub(super) fn oldest(&self) -> Option<(User, bool)> {
        let user = *self.waiting.front()?;
        Some((user, self.states.get(user.0).is_seen))
    }

    /// The implied entry that waits longest.
    pub(super) fn first(&self) -> Option<(User, Implied)> {
        let user = *self.waiting.front()?;
        let state = self.states.get(user.0);
        let implied = match state.is_seen {
            true => Implied::Seen { waiting: None },
            false => state.read(),
        };
        Some((user, implied))
    }

    /// Passes the implied entries of at most `participants` participants to `give`.
    pub(super) fn take(&mut self, participants: usize, mut give: impl FnMut(User, Implied)) {
        for _ in 0..participants.min(self.waiting.len()) {
            let user = self.waiting.pop_front().unwrap_or_default();
            let state = self.states.get_mut(user.0);
            if std::mem::take(&mut state.is_seen) {
                give(user, Implied::Seen { waiting: None });
            }
            if std::mem::take(&mut state.has_read) {
                give(user, state.read());
            }
        }
        if self.waiting.is_empty() {
            self.due = None;
        }
    }
}
