//! Sizes, read from the node and from the pools when metrics are requested.

use std::array;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use chat_core::{Counts, Load, Span, StickMove, Time};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::capacity::{Capacity, Share};
use crate::lossy_output::STDERR;
use crate::view::View;

/// By the work of a rate.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByWork {
    of: &'static str,
}

/// By the transition of a stick.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByMove {
    how: &'static str,
}

/// By the resource of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByResource {
    resource: &'static str,
}

/// The metrics that are read from the node on request.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    participants: Gauge,
    rooms: Gauge,
    queue_length: Gauge,
    queue_first_wait_seconds: Gauge<f64, AtomicU64>,
    queue_recent_wait_seconds: Gauge<f64, AtomicU64>,
    streams: Gauge,
    waiting_checks: Gauge,
    held_answers: Gauge,
    journal_pending: Gauge,
    driver_queued: Gauge,
    rated_addresses: Gauge,
    boss_alerts: Counter,
    breaks_held: Counter,
    messages: Counter,
    matches: Counter,
    stick_moves: Family<ByMove, Counter>,
    stick_claimants: Gauge,
    stick_wait_seconds: Counter<f64, AtomicU64>,
    /// Participants, of which each realm has as many as it may have.
    held: Held,
}

/// The metrics of resources that are held.
#[derive(Debug, Default)]
struct Held {
    all: Family<ByResource, Gauge>,
    most_of_one: Family<ByResource, Gauge>,
    limit: Family<ByResource, Gauge>,
    limit_of_one: Family<ByResource, Gauge>,
}

impl Held {
    fn register(&self, registry: &mut Registry) {
        let mut by_resource = |name, help, family: &Family<ByResource, Gauge>| {
            registry.register(name, help, family.clone());
        };
        by_resource(
            "held",
            "Participants, connections, streams, sessions or bytes in use, by resource",
            &self.all,
        );
        by_resource(
            "held_by_one",
            "How much of a resource the address or token has that has most",
            &self.most_of_one,
        );
        by_resource(
            "held_limit",
            "How much of a resource all addresses and tokens may have together",
            &self.limit,
        );
        by_resource(
            "held_by_one_limit",
            "How much of a resource one address or token may have",
            &self.limit_of_one,
        );
    }

    /// Sets the amount of a resource in use, in all and by the source that uses most, with their
    /// limits.
    fn set(&self, resource: &'static str, (all, most_of_one): (u64, u64), share: Share) {
        for (family, now) in [
            (&self.all, all),
            (&self.most_of_one, most_of_one),
            (&self.limit, share.all),
            (&self.limit_of_one, share.each),
        ] {
            family
                .get_or_create(&ByResource { resource })
                .set(whole(now));
        }
    }
}

/// The metrics of what sources use of the process.
#[derive(Debug, Default)]
pub(super) struct Used {
    held: Held,
    refused: Family<ByResource, Counter>,
    memory_limit_bytes: Gauge,
    refused_for_memory: Counter,
    waited: Family<ByWork, Counter>,
    refused_for_rate: Family<ByWork, Counter>,
    log_lines_dropped: Counter,
}

impl Used {
    pub(super) fn register(&self, registry: &mut Registry) {
        self.held.register(registry);
        registry.register(
            "held_refused",
            "How often somebody was refused because a resource or its share was used up",
            self.refused.clone(),
        );
        registry.register(
            "memory_limit_bytes",
            "The memory above which nothing is taken that holds some; 0 for no limit",
            self.memory_limit_bytes.clone(),
        );
        registry.register(
            "memory_refused",
            "How often something was refused for want of memory",
            self.refused_for_memory.clone(),
        );
        registry.register(
            "rate_waited",
            "How often a source was faster than it may be, and waited",
            self.waited.clone(),
        );
        registry.register(
            "rate_refused",
            "How often a source would have had to wait too long, and was refused",
            self.refused_for_rate.clone(),
        );
        registry.register(
            "log_lines_dropped",
            "Lines of the log that its reader did not take in time",
            self.log_lines_dropped.clone(),
        );
    }

    /// Reads the pools, the rates, the memory and the log.
    pub(super) fn read(&self, capacity: &Capacity) {
        raise(&self.log_lines_dropped, STDERR.dropped());
        for pool in capacity.pools() {
            let by = ByResource {
                resource: pool.resource().name(),
            };
            let held = (pool.held(), pool.most_of_one());
            self.held.set(by.resource, held, pool.share());
            raise(&self.refused.get_or_create(&by), pool.refused());
        }
        let memory = &capacity.memory;
        let limit = memory.limit().unwrap_or(0);
        self.memory_limit_bytes.set(whole(limit));
        raise(&self.refused_for_memory, memory.refused());
        for rate in capacity.rates() {
            let by = ByWork {
                of: rate.of().name(),
            };
            raise(&self.waited.get_or_create(&by), rate.waited());
            let refused = self.refused_for_rate.get_or_create(&by);
            raise(&refused, rate.refused());
        }
    }
}

pub(super) fn whole(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Raises a counter to a count kept elsewhere; never lowers it.
pub(super) fn raise(counter: &Counter, now: u64) {
    counter.inc_by(now.saturating_sub(counter.get()));
}

/// The current values of the node.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub(super) counts: Counts,
    pub(super) load: Load,
    /// The limit of participants.
    pub(super) participants: Share,
    /// Breaks that a boss noticed.
    pub(super) alerts: u64,
    /// Breaks whose answers were delayed.
    pub(super) held: u64,
    /// Messages that were said, and pairs that were matched.
    pub(super) done: (u64, u64),
    /// Transitions of sticks, in the order of their kinds.
    pub(super) moves: [u64; StickMove::ALL.len()],
    /// Those who wait for a stick, and how long they and others before them have waited.
    pub(super) claims: (u64, Span),
}

