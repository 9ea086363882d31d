//! The simulated journal: it commits after a while, may be slow, fail, or lose in a crash what
//! was not yet committed.

use std::collections::VecDeque;

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
    /// What was committed since.
    tail: Vec<Committed>,
    /// How many entries of the tail the last snapshot stands for. Its bytes follow from them, so
    /// that they are made only where a recovery reads them.
    covered: usize,
    /// What is being written.
    pending: VecDeque<Entry>,
    /// How many entries are being written, kept or not.
    entries: u64,
}

/// An entry that was committed.
#[derive(Clone, Debug)]
struct Committed {
    at: Time,
    entry: Entry,
    /// What it decided; none if the server did not live to apply it.
    decided: Option<Result<Reply, Reject>>,
}

/// Whether anything will ever be read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// A crash may come.
    Entries,
    /// None will.
    Nothing,
}

/// What an entry decided before a crash, if it did, and what it decides after it.
#[derive(Clone, Copy)]
pub(crate) struct Decisions<'d> {
    pub(crate) before: Option<&'d Result<Reply, Reject>>,
    pub(crate) now: &'d Result<Reply, Reject>,
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
            pending: VecDeque::new(),
            entries: 0,
        }
    }

    /// An append begins.
    pub(crate) fn begin(&mut self, batch: &[Entry]) {
        if self.keep == Keep::Entries {
            self.pending.extend(batch.iter().cloned());
        }
        self.entries = batch.len() as u64;
    }

    /// The append failed, and left nothing behind.
    pub(crate) fn abandon(&mut self) {
        self.pending.clear();
        self.entries = 0;
    }

    /// The next entry of the append is durable, and is decided so.
    pub(crate) fn commit(&mut self, at: Time, decided: &Result<Reply, Reject>) {
        if let Some(entry) = self.pending.pop_front() {
            let decided = Some(decided.clone());
            self.tail.push(Committed { at, entry, decided });
        }
        self.entries = self.entries.saturating_sub(1);
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
            let written = pending.into_iter().map(|entry| Committed {
                at,
                entry,
                decided: None,
            });
            self.tail.extend(written);
        }
    }

    /// The server comes back from what is written. `look` sees each entry with its position, its
    /// time, what it decides, and what it decided before the crash.
    ///
    /// # Panics
    /// When what was written cannot be read, which is a bug.
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
        // Outcomes reached their callers before the crash, or never will.
        let now = hub.handle(*at, entry);
        let decisions = Decisions {
            before: decided.as_ref(),
            now: &now,
        };
        look((hub.position(), *at), entry, decisions);
        while hub.poll_effect().is_some() {}
    }
}
