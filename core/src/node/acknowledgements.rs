//! The acknowledgement coalescer: what reads imply for the state, namely acknowledgements, the ends
//! of answers, and presence.
//!
//! Reads are answered from the committed state at once. Their consequences are proposed later, in
//! one entry for many reads. If a crash loses it, events are delivered again under the same `seq`.

use std::collections::VecDeque;

use chat_types::{Seq, Span, Time, UserId};

use crate::table::Table;
use chat_types::Implied;

/// The longest time that a consequence waits for a batch to join.
const DELAY: Span = Span::millis(250);

/// The reads since the node started, by participant.
#[derive(Clone, Debug, Default)]
pub(super) struct Acknowledgements {
    users: Table<UserId, Progress>,
    /// The participants with changes to propose, in order.
    dirty: VecDeque<UserId>,
    /// When the oldest change is proposed at the latest.
    due: Option<Time>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    acknowledged: Seq,
    delivered: Seq,
    read: bool,
    seen: bool,
}

impl Acknowledgements {
    /// The place after which a bare check of `user` continues; `known` is the Hub's value.
    pub(super) fn delivered(&self, user: UserId, known: Seq) -> Seq {
        let progress = self.users.get(&user);
        progress.map_or(known, |progress| progress.delivered.max(known))
    }

    /// Records that the caller has received everything up to `after`.
    pub(super) fn acknowledge(&mut self, now: Time, user: UserId, after: Seq) {
        self.update(now, user, |progress| {
            progress.read |= after > progress.acknowledged;
            progress.acknowledged = progress.acknowledged.max(after);
            progress.delivered = progress.delivered.max(after);
        });
    }

    /// Records that an answer up to `cursor` goes to a caller that is still connected.
    pub(super) fn deliver(&mut self, now: Time, user: UserId, cursor: Seq) {
        self.update(now, user, |progress| {
            progress.read |= cursor > progress.delivered;
            progress.delivered = progress.delivered.max(cursor);
        });
    }

    /// Records that the participant was seen.
    pub(super) fn see(&mut self, now: Time, user: UserId) {
        self.update(now, user, |progress| progress.seen = true);
    }

    /// Records that a consequence was not written.
    pub(super) fn imply_again(&mut self, now: Time, user: UserId, implied: Implied) {
        self.update(now, user, |progress| match implied {
            Implied::Read { .. } => progress.read = true,
            Implied::Seen { .. } => progress.seen = true,
            Implied::OpenStream | Implied::CloseStream => {}
        });
    }

    fn update(&mut self, now: Time, user: UserId, change: impl FnOnce(&mut Progress)) {
        let progress = self.users.get_or_default(user);
        let was_dirty = progress.read || progress.seen;
        change(progress);
        if !was_dirty && (progress.read || progress.seen) {
            self.dirty.push_back(user);
            self.due.get_or_insert(now + DELAY);
        }
    }

    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }

    /// The consequences to propose, of at most `limit` participants.
    pub(super) fn take(&mut self, limit: usize) -> Vec<(UserId, Implied)> {
        let mut implied = Vec::new();
        let mut users = 0;
        while users < limit
            && let Some(user) = self.dirty.pop_front()
        {
            // A participant whose registration ended does not count against the limit.
            let Some(progress) = self.users.get_mut(&user) else {
                continue;
            };
            users += 1;
            if std::mem::take(&mut progress.seen) {
                implied.push((user, Implied::Seen { waiting: None }));
            }
            if std::mem::take(&mut progress.read) {
                let read = Implied::Read {
                    acknowledged: progress.acknowledged,
                    delivered: progress.delivered,
                };
                implied.push((user, read));
            }
        }
        if self.dirty.is_empty() {
            self.due = None;
        }
        implied
    }

    pub(super) fn forget(&mut self, user: UserId) {
        self.users.remove(&user);
    }
}
