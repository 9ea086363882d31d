//! The simulated journal: it commits after a while, may be slow, fail, or lose in a crash what
//! was not yet committed.

use chat_core::{Entry, Hub, Node, Position, Reject, Reply};
use chat_types::{Config, Time};

/// Entries that a snapshot stands for are kept in its place up to this number.
const LONG_TAIL: usize = 1_000;

/// What survives a crash.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    keep: Keep,
    /// After how many entries a snapshot takes the place of the tail.
    snapshot_every: usize,
    /// A state that was written out; none before the first one.
    written: Option<Vec<u8>>,
    /// What was committed since, each entry with the time of its commit.
    tail: Vec<(Time, Entry)>,
    /// How many entries of the tail the last snapshot stands for. Its bytes follow from them, so
    /// that they are made only where a recovery reads them.
    covered: usize,
    /// What is being written.
    pending: Vec<Entry>,
    /// How many entries are being written, kept or not.
    entries: u64,
}

/// Whether anything will ever be read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// A crash may come.
    Entries,
    /// None will.
    Nothing,
}

/// What becomes, in a crash, of an append that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsynced {
    /// It was not written.
    Lost,
    /// It was just written, though nobody was told.
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

    /// An append begins.
    pub(crate) fn begin(&mut self, batch: &[Entry]) {
        if self.keep == Keep::Entries {
            self.pending.extend_from_slice(batch);
        }
        self.entries = batch.len() as u64;
    }

    /// The append failed, and left nothing behind.
    pub(crate) fn abandon(&mut self) {
        self.pending.clear();
        self.entries = 0;
    }

    /// The append is durable. `position` is that of the last entry before it.
    pub(crate) fn commit(&mut self, position: Position, at: Time) -> Position {
        for entry in self.pending.drain(..) {
            self.tail.push((at, entry));
        }
        self.entries = 0;
        position.next()
    }

    /// A snapshot takes the place of the tail when that has grown long. `hub` holds exactly what
    /// is committed.
    pub(crate) fn compact(&mut self, hub: &Hub) {
        if self.tail.len() - self.covered < self.snapshot_every {
            return;
        }
        self.covered = self.tail.len();
        if self.covered >= LONG_TAIL {
            self.write(hub);
        }
    }

    /// Writes out the state that the last snapshot is of.
    fn write(&mut self, hub: &Hub) {
        self.written = Some(hub.snapshot());
        self.tail.drain(..self.covered);
        self.covered = 0;
    }

    /// Whether a crash may come.
    pub(crate) fn keeps_entries(&self) -> bool {
        self.keep == Keep::Entries
    }

    /// Whether a recovery begins from a snapshot.
    pub(crate) const fn has_snapshot(&self) -> bool {
        self.written.is_some() || self.covered > 0
    }

    /// How many entries are being written.
    pub(crate) const fn unsynced(&self) -> u64 {
        self.entries
    }

    /// The machine dies. `at` is when an append under way would have been written.
    pub(crate) fn crash(&mut self, unsynced: Unsynced, at: Time) {
        let pending = std::mem::take(&mut self.pending);
        self.entries = 0;
        if unsynced == Unsynced::Written {
            self.tail
                .extend(pending.into_iter().map(|entry| (at, entry)));
        }
    }

    /// The server comes back from what is written. `look` sees each entry with its position, its
    /// time and what it decides.
    ///
    /// # Panics
    /// When what was written cannot be read, which is a bug.
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
        // Outcomes reached their callers before the crash, or never will.
        let outcome = hub.handle(*at, entry);
        look(hub.position(), *at, entry, &outcome);
        while hub.poll_effect().is_some() {}
    }
}
