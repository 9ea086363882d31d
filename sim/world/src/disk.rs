//! The simulated journal: it commits after a delay, can be slow or fail, and can lose uncommitted
//! entries in a crash.

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
    /// The entries committed since, each with its commit time.
    tail: Vec<(Time, Entry)>,
    /// The number of entries of the tail that the last snapshot covers. Its bytes follow from them,
    /// so they are serialised only when a recovery reads them.
    covered: usize,
    /// The entries of the append in progress.
    pending: Vec<Entry>,
    /// The number of those entries, also when they are not kept.
    entries: u64,
}

/// Whether entries are kept for a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// A crash is possible.
    Entries,
    /// No crash is possible.
    Nothing,
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
            pending: Vec::new(),
            entries: 0,
        }
    }

    /// Starts an append.
    pub(crate) fn begin(&mut self, batch: &[Entry]) {
        if self.keep == Keep::Entries {
            self.pending.extend_from_slice(batch);
        }
        self.entries = batch.len() as u64;
    }

    /// Drops an append that failed and wrote nothing.
    pub(crate) fn abandon(&mut self) {
        self.pending.clear();
        self.entries = 0;
    }

    /// Commits the append. `position` is that of the last entry before it.
    pub(crate) fn commit(&mut self, position: Position, at: Time) -> Position {
        for entry in self.pending.drain(..) {
            self.tail.push((at, entry));
        }
        self.entries = 0;
        position.next()
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
            self.tail
                .extend(pending.into_iter().map(|entry| (at, entry)));
        }
    }

    /// Recovers the Hub. `look` receives each entry with its position, its time and its outcome.
    ///
    /// # Panics
    /// If the written data cannot be read, which is a bug.
    pub(crate) fn recover(
        &mut self,
        config: &Config,
        seed: u64,
        mut look: impl FnMut(Position, Time, &Entry, &Result<Reply, Reject>),
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
    entries: &[(Time, Entry)],
    look: &mut impl FnMut(Position, Time, &Entry, &Result<Reply, Reject>),
) {
    for (at, entry) in entries {
        // The answers were sent before the crash, or never will be.
        let outcome = hub.handle(*at, entry);
        look(hub.position(), *at, entry, &outcome);
        while hub.poll_effect().is_some() {}
    }
}
