//! The shared log: an order of records with compare-and-append, replicas of it, and snapshots.

use std::collections::BTreeMap;
use std::sync::Arc;

use chat_cluster::Outcome;
use chat_types::{Span, Time};

/// The number of replicas.
pub const REPLICAS: usize = 3;

/// The number of snapshots that are kept.
const KEPT: usize = 2;

/// How late a replica is while nothing is wrong.
pub const USUAL_LAG: Span = Span::millis(2);

/// What a disk did to one record of one replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// The record is not there.
    Lost,
    /// One of its bits is another one.
    Flipped,
}

/// One replica.
#[derive(Clone, Debug)]
struct Replica {
    /// How long records take to it.
    lag: Span,
    /// The number of records that it has shown.
    visible: u64,
    harm: BTreeMap<u64, Harm>,
}

/// The log.
#[derive(Clone, Debug)]
pub struct SharedLog {
    /// The records with the instants at which they were appended. Sequences begin with 1.
    records: Vec<(Time, Arc<[u8]>)>,
    /// The records before this one are purged.
    first: u64,
    /// The newest snapshots, by the sequences of their last records. A former owner may store an
    /// older one after a newer one.
    snapshots: BTreeMap<u64, Arc<[u8]>>,
    replicas: Vec<Replica>,
    leader: usize,
    /// No leader until then.
    leaderless_until: Time,
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
    pub fn last(&self) -> u64 {
        self.records.len() as u64
    }

    /// The last sequence that the log had at this instant.
    pub fn last_at(&self, at: Time) -> u64 {
        self.records
            .partition_point(|(appended, _)| *appended <= at) as u64
    }

    /// Whether it takes appends at this instant.
    #[must_use]
    pub fn has_leader(&self, at: Time) -> bool {
        at >= self.leaderless_until
    }

    /// The leader ends, and this replica follows it after a while.
    pub fn elect(&mut self, leader: usize, until: Time) {
        self.leader = leader;
        self.leaderless_until = self.leaderless_until.max(until);
    }

    /// Has a leader from this instant on.
    pub fn elect_now(&mut self, at: Time) {
        self.leaderless_until = self.leaderless_until.min(at);
    }

    /// How late a replica is.
    #[must_use]
    pub fn lag(&self, replica: usize) -> Span {
        self.replicas[replica].lag
    }

    /// Sets how late a replica is.
    pub fn set_lag(&mut self, replica: usize, lag: Span) {
        self.replicas[replica].lag = lag;
    }

    /// Harms the record of one replica, which may come later.
    pub fn harm(&mut self, replica: usize, sequence: u64, harm: Harm) {
        self.replicas[replica].harm.insert(sequence, harm);
    }

    /// Stores a member's snapshot of the state after a record. Purges the log below the oldest of
    /// those that are kept.
    pub fn store(&mut self, sequence: u64, snapshot: Arc<[u8]>) {
        self.snapshots.insert(sequence, snapshot);
        while self.snapshots.len() > KEPT {
            self.snapshots.pop_first();
        }
        if self.snapshots.len() == KEPT
            && let Some((oldest, _)) = self.snapshots.first_key_value()
        {
            self.purge(*oldest);
        }
    }

    /// The newest snapshot.
    pub fn newest_snapshot(&self) -> Option<&Arc<[u8]>> {
        self.snapshots.last_key_value().map(|(_, bytes)| bytes)
    }

    /// Removes the records up to this one.
    fn purge(&mut self, sequence: u64) {
        for purged in self.first..=sequence.min(self.last()) {
            if let Some((_, bytes)) = index_of(purged).and_then(|at| self.records.get_mut(at)) {
                *bytes = Arc::default();
            }
        }
        self.first = self.first.max(sequence + 1);
    }

    /// Whether the record is purged.
    #[must_use]
    pub const fn is_purged(&self, sequence: u64) -> bool {
        sequence < self.first
    }

    /// Appends the record if the log ends with `expected`. The log must have a leader.
    pub fn append(&mut self, at: Time, expected: u64, bytes: &[u8]) -> Outcome {
        if expected != self.last() {
            return Outcome::WrongLast;
        }
        self.records.push((at, bytes.into()));
        Outcome::Acknowledged(self.last())
    }

    /// The record as the leader has it.
    pub fn read_leader(&self, sequence: u64) -> Option<Arc<[u8]>> {
        self.stored(self.leader, sequence)
    }

    /// The record as a replica has it now.
    pub fn read_replica(&mut self, at: Time, replica: usize, sequence: u64) -> Option<Arc<[u8]>> {
        (sequence <= self.visible(at, replica))
            .then(|| self.stored(replica, sequence))
            .flatten()
    }

    /// The last sequence that a replica shows now.
    pub fn visible(&mut self, at: Time, replica: usize) -> u64 {
        let Self {
            records, replicas, ..
        } = self;
        let replica = &mut replicas[replica];
        let rest = records
            .iter()
            .skip(usize::try_from(replica.visible).unwrap_or(usize::MAX));
        let arrived = rest.take_while(|(appended, _)| *appended + replica.lag <= at);
        replica.visible += arrived.count() as u64;
        replica.visible
    }

    fn stored(&self, replica: usize, sequence: u64) -> Option<Arc<[u8]>> {
        if sequence < self.first {
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
