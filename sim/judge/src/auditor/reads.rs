//! What reads imply (docs/protocol.md, 9.5), until a batch takes it along.

use std::collections::VecDeque;

use chat_types::{Span, Time};
use sim_model::protocol::User;
use sim_model::server::Entry;

use super::by_number::ByNumber;

/// How long what reads imply may wait for other entries.
const DELAY: Span = Span::millis(250);

/// What one participant has read since the server started.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    acknowledged: u64,
    delivered: u64,
    /// Whether it has read on, and that is not in a batch.
    has_read: bool,
    /// Whether it was heard of, and that is not in a batch.
    is_heard: bool,
}

/// What all participants have read since the server started.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    marks: ByNumber<Mark>,
    /// Those of whom something is not in a batch, in the order in which it came up.
    waiting: VecDeque<User>,
    due: Option<Time>,
}

impl Reads {
    /// Where a check without a cursor begins; `committed` is what the inbox knows.
    pub(super) fn delivered(&self, user: User, committed: u64) -> u64 {
        committed.max(self.marks.get(user.0).delivered)
    }

    /// The participant was heard of.
    pub(super) fn hear(&mut self, at: Time, user: User) {
        self.note(at, user, |mark| mark.is_heard = true);
    }

    /// The participant says that it has everything up to `after`.
    pub(super) fn acknowledge(&mut self, at: Time, user: User, after: u64) {
        self.note(at, user, |mark| {
            mark.has_read |= after > mark.acknowledged;
            mark.acknowledged = mark.acknowledged.max(after);
            mark.delivered = mark.delivered.max(after);
        });
    }

    /// An answer up to `cursor` left for the participant.
    pub(super) fn deliver(&mut self, at: Time, user: User, cursor: u64) {
        self.note(at, user, |mark| {
            mark.has_read |= cursor > mark.delivered;
            mark.delivered = mark.delivered.max(cursor);
        });
    }

    fn note(&mut self, at: Time, user: User, change: impl FnOnce(&mut Mark)) {
        let mark = self.marks.get_mut(user.0);
        let waited = mark.has_read || mark.is_heard;
        change(mark);
        if !waited && (mark.has_read || mark.is_heard) {
            self.waiting.push_back(user);
            self.due.get_or_insert(at + DELAY);
        }
    }

    pub(super) fn forget(&mut self, user: User) {
        *self.marks.get_mut(user.0) = Mark::default();
        self.waiting.retain(|waiting| *waiting != user);
        if self.waiting.is_empty() {
            self.due = None;
        }
    }

    /// When a batch must take it along at the latest.
    pub(super) fn due(&self, at_once: bool) -> Option<Time> {
        let since = |due: Time| Time(due.0.saturating_sub(DELAY.0));
        self.due.map(|due| if at_once { since(due) } else { due })
    }

    /// Who has waited longest, and whether it was heard of.
    pub(super) fn oldest(&self) -> Option<(User, bool)> {
        let user = *self.waiting.front()?;
        Some((user, self.marks.get(user.0).is_heard))
    }

    /// Gives the entries of a batch, of at most so many participants.
    pub(super) fn take(&mut self, participants: usize, mut give: impl FnMut(Entry)) {
        for _ in 0..participants.min(self.waiting.len()) {
            let user = self.waiting.pop_front().unwrap_or_default();
            let mark = self.marks.get_mut(user.0);
            if std::mem::take(&mut mark.is_heard) {
                let waiting = None;
                give(Entry::Seen { user, waiting });
            }
            if std::mem::take(&mut mark.has_read) {
                give(Entry::Read {
                    user,
                    acknowledged: mark.acknowledged,
                    delivered: mark.delivered,
                });
            }
        }
        if self.waiting.is_empty() {
            self.due = None;
        }
    }
}
