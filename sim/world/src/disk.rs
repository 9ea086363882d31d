//! The simulated journal: it commits after a delay, can be slow or fail, and can lose uncommitted
//! entries in a crash.

use std::collections::VecDeque;

use chat_core::{Entry, Hub, Node, Position, Reject, Reply};
use chat_types::{Config, Time};

/// The largest number of entries that are kept in place of a snapshot.
const LONG_TAIL: usize = 1_000;

/// The data that survives a crash.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    keep: Keep,
    /// The number of entries after which a snapshot replaces the tail.
    snapshot_every: usize,
    /// A serialised snapshot; none before the first one.
    written: Option<Vec<u8>>,
    /// The entries committed since the last snapshot.
    tail: Vec<Committed>,
    /// The number of entries of the tail that the last snapshot covers. Its bytes follow from them,
    /// so they are serialised only when a recovery reads them.
    covered: usize,
    /// The entries of the append in progress.
    pending: VecDeque<Entry>,
    /// The number of those entries, also when they are not kept.
    entries: u64,
}

/// A committed entry.
#[derive(Clone, Debug)]
struct Committed {
    at: Time,
    entry: Entry,
    /// Its outcome; none if the server crashed before it applied the entry.
    decided: Option<Result<Reply, Reject>>,
}

/// Whether entries are kept for a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// A crash is possible.
    Entries,
    /// No crash is possible.
    Nothing,
}

/// The outcomes of an entry before a crash, if it was applied, and in the recovery.
#[derive(Clone, Copy)]
pub(crate) struct Decisions<'d> {
    pub(crate) before: Option<&'d Result<Reply, Reject>>,
    pub(crate) now: &'d Result<Reply, Reject>,
}

/// The fate of an append in progress at a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsynced {
    /// Not written.
    Lost,
    /// Written, although no one was notified.
    Written,
}

impl Disk {
    pub(crate) fn new(keep: Keep, snapshot_every: u32) -> Self {
        Self {
            keep,
            snapshot_every: usize::try_from(snapshot_every).unwrap_or(usize::MAX),
            written: None,
            tail: Vec::new(),
            covered: 0,
            pending: VecDeque::new(),
            entries: 0,
        }
    }

    /// Starts an append.
    pub(crate) fn begin(&mut self, batch: &[Entry]) {
        if self.keep == Keep::Entries {
            self.pending.extend(batch.iter().cloned());
        }
        self.entries = batch.len() as u64;
    }

    /// Drops an append that failed and wrote nothing.
    pub(crate) fn abandon(&mut self) {
        self.pending.clear();
        self.entries = 0;
    }

    /// Commits the next entry of the append, with its outcome.
    pub(crate) fn commit(&mut self, at: Time, decided: &Result<Reply, Reject>) {
        if let Some(entry) = self.pending.pop_front() {
            let decided = Some(decided.clone());
            self.tail.push(Committed { at, entry, decided });
        }
        self.entries = self.entries.saturating_sub(1);
    }

    /// Replaces a long tail by a snapshot. `hub` has exactly the committed state.
    pub(crate) fn compact(&mut self, hub: &Hub) {
        if self.tail.len() - self.covered < self.snapshot_every {
            return;
        }
        self.covered = self.tail.len();
        if self.covered >= LONG_TAIL {
            self.write(hub);
        }
    }

    /// Serialises the state that the last snapshot covers.
    fn write(&mut self, hub: &Hub) {
        self.written = Some(hub.snapshot());
        self.tail.drain(..self.covered);
        self.covered = 0;
    }

    /// Whether a crash is possible.
    pub(crate) fn keeps_entries(&self) -> bool {
        self.keep == Keep::Entries
    }

    /// Whether a recovery starts from a snapshot.
    pub(crate) const fn has_snapshot(&self) -> bool {
        self.written.is_some() || self.covered > 0
    }

    /// The number of entries in the append in progress.
    pub(crate) const fn unsynced(&self) -> u64 {
        self.entries
    }

    /// Crashes. `at` is the time at which an append in progress would have been written.
    pub(crate) fn crash(&mut self, unsynced: Unsynced, at: Time) {
        let pending = std::mem::take(&mut self.pending);
        self.entries = 0;
        if unsynced == Unsynced::Written {
            let written = pending.into_iter().map(|entry| Committed {
                at,
                entry,
                decided: None,
            });
            self.tail.extend(written);
        }
    }

    /// Recovers the Hub. `look` receives each entry with its position, its time and its outcomes.
    ///
    /// # Panics
    /// If the written data cannot be read, which is a bug.
    pub(crate) fn recover(
        &mut self,
        config: &Config,
        seed: u64,
        mut look: impl FnMut((Position, Time), &Entry, Decisions<'_>),
    ) -> Node {
        if self.covered > 0 {
            let mut hub = self.last_written(config, seed);
            replay(&mut hub, &self.tail[..self.covered], &mut look);
            self.write(&hub);
        }
        let mut hub = self.last_written(config, seed);
        replay(&mut hub, &self.tail, &mut look);
        Node::resume(hub, config.clone())
    }

    fn last_written(&self, config: &Config, seed: u64) -> Hub {
        match &self.written {
            Some(bytes) => Hub::restore(bytes).expect("a snapshot that this version wrote"),
            None => Hub::new(config.clone(), seed),
        }
    }
}

fn replay(
    hub: &mut Hub,
    entries: &[Committed],
    look: &mut impl FnMut((Position, Time), &Entry, Decisions<'_>),
) {
    for Committed { at, entry, decided } in entries {
        // The answers were sent before the crash, or never will be.
        let now = hub.handle(*at, entry);
        let decisions = Decisions {
            before: decided.as_ref(),
            now: &now,
        };
        look((hub.position(), *at), entry, decisions);
        while hub.poll_effect().is_some() {}
    }
}
