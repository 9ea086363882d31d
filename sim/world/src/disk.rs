//! The simulated journal: it commits after a delay, can be slow or fail, and can lose uncommitted
//! entries in a crash.
//!
//! A recovery reads what a server of this history would have written: records, snapshots and marks,
//! by the code of the real server (`chat-journal`). Their bytes follow from the entries, so they are
//! made only when a recovery reads them.

mod damage;
mod stored;

use std::collections::VecDeque;

use chat_core::{Entry, Hub, Node, Position, Reject, Reply};
use chat_journal::{Chain, Identity, Loss, Mark, Origin, Recovered, Snapshot, recover};
use chat_types::{Config, Time};

pub(crate) use damage::Damaged;
use stored::Stored;

/// The largest number of entries that are kept in place of a snapshot.
const LONG_TAIL: usize = 1_000;

/// The number of snapshots that a server keeps.
const SNAPSHOTS: usize = 2;

/// The data that survives a crash.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    keep: Keep,
    origin: Origin,
    /// The number of entries after which a server makes a snapshot.
    snapshot_every: usize,
    /// The newest snapshots, each with its position; the oldest first.
    snapshots: Vec<(Position, Vec<u8>)>,
    /// The end of the records that are deleted, because the oldest kept snapshot replaces them.
    base: Chain,
    /// The entries of the records.
    entries: Vec<Entry>,
    /// The outcome of each entry; none if the server crashed before it applied the entry.
    decided: Vec<Option<Result<Reply, Reject>>>,
    /// The records: the instant and the number of entries of each.
    batches: Vec<(Time, usize)>,
    /// The number of entries up to the mark.
    marked: usize,
    /// The number of entries that the newest snapshot covers, and those that the newest written one
    /// does. The bytes of a snapshot follow from the entries, too.
    covered: usize,
    written: usize,
    /// The entries of the append in progress.
    pending: VecDeque<Entry>,
    /// The number of those entries, also when they are not kept.
    in_flight: usize,
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
    pub(crate) fn new(keep: Keep, snapshot_every: u32, seed: u64) -> Self {
        let identity = Identity {
            realm: 1,
            seed,
            secret: [0; 32],
        };
        let origin = identity.origin();
        Self {
            keep,
            origin,
            snapshot_every: usize::try_from(snapshot_every).unwrap_or(usize::MAX),
            snapshots: Vec::new(),
            base: Chain::new(&origin),
            entries: Vec::new(),
            decided: Vec::new(),
            batches: Vec::new(),
            marked: 0,
            covered: 0,
            written: 0,
            pending: VecDeque::new(),
            in_flight: 0,
        }
    }

    /// Starts an append.
    pub(crate) fn begin(&mut self, batch: &[Entry]) {
        if self.keep == Keep::Entries {
            self.pending.extend(batch.iter().cloned());
        }
        self.in_flight = batch.len();
    }

    /// Drops an append that failed and wrote nothing.
    pub(crate) fn abandon(&mut self) {
        self.pending.clear();
        self.in_flight = 0;
    }

    /// Commits the next entry of the append, with its outcome.
    pub(crate) fn commit(&mut self, at: Time, decided: &Result<Reply, Reject>) {
        if let Some(entry) = self.pending.pop_front() {
            self.entries.push(entry);
            self.decided.push(Some(decided.clone()));
            if self.pending.is_empty() {
                self.batches.push((at, self.in_flight));
                self.marked = self.entries.len();
            }
        }
        if self.pending.is_empty() {
            self.in_flight = 0;
        }
    }

    /// Makes a snapshot when it is due. `hub` has exactly the committed state.
    pub(crate) fn compact(&mut self, hub: &Hub) {
        if self.entries.len() - self.covered < self.snapshot_every {
            return;
        }
        self.covered = self.entries.len();
        if self.covered - self.written >= LONG_TAIL {
            let chain = self.chain_at(self.covered);
            self.write(&chain, hub);
        }
    }

    /// Writes the snapshot, and deletes the records that no recovery needs.
    fn write(&mut self, chain: &Chain, hub: &Hub) {
        let file = Snapshot::write(&self.origin, chain, hub);
        self.snapshots.push((chain.last(), file));
        self.written = self.covered;
        if self.snapshots.len() > SNAPSHOTS {
            self.snapshots.remove(0);
        }
        if let [(oldest, _), _] = &self.snapshots[..] {
            self.forget_to(*oldest);
        }
    }

    fn forget_to(&mut self, position: Position) {
        let entries = self.index_after(position);
        self.base = self.chain_at(entries);
        let mut left = entries;
        let batches = self.batches.iter().take_while(|(_, length)| {
            let is_gone = *length <= left;
            left = left.saturating_sub(*length);
            is_gone
        });
        let batches = batches.count();
        self.batches.drain(..batches);
        self.marked -= entries;
        self.covered -= entries;
        self.written -= entries;
        self.entries.drain(..entries);
        self.decided.drain(..entries);
    }

    /// The number of kept entries up to this position.
    fn index_after(&self, position: Position) -> usize {
        let entries = position.0.saturating_sub(self.base.last().0);
        usize::try_from(entries).unwrap_or(usize::MAX)
    }

    /// The end of the record that ends with the first `entries` kept entries.
    fn chain_at(&self, entries: usize) -> Chain {
        let (mut chain, mut from) = (self.base, 0);
        for (at, length) in &self.batches {
            if from >= entries {
                break;
            }
            chain = chain.seal(*at, &self.entries[from..from + length]).after;
            from += length;
        }
        chain
    }

    /// Whether a crash is possible.
    pub(crate) fn keeps_entries(&self) -> bool {
        self.keep == Keep::Entries
    }

    /// Whether a recovery starts from a snapshot.
    pub(crate) const fn has_snapshot(&self) -> bool {
        self.covered > 0
    }

    /// The number of entries in the append in progress.
    pub(crate) const fn unsynced(&self) -> u64 {
        self.in_flight as u64
    }

    /// Crashes. `at` is the time at which an append in progress would have been written.
    pub(crate) fn crash(&mut self, unsynced: Unsynced, at: Time) {
        let pending = std::mem::take(&mut self.pending);
        let length = pending.len();
        self.in_flight = 0;
        if unsynced == Unsynced::Written && length > 0 {
            self.decided.extend(std::iter::repeat_n(None, length));
            self.entries.extend(pending);
            self.batches.push((at, length));
        }
    }

    /// Recovers the Hub. `look` receives each entry with its position, its time and its outcomes.
    ///
    /// # Panics
    /// If an undamaged disk is refused, which is a bug.
    pub(crate) fn recover(
        &mut self,
        config: &Config,
        mut look: impl FnMut((Position, Time), &Entry, Decisions<'_>),
    ) -> (Node, Damaged) {
        if self.covered > self.written {
            self.write_covered(config, &mut look);
        }
        let mut stored = self.stored();
        let recovered = self.read(&mut stored, config, &mut look);
        let acknowledged = self.acknowledged(&stored, config, &recovered.hub);
        let owed = [acknowledged, recovered.hub.digest()];
        let damaged = Damaged::draw(&self.origin, config, stored, owed);
        // A server that starts marks all that it has recovered.
        self.marked = self.entries.len();
        (Node::resume(recovered.hub, config.clone()), damaged)
    }

    /// Writes the snapshot that was made before the crash.
    fn write_covered(
        &mut self,
        config: &Config,
        look: &mut impl FnMut((Position, Time), &Entry, Decisions<'_>),
    ) {
        let chain = self.chain_at(self.covered);
        let mut stored = self.stored();
        stored.cut_after(&chain);
        let recovered = self.read(&mut stored, config, look);
        self.write(&chain, &recovered.hub);
    }

    /// The digest of the state at the mark. The record behind it may be lost: no answer to it has
    /// left.
    fn acknowledged(&self, stored: &Stored, config: &Config, hub: &Hub) -> u64 {
        if self.marked == self.entries.len() {
            return hub.digest();
        }
        let mut stored = stored.clone();
        stored.cut_after(&self.chain_at(self.marked));
        let recovered = self.read(&mut stored, config, &mut |_, _, _| {});
        recovered.hub.digest()
    }

    fn read(
        &self,
        stored: &mut Stored,
        config: &Config,
        look: &mut impl FnMut((Position, Time), &Entry, Decisions<'_>),
    ) -> Recovered {
        let base = self.base.last().0;
        let mut each = |hub: &Hub, at, entry: &Entry, now: &_| {
            let position = hub.position();
            let index = usize::try_from(position.0 - base - 1).unwrap_or(usize::MAX);
            let before = self.decided[index].as_ref();
            look((position, at), entry, Decisions { before, now });
        };
        recover(stored, &self.origin, config, Loss::Refused, &mut each)
            .unwrap_or_else(|error| panic!("an undamaged journal was refused: {error}"))
    }

    /// The files of the journal.
    fn stored(&self) -> Stored {
        let mut stored = Stored::new(self.snapshots.iter().map(|(_, file)| file.clone()));
        let (mut chain, mut from) = (self.base, 0);
        let mut marks = vec![Mark::at(&chain)];
        for (at, length) in &self.batches {
            let sealed = chain.seal(*at, &self.entries[from..from + length]);
            chain = sealed.after;
            stored.add(sealed.first, sealed.bytes);
            from += length;
            if from <= self.marked {
                marks.push(Mark::at(&chain));
            }
        }
        stored.set_marks(&marks);
        stored
    }
}
