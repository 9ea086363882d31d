//! The progress of runs, for the live line. It has no influence on them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use chat_types::Span;

/// Counters that running worlds update, over all seeds.
#[derive(Debug, Default)]
pub struct Progress {
    virtual_us: AtomicU64,
    users: AtomicU64,
    steps: AtomicU64,
    seeds_done: AtomicU64,
    live: Mutex<Option<LiveNow>>,
}

/// The state of a live run at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LiveNow {
    /// The recent rate of calls that users intended, per second.
    pub offered: u64,
    /// The recent rate of answered calls, per second.
    pub answered: u64,
    /// The 99th percentile of all calls' latency so far, in microseconds.
    pub p99_us: f64,
    /// The number of failed requests so far.
    pub failed: u64,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProgressNow {
    /// The virtual time of the seed that reported last, from its beginning.
    pub virtual_time: Span,
    /// The number of users that arrived.
    pub users: u64,
    /// The number of steps.
    pub steps: u64,
    /// The number of finished seeds.
    pub seeds_done: u64,
    /// The state of a live run.
    pub live: Option<LiveNow>,
}

impl Progress {
    /// Reports that a world has reached `virtual_time` (from its beginning), with the numbers of
    /// new users and steps since its last report. Every thousand steps or so is enough.
    pub fn advance(&self, virtual_time: Span, more_users: u64, more_steps: u64) {
        self.virtual_us.store(virtual_time.0, Ordering::Relaxed);
        self.users.fetch_add(more_users, Ordering::Relaxed);
        self.steps.fetch_add(more_steps, Ordering::Relaxed);
    }

    /// Reports the time and the number of users of a live run.
    pub fn tell_live(&self, time: Span, users: u64, now: LiveNow) {
        self.virtual_us.store(time.0, Ordering::Relaxed);
        self.users.store(users, Ordering::Relaxed);
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }

    /// Reports a finished seed.
    pub fn finish_seed(&self) {
        self.seeds_done.fetch_add(1, Ordering::Relaxed);
    }

    /// The counters now.
    #[must_use]
    pub fn now(&self) -> ProgressNow {
        ProgressNow {
            virtual_time: Span(self.virtual_us.load(Ordering::Relaxed)),
            users: self.users.load(Ordering::Relaxed),
            steps: self.steps.load(Ordering::Relaxed),
            seeds_done: self.seeds_done.load(Ordering::Relaxed),
            live: *self.live.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }
}
