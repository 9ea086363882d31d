//! Sizes, read from the node and from the pools when metrics are requested.

use std::time::Duration;

use chat_core::{Counters, Counts, Load, Span, StickMove, Time};

use super::{Metrics, Row, Samples};
use crate::capacity::{Capacity, Share};
use crate::lossy_output::STDERR;
use crate::view::View;

impl Samples {
    /// Sets the amount of a resource in use, in all and by the source that uses most, with their
    /// limits.
    fn hold(&self, resource: &str, (all, most_of_one): (u64, u64), share: Share) {
        for (row, now) in [
            (Row::Held, all),
            (Row::HeldByOne, most_of_one),
            (Row::HeldLimit, share.all),
            (Row::HeldByOneLimit, share.each),
        ] {
            self.change(row, resource, |sample| sample.number = now);
        }
    }
}

/// The current values of the node.
#[derive(Clone, Debug)]
pub struct Seen {
    pub(super) counts: Counts,
    pub(super) load: Load,
    /// The limit of participants.
    pub(super) participants: Share,
    pub(super) counters: Counters,
    /// How long those who wait for a stick, and others before them, have waited.
    pub(super) waited: Span,
}

impl Seen {
    /// Reads the values of this node.
    #[must_use]
    pub fn of(node: &View<'_>) -> Self {
        let hub = node.hub();
        Self {
            counts: hub.counts(),
            load: node.load(),
            participants: Share {
                all: hub.config().max_participants.into(),
                each: hub.config().max_per_address.into(),
            },
            counters: hub.counters().clone(),
            waited: hub.counters().waited(hub.now()),
        }
    }
}

impl Metrics {
    /// The series of the process, after a look at its pools, its rates, its memory and its log.
    pub fn of_process(&self, capacity: &Capacity) -> &Samples {
        self.read_process();
        self.raise(Row::LogLinesDropped, "", STDERR.dropped());
        for pool in capacity.pools() {
            let resource = pool.name;
            let held = (pool.held(), pool.most_of_one());
            self.process.hold(resource, held, pool.share);
            self.raise(Row::HeldRefused, resource, pool.refused());
        }
        let memory = &capacity.memory;
        self.set(Row::MemoryLimit, "", memory.limit.unwrap_or(0));
        self.raise(Row::MemoryRefused, "", memory.refused());
        for rate in capacity.rates() {
            self.raise(Row::RateWaited, rate.name, rate.waited());
            self.raise(Row::RateRefused, rate.name, rate.refused());
        }
        &self.process
    }

    /// Sets the sizes to these values of the node; without any, the last ones stay. `queued` calls are
    /// those that it has not taken yet.
    pub fn see(&self, now: Time, seen: Option<Seen>, queued: usize) {
        self.set(Row::DriverQueued, "", queued as u64);
        let Some(seen) = seen else { return };
        let Seen {
            counts,
            load,
            counters,
            ..
        } = seen;
        let seconds = |micros: u64| Duration::from_micros(micros).as_secs_f64();
        for (row, size) in [
            (Row::Participants, counts.participants),
            (Row::Rooms, counts.rooms),
            (Row::QueueLength, counts.waiting),
            (Row::Streams, load.streams),
            (Row::WaitingChecks, load.parked),
            (Row::HeldAnswers, load.held),
            (Row::JournalPending, load.pending),
            (Row::RatedAddresses, load.addresses),
        ] {
            self.set(row, "", size as u64);
        }
        let held = (counts.participants as u64, counts.of_one_address as u64);
        self.realm.hold("participants", held, seen.participants);
        let first = counts.first_waits_since.map(|since| now.since(since));
        self.set_seconds(Row::QueueFirstWait, seconds(first.unwrap_or_default().0));
        let recent = counts.recent_wait.unwrap_or_default();
        self.set_seconds(Row::QueueRecentWait, seconds(recent.0));
        // The node counts these itself, and never down.
        self.raise(Row::BossAlerts, "", counters.alerts);
        self.raise(Row::BreaksHeld, "", counters.held);
        self.raise(Row::Messages, "", counters.messages);
        self.raise(Row::Matches, "", counters.matches);
        for (how, moved) in StickMove::NAMES.iter().zip(counters.moves) {
            self.raise(Row::StickMoves, how, moved);
        }
        self.set(Row::StickClaimants, "", counters.claimants);
        self.raise_seconds(Row::StickWait, seconds(seen.waited.0));
    }
}
