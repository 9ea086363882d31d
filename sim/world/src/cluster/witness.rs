//! A state that follows the log beside the members, and decides each entry once for the judges; and what a
//! member has applied, for the judge of the servers.

use std::collections::VecDeque;
use std::sync::Arc;

use chat_cluster::{Member, Output};
use chat_core::{Entry, Event, Hub, Position, Reject, Reply};
use chat_journal::{Chain, Origin};
use chat_types::{Config, Time};
use sim_model::cluster::{ClusterFact, LogOwner};

/// An entry of the log that the judges do not know yet.
#[derive(Clone, Debug)]
pub(super) struct Unreported {
    pub(super) position: Position,
    pub(super) at: Time,
    pub(super) entry: Entry,
    pub(super) outcome: Result<Reply, Reject>,
    pub(super) posted: Vec<Arc<Event>>,
}

/// The state behind the log's last applied record.
#[derive(Clone, Debug)]
pub(super) struct Witness {
    hub: Hub,
    chain: Chain,
    unreported: VecDeque<Unreported>,
}

impl Witness {
    pub(super) fn new(origin: &Origin, config: Config) -> Self {
        let mut hub = Hub::new(config, origin.seed);
        hub.collect_posted();
        Self {
            hub,
            chain: Chain::new(origin),
            unreported: VecDeque::new(),
        }
    }

    /// Applies the records that a member was the first to apply.
    ///
    /// # Panics
    /// A member applied a record that is not the next one of the journal.
    pub(super) fn follow(&mut self, outputs: &[Output]) {
        for output in outputs {
            let Output::Applied { place, record } = output else {
                continue;
            };
            if place.chain.last() <= self.chain.last() {
                continue;
            }
            let batch = self.chain.follow(record);
            let batch =
                batch.unwrap_or_else(|why| panic!("a member applied another record: {why}"));
            let mut position = batch.first;
            for entry in batch.entries {
                let outcome = self.hub.handle(batch.at, &entry);
                while self.hub.poll_effect().is_some() {}
                self.unreported.push_back(Unreported {
                    position,
                    at: batch.at,
                    entry,
                    outcome,
                    posted: self.hub.take_posted(),
                });
                position = position.next();
            }
        }
    }

    /// Whether there are entries that the judges do not know.
    pub(super) fn has_next(&self) -> bool {
        !self.unreported.is_empty()
    }

    /// The next entry that the judges do not know.
    pub(super) fn next(&mut self) -> Option<Unreported> {
        self.unreported.pop_front()
    }

    /// The state.
    pub(super) const fn hub(&self) -> &Hub {
        &self.hub
    }
}

/// The records between two digests of the members' states, which cost time.
const DIGEST_EVERY: u64 = 16;

/// What the member has applied since it had applied the record `before`, if anything.
#[must_use]
pub fn applied(site: usize, member: &Member, before: u64) -> Option<ClusterFact> {
    let (sequence, hub) = (member.sequence(), member.hub());
    if sequence == before {
        return None;
    }
    let state = match hub.position().0 {
        // Before the first entry the state is the member's own configuration.
        0 => (0, 0),
        position if sequence.is_multiple_of(DIGEST_EVERY) => (position, hub.digest()),
        position => (position, 0),
    };
    let owner = member.owner().map(|owner| LogOwner {
        epoch: owner.epoch,
        author: (owner.member.number, owner.member.incarnation),
    });
    Some(ClusterFact::Applied {
        member: site as u64,
        sequence,
        state,
        owner,
    })
}
