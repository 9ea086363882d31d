//! The shared log: an order of records with compare-and-append, replicas of it, and snapshots.

use std::collections::BTreeMap;
use std::sync::Arc;

use chat_cluster::Outcome;
use chat_types::{Span, Time};

/// The number of replicas.
pub(super) const REPLICAS: usize = 3;

/// The number of snapshots that are kept.
const KEPT: usize = 2;

/// How late a replica is while nothing is wrong.
pub(super) const USUAL_LAG: Span = Span::millis(2);

/// What a disk did to one record of one replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Harm {
    /// The record is not there.
    Lost,
    /// One of its bits is another one.
    Flipped,
}

/// One replica.
#[derive(Clone, Debug)]
pub(super) struct Replica {
    /// How long records take to it.
    pub(super) lag: Span,
    /// The number of records that it has shown.
    visible: u64,
    /// Harm to its records, some of which may come later.
    pub(super) harm: BTreeMap<u64, Harm>,
}

/// The log.
#[derive(Clone, Debug)]
pub(super) struct SharedLog {
    /// The records with the instants at which they were appended. Sequences begin with 1.
    records: Vec<(Time, Arc<[u8]>)>,
    /// The records before this one are purged.
    first: u64,
    /// The newest snapshots, by the sequences of their last records. A former owner may store an
    /// older one after a newer one.
    snapshots: BTreeMap<u64, Arc<[u8]>>,
    pub(super) replicas: Vec<Replica>,
    pub(super) leader: usize,
    /// No leader until then: it takes no appends.
    pub(super) leaderless_until: Time,
}

impl Default for SharedLog {
    fn default() -> Self {
        let replica = Replica {
            lag: USUAL_LAG,
            visible: 0,
            harm: BTreeMap::new(),
        };
        Self {
            records: Vec::new(),
            first: 1,
            snapshots: BTreeMap::new(),
            replicas: vec![replica; REPLICAS],
            leader: 0,
            leaderless_until: Time(0),
        }
    }
}

impl SharedLog {
    /// The last sequence.
    pub(super) fn last(&self) -> u64 {
        self.records.len() as u64
    }

    /// The last sequence that the log had at this instant.
    pub(super) fn last_at(&self, at: Time) -> u64 {
        let is_there = |record: &(Time, Arc<[u8]>)| record.0 <= at;
        self.records.partition_point(is_there) as u64
    }

    /// Stores a member's snapshot of the state after a record. Purges the log below the oldest of
    /// those that are kept.
    pub(super) fn store(&mut self, sequence: u64, snapshot: Arc<[u8]>) {
        self.snapshots.insert(sequence, snapshot);
        while self.snapshots.len() > KEPT {
            self.snapshots.pop_first();
        }
        if self.snapshots.len() < KEPT {
            return;
        }
        let oldest = self.snapshots.keys().next().copied().unwrap_or_default();
        for purged in self.first..=oldest.min(self.last()) {
            if let Some((_, bytes)) = index_of(purged).and_then(|at| self.records.get_mut(at)) {
                *bytes = Arc::default();
            }
        }
        self.first = self.first.max(oldest + 1);
    }

    /// The newest snapshot.
    pub(super) fn newest_snapshot(&self) -> Option<&Arc<[u8]>> {
        self.snapshots.last_key_value().map(|(_, bytes)| bytes)
    }

    /// Whether the record is purged.
    pub(super) const fn is_purged(&self, sequence: u64) -> bool {
        sequence < self.first
    }

    /// Appends the record if the log ends with `expected`. The log must have a leader.
    pub(super) fn append(&mut self, at: Time, expected: u64, bytes: &[u8]) -> Outcome {
        if expected != self.last() {
            return Outcome::WrongLast;
        }
        self.records.push((at, bytes.into()));
        Outcome::Acknowledged(self.last())
    }

    /// The record as a replica has it now.
    pub(super) fn read(&mut self, at: Time, replica: usize, sequence: u64) -> Option<Arc<[u8]>> {
        let is_visible = sequence <= self.visible(at, replica);
        self.stored(replica, sequence).filter(|_| is_visible)
    }

    /// The last sequence that a replica shows now.
    pub(super) fn visible(&mut self, at: Time, replica: usize) -> u64 {
        let replica = &mut self.replicas[replica];
        let shown = usize::try_from(replica.visible).unwrap_or(usize::MAX);
        let rest = self.records.iter().skip(shown);
        let arrived = rest.take_while(|(appended, _)| *appended + replica.lag <= at);
        replica.visible += arrived.count() as u64;
        replica.visible
    }

    /// The record as this replica has it, which may not show it yet.
    pub(super) fn stored(&self, replica: usize, sequence: u64) -> Option<Arc<[u8]>> {
        if self.is_purged(sequence) {
            return None;
        }
        let (_, bytes) = self.records.get(index_of(sequence)?)?;
        match self.replicas[replica].harm.get(&sequence) {
            Some(Harm::Lost) => None,
            Some(Harm::Flipped) => {
                let mut bytes = bytes.to_vec();
                let place = bytes.len() / 2;
                bytes[place] ^= 8;
                Some(bytes.into())
            }
            None => Some(Arc::clone(bytes)),
        }
    }
}

fn index_of(sequence: u64) -> Option<usize> {
    usize::try_from(sequence.checked_sub(1)?).ok()
}
