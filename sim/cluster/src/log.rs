//! The shared log: an order of records with compare-and-append, and replicas of it.

use std::collections::BTreeMap;

use chat_cluster::Outcome;
use chat_types::{Span, Time};

/// The number of replicas.
pub(crate) const REPLICAS: usize = 3;

/// What a disk did to one record of one replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Harm {
    Lost,
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
pub(crate) struct SharedLog {
    /// The records with the instants at which they were appended. Sequences begin with 1.
    records: Vec<(Time, Vec<u8>)>,
    /// The records before this one are purged.
    first: u64,
    replicas: Vec<Replica>,
    leader: usize,
    /// No leader until then.
    leaderless_until: Time,
}

impl SharedLog {
    pub(crate) fn new() -> Self {
        let replica = Replica {
            lag: Span::millis(2),
            visible: 0,
            harm: BTreeMap::new(),
        };
        Self {
            records: Vec::new(),
            first: 1,
            replicas: vec![replica; REPLICAS],
            leader: 0,
            leaderless_until: Time(0),
        }
    }

    /// The last sequence.
    pub(crate) fn last(&self) -> u64 {
        self.records.len() as u64
    }

    pub(crate) fn has_leader(&self, at: Time) -> bool {
        at >= self.leaderless_until
    }

    /// The leader ends, and this replica follows it after a while.
    pub(crate) fn elect(&mut self, leader: usize, until: Time) {
        self.leader = leader;
        self.leaderless_until = self.leaderless_until.max(until);
    }

    pub(crate) fn set_lag(&mut self, replica: usize, lag: Span) {
        self.replicas[replica].lag = lag;
    }

    pub(crate) fn harm(&mut self, replica: usize, sequence: u64, harm: Harm) {
        self.replicas[replica].harm.insert(sequence, harm);
    }

    /// Removes the records up to this one.
    pub(crate) fn purge(&mut self, sequence: u64) {
        self.first = self.first.max(sequence + 1);
    }

    /// Appends the record if the log ends with `expected`. The log must have a leader.
    pub(crate) fn append(&mut self, at: Time, expected: u64, bytes: &[u8]) -> Outcome {
        if expected != self.last() {
            return Outcome::WrongLast;
        }
        self.records.push((at, bytes.to_vec()));
        Outcome::Acknowledged(self.last())
    }

    /// The record as the leader has it.
    pub(crate) fn read_leader(&self, sequence: u64) -> Option<Vec<u8>> {
        self.stored(self.leader, sequence)
    }

    /// The record as a replica has it now.
    pub(crate) fn read_replica(
        &mut self,
        at: Time,
        replica: usize,
        sequence: u64,
    ) -> Option<Vec<u8>> {
        (sequence <= self.visible(at, replica))
            .then(|| self.stored(replica, sequence))
            .flatten()
    }

    /// The last sequence that a replica shows now.
    pub(crate) fn visible(&mut self, at: Time, replica: usize) -> u64 {
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

    fn stored(&self, replica: usize, sequence: u64) -> Option<Vec<u8>> {
        if sequence < self.first {
            return None;
        }
        let index = usize::try_from(sequence.checked_sub(1)?).ok()?;
        let mut bytes = self.records.get(index)?.1.clone();
        match self.replicas[replica].harm.get(&sequence) {
            Some(Harm::Lost) => return None,
            Some(Harm::Flipped) => {
                let place = bytes.len() / 2;
                bytes[place] ^= 8;
            }
            None => {}
        }
        Some(bytes)
    }
}
