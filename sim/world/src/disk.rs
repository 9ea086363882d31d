//! The simulated journal: it commits after a delay, can be slow or fail, and can lose uncommitted
//! entries in a crash.
//!
//! A recovery reads what a server of this history would have written: records, snapshots and marks,
//! by the code of the real server (`chat-journal`). Their bytes follow from the entries, so they are
//! made only when a recovery reads them.

mod damage;
mod strikes;

use chat_core::{Entry, Hub, Node, Position, Reject, Reply};
use chat_journal::{Chain, Files, Identity, Loss, Mark, Origin, Recovered, Snapshot, recover};
use chat_types::{Config, Continuity, Time};

use strikes::Strike;

/// The largest number of entries that are kept in place of a snapshot.
const LONG_TAIL: usize = 1_000;

/// The number of snapshots that a server keeps.
const SNAPSHOTS: usize = 2;

/// The slot of the newer mark, and of the one before it.
const NEWER_MARK: usize = 1;
const OLDER_MARK: usize = 0;

/// The data that survives a crash.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    /// Whether entries are kept for a recovery, because a crash is possible.
    pub(crate) keeps_entries: bool,
    origin: Origin,
    /// The number of entries after which a server makes a snapshot.
    snapshot_every: usize,
    /// What the disk has: the newest snapshots, the records that were read so far, and the marks of
    /// the last recovery.
    files: Files<Vec<u8>>,
    /// The end of the records that are deleted, because the oldest kept snapshot replaces them.
    base: Chain,
    /// The entries of the records.
    entries: Vec<Entry>,
    /// The outcome of each entry; none if the server crashed before it applied the entry.
    decided: Vec<Option<Result<Reply, Reject>>>,
    batches: Vec<Batch>,
    /// The position of the mark.
    marked: Position,
    /// The position of the newest snapshot, which may not be written yet: its bytes follow from the
    /// entries, too.
    covered: Position,
    /// The damage that files have suffered.
    strikes: Vec<Strike>,
    /// The end of the journal that an operator restored last.
    restored: Option<Position>,
}

/// A committed batch.
#[derive(Clone, Copy, Debug)]
struct Batch {
    at: Time,
    /// The number of its entries.
    entries: usize,
    /// The end of its record, once that was made.
    after: Option<Chain>,
}

/// The outcomes of an entry before a crash, if it was applied, and in the recovery.
pub(crate) type Decisions<'d> = (Option<&'d Result<Reply, Reject>>, &'d Result<Reply, Reject>);

/// A second recovery, from damaged files: the damage, the digests of the last acknowledged state and of
/// the last one in the undamaged files, and that of the recovered state; none if it was refused.
pub(crate) type Damaged = (String, [u64; 2], Option<u64>);

/// The fate of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsynced {
    /// Not written.
    Lost,
    /// Written, although no one was notified.
    Written,
}

impl Disk {
    pub(crate) fn new(snapshot_every: u32, seed: u64) -> Self {
        let identity = Identity {
            realm: 1,
            seed,
            secret: [0; 32],
        };
        let origin = identity.origin();
        Self {
            keeps_entries: false,
            origin,
            snapshot_every: usize::try_from(snapshot_every).unwrap_or(usize::MAX),
            files: Files::default(),
            base: Chain::new(&origin),
            entries: Vec::new(),
            decided: Vec::new(),
            batches: Vec::new(),
            marked: Position(0),
            covered: Position(0),
            strikes: Vec::new(),
            restored: None,
        }
    }

    /// Whether a life may be lost behind the end of the journal, because it was restored and has not
    /// gone on since.
    pub(crate) fn continuity(&self) -> Continuity {
        match self.restored == Some(self.end()) {
            true => Continuity::Broken,
            false => Continuity::Whole,
        }
    }

    /// Commits an entry of a batch, with its outcome.
    pub(crate) fn commit(&mut self, entry: &Entry, decided: &Result<Reply, Reject>) {
        if self.keeps_entries {
            self.entries.push(entry.clone());
            self.decided.push(Some(decided.clone()));
        }
    }

    /// Ends a batch of so many entries, which may be answered now.
    pub(crate) fn end_batch(&mut self, at: Time, entries: usize) {
        if self.keeps_entries {
            self.add_batch(at, entries);
            self.marked = self.end();
        }
    }

    fn add_batch(&mut self, at: Time, entries: usize) {
        self.batches.push(Batch {
            at,
            entries,
            after: None,
        });
    }

    /// The position of the last entry.
    fn end(&self) -> Position {
        Position(self.base.last().0 + self.entries.len() as u64)
    }

    /// The position of the newest written snapshot.
    fn written(&self) -> Position {
        let newest = self.files.snapshots.last_key_value();
        newest.map_or(Position(0), |(position, _)| *position)
    }

    /// Makes a snapshot when it is due. `hub` has exactly the committed state.
    pub(crate) fn compact(&mut self, hub: &Hub) {
        let end = self.end();
        if distance(self.covered, end) < self.snapshot_every {
            return;
        }
        self.covered = end;
        if distance(self.written(), end) >= LONG_TAIL {
            self.seal();
            self.write(hub);
        }
    }

