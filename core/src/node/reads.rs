//! What reads imply: acknowledgements, how far answers went, and that somebody is there.
//!
//! Reads are answered from the committed state at once. What they imply is proposed later, once
//! for many of them. If a crash loses it, events are delivered again under the same `seq`.

use std::collections::VecDeque;

use chat_types::{Span, Time};

use crate::command::Implied;
use crate::id::{Seq, UserId};
use crate::table::Table;

/// How long what reads imply waits for something to ride along with.
const DELAY: Span = Span::millis(250);

/// What was read since the node started, by participant.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    users: Table<UserId, Mark>,
    /// Whose marks are to be proposed, in the order they were made.
    dirty: VecDeque<UserId>,
    /// When the oldest of them is proposed, even alone.
    due: Option<Time>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    acknowledged: Seq,
    delivered: Seq,
    read: bool,
    seen: bool,
}

impl Reads {
    /// Where a bare check of `user` goes on; `known` is how far the Hub knows.
    pub(super) fn delivered(&self, user: UserId, known: Seq) -> Seq {
        self.users
            .get(&user)
            .map_or(known, |mark| mark.delivered.max(known))
    }

    /// The caller has everything up to `after`.
    pub(super) fn acknowledge(&mut self, now: Time, user: UserId, after: Seq) {
        self.mark(now, user, |mark| {
            mark.read |= after > mark.acknowledged;
            mark.acknowledged = mark.acknowledged.max(after);
            mark.delivered = mark.delivered.max(after);
        });
    }

    /// An answer up to `cursor` goes to a caller who is still there.
    pub(super) fn deliver(&mut self, now: Time, user: UserId, cursor: Seq) {
        self.mark(now, user, |mark| {
            mark.read |= cursor > mark.delivered;
            mark.delivered = mark.delivered.max(cursor);
        });
    }

    /// The participant was heard of.
    pub(super) fn see(&mut self, now: Time, user: UserId) {
        self.mark(now, user, |mark| mark.seen = true);
    }

    fn mark(&mut self, now: Time, user: UserId, change: impl FnOnce(&mut Mark)) {
        if self.users.get(&user).is_none() {
            self.users.insert(user, Mark::default());
        }
        let Some(mark) = self.users.get_mut(&user) else {
            return;
        };
        let was_dirty = mark.read || mark.seen;
        change(mark);
        if !was_dirty && (mark.read || mark.seen) {
            self.dirty.push_back(user);
            self.due.get_or_insert(now + DELAY);
        }
    }

    pub(super) fn due(&self) -> Option<Time> {
        self.due
    }

    pub(super) fn is_due(&self, now: Time) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// What is to be proposed, of at most `limit` participants.
    pub(super) fn take(&mut self, limit: usize) -> Vec<(UserId, Implied)> {
        let mut implied = Vec::new();
        let mut users = 0;
        while users < limit
            && let Some(user) = self.dirty.pop_front()
        {
            // One that is forgotten takes no place.
            let Some(mark) = self.users.get_mut(&user) else {
                continue;
            };
            users += 1;
            if std::mem::take(&mut mark.seen) {
                implied.push((user, Implied::Seen { waiting: None }));
            }
            if std::mem::take(&mut mark.read) {
                let Mark {
                    acknowledged,
                    delivered,
                    ..
                } = *mark;
                implied.push((
                    user,
                    Implied::Read {
                        acknowledged,
                        delivered,
                    },
                ));
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