impl Seen {
    /// Reads the values of this node.
    #[must_use]
    pub fn of(node: &View<'_>) -> Self {
        let counters = node.hub().counters();
        let config = node.hub().config();
        Self {
            counts: node.hub().counts(),
            load: node.load(),
            participants: Share {
                all: config.max_participants.into(),
                each: config.max_per_address.into(),
            },
            alerts: counters.alerts(),
            held: counters.held(),
            done: (counters.messages(), counters.matches()),
            moves: array::from_fn(|how| counters.moved(StickMove::ALL[how])),
            claims: (counters.claimants(), counters.waited(node.hub().now())),
        }
    }
}

impl Sizes {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "participants",
            "Registered participants",
            self.participants.clone(),
        );
        registry.register("rooms", "Rooms, ended ones among them", self.rooms.clone());
        registry.register(
            "queue_length",
            "Waiting for a partner",
            self.queue_length.clone(),
        );
        registry.register(
            "queue_first_wait_seconds",
            "How long the first in that line has been waiting",
            self.queue_first_wait_seconds.clone(),
        );
        registry.register(
            "queue_recent_wait_seconds",
            "How long recent waits for a partner were on average",
            self.queue_recent_wait_seconds.clone(),
        );
        registry.register("streams", "Open event streams", self.streams.clone());
        registry.register(
            "waiting_checks",
            "Checks that wait for something to come",
            self.waiting_checks.clone(),
        );
        registry.register(
            "held_answers",
            "Answers of breaks that are held back, or may have to be",
            self.held_answers.clone(),
        );
        self.register_counts(registry);
        registry.register(
            "journal_pending",
            "Commands that wait for the journal",
            self.journal_pending.clone(),
        );
        registry.register(
            "driver_queued",
            "Calls that lie in the driver's channel",
            self.driver_queued.clone(),
        );
        registry.register(
            "rated_addresses",
            "Addresses whose calls or registrations are counted against a rate",
            self.rated_addresses.clone(),
        );
        self.held.register(registry);
    }

    /// What the node counts itself.
    fn register_counts(&self, registry: &mut Registry) {
        registry.register(
            "boss_alerts",
            "Breaks that made a boss more alert",
            self.boss_alerts.clone(),
        );
        registry.register(
            "breaks_held",
            "Breaks whose answers were held back, under a boss who was fully alert",
            self.breaks_held.clone(),
        );
        registry.register("messages", "Messages that were said", self.messages.clone());
        registry.register("matches", "Pairs that were matched", self.matches.clone());
        registry.register(
            "stick_moves",
            "Transitions of sticks and of claims on them",
            self.stick_moves.clone(),
        );
        for how in StickMove::ALL {
            let how = ByMove { how: how.name() };
            let _ = self.stick_moves.get_or_create(&how);
        }
        registry.register(
            "stick_claimants",
            "Members who wait for a stick",
            self.stick_claimants.clone(),
        );
        registry.register(
            "stick_wait_seconds",
            "How long all of them together have waited",
            self.stick_wait_seconds.clone(),
        );
    }

    /// Sets the number of calls that the node has not taken yet.
    pub(super) fn queued(&self, queued: usize) {
        self.driver_queued.set(whole(queued as u64));
    }

    /// Sets the metrics to the node's values.
    pub(super) fn set(&self, now: Time, seen: Seen) {
        let Seen {
            counts,
            load,
            participants,
            alerts,
            held,
            done: (messages, matches),
            moves,
            claims: (claimants, waited),
        } = seen;
        let size = |n: usize| whole(n as u64);
        let seconds = |micros: u64| Duration::from_micros(micros).as_secs_f64();
        self.participants.set(size(counts.participants));
        let (all, of_one) = (counts.participants as u64, counts.of_one_address as u64);
        self.held.set("participants", (all, of_one), participants);
        self.rooms.set(size(counts.rooms));
        self.queue_length.set(size(counts.waiting));
        let first = counts
            .first_waits_since
            .map_or(0, |since| now.since(since).0);
        self.queue_first_wait_seconds.set(seconds(first));
        let recent = counts.recent_wait.map_or(0, |wait| wait.0);
        self.queue_recent_wait_seconds.set(seconds(recent));
        self.streams.set(size(load.streams));
        self.waiting_checks.set(size(load.parked));
        self.held_answers.set(size(load.held));
        self.journal_pending.set(size(load.pending));
        self.rated_addresses.set(size(load.addresses));
        // The node counts these itself, and never down.
        raise(&self.boss_alerts, alerts);
        raise(&self.breaks_held, held);
        raise(&self.messages, messages);
        raise(&self.matches, matches);
        for (how, moved) in StickMove::ALL.iter().zip(moves) {
            let how = ByMove { how: how.name() };
            raise(&self.stick_moves.get_or_create(&how), moved);
        }
        self.stick_claimants.set(whole(claimants));
        let more = seconds(waited.0) - self.stick_wait_seconds.get();
        if more > 0.0 {
            self.stick_wait_seconds.inc_by(more);
        }
    }
}