    /// Makes the records of batches that have none.
    fn seal(&mut self) {
        let (mut chain, mut from) = (self.base, 0);
        for batch in &mut self.batches {
            let to = from + batch.entries;
            chain = *batch.after.get_or_insert_with(|| {
                let sealed = chain.seal(batch.at, &self.entries[from..to]);
                self.files.records.insert(sealed.first, sealed.bytes);
                sealed.after
            });
            from = to;
        }
    }

    /// Writes the newest snapshot, and deletes the records that no recovery needs.
    fn write(&mut self, hub: &Hub) {
        let file = Snapshot::write(&self.origin, &self.chain_at(self.covered), hub);
        let snapshots = &mut self.files.snapshots;
        snapshots.insert(self.covered, file);
        if snapshots.len() > SNAPSHOTS {
            snapshots.pop_first();
        }
        if snapshots.len() == SNAPSHOTS
            && let Some((&oldest, _)) = snapshots.first_key_value()
        {
            self.forget_to(oldest);
        }
    }

    fn forget_to(&mut self, position: Position) {
        let base = self.chain_at(position);
        let entries = distance(self.base.last(), position);
        let is_kept = |batch: &Batch| batch.after.is_none_or(|end| end.last() > position);
        self.batches.retain(is_kept);
        self.entries.drain(..entries);
        self.decided.drain(..entries);
        self.files.records = self.files.records.split_off(&position.next());
        self.base = base;
    }

    /// The ends of the records, that of the deleted ones first.
    fn ends(&self) -> impl DoubleEndedIterator<Item = Chain> {
        let made = self.batches.iter().filter_map(|batch| batch.after);
        std::iter::once(self.base).chain(made)
    }

    /// The end of the record that ends at this position.
    fn chain_at(&self, position: Position) -> Chain {
        let mut ends = self.ends();
        ends.rfind(|end| end.last() <= position)
            .unwrap_or(self.base)
    }

    /// Whether a recovery starts from a snapshot.
    pub(crate) fn has_snapshot(&self) -> bool {
        self.covered > Position(0)
    }

    /// Writes the batch that was in flight at a crash, of which nobody was notified. It was written `at` this time.
    pub(crate) fn keep_unsynced(&mut self, batch: Vec<Entry>, at: Time) {
        if self.keeps_entries && !batch.is_empty() {
            self.decided.resize(self.decided.len() + batch.len(), None);
            self.add_batch(at, batch.len());
            self.entries.extend(batch);
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
        self.bring_up_to_date(config, &mut look);
        let mut files = self.files.clone();
        let recovered = self.read(&mut files, config, &mut look);
        let digest = recovered.hub.digest();
        // The record behind the mark may be lost: no answer to it has left.
        let mut acknowledged = digest;
        if self.marked != self.end() {
            let mut before = self.cut_to(self.marked);
            let recovered = self.read(&mut before, config, &mut |_, _, _| {});
            acknowledged = recovered.hub.digest();
        }
        let (what, state) = self.recover_damaged(config, files, digest);
        // A server that starts marks all that it has recovered.
        self.marked = self.end();
        let (seed, continuity) = (self.origin.seed, self.continuity());
        let node = Node::with_journal(recovered.hub, config.clone(), seed, continuity);
        (node, (what, [acknowledged, digest], state))
    }

    /// Makes the files as a server of this history would have written them.
    fn bring_up_to_date(
        &mut self,
        config: &Config,
        look: &mut impl FnMut((Position, Time), &Entry, Decisions<'_>),
    ) {
        self.seal();
        if self.covered > self.written() {
            let mut before = self.cut_to(self.covered);
            let recovered = self.read(&mut before, config, look);
            self.write(&recovered.hub);
        }
        self.files.marks = self.marks();
    }

    fn read(
        &self,
        files: &mut Files<Vec<u8>>,
        config: &Config,
        look: &mut impl FnMut((Position, Time), &Entry, Decisions<'_>),
    ) -> Recovered {
        let base = self.base.last();
        let mut each = |hub: &Hub, at, entry: &Entry, now: &_| {
            let position = hub.position();
            let before = self.decided[distance(base, position) - 1].as_ref();
            look((position, at), entry, (before, now));
        };
        recover(files, &self.origin, config, Loss::Refused, &mut each)
            .unwrap_or_else(|error| panic!("an undamaged journal was refused: {error}"))
    }

    /// The last two marks, the older one first.
    fn marks(&self) -> Vec<u8> {
        let mut marked = self.ends().rev().filter(|end| end.last() <= self.marked);
        let newest = Mark::at(&marked.next().unwrap_or(self.base));
        let before = marked.next().map_or(newest, |end| Mark::at(&end));
        [
            before.slot(OLDER_MARK as u64).1,
            newest.slot(NEWER_MARK as u64).1,
        ]
        .concat()
    }

    /// The files as they were when the journal ended at this position.
    fn cut_to(&self, position: Position) -> Files<Vec<u8>> {
        let mut files = self.files.clone();
        files.records.split_off(&position.next());
        files.marks = Mark::at(&self.chain_at(position)).file();
        files
    }
}

/// The number of entries after `from`, up to `to`.
fn distance(from: Position, to: Position) -> usize {
    usize::try_from(to.0.saturating_sub(from.0)).unwrap_or(usize::MAX)
}
