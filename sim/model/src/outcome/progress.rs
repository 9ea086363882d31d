//! How far the runs are, for the live line. It tells, and decides nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use chat_types::Span;

/// Counters that the worlds move while they run, over all seeds.
#[derive(Debug, Default)]
pub struct Progress {
    virtual_us: AtomicU64,
    users: AtomicU64,
    steps: AtomicU64,
    seeds_done: AtomicU64,
    live: Mutex<Option<LiveNow>>,
}

/// How a live run does at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LiveNow {
    /// Calls a second that users meant to make, of late.
    pub offered: u64,
    /// Calls a second that were answered.
    pub answered: u64,
    /// The 99th percentile of all calls' latency so far, in microseconds.
    pub p99_us: f64,
    /// Requests that came to nothing so far.
    pub failed: u64,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProgressNow {
    /// Virtual time of the seed that told last, since its beginning.
    pub virtual_time: Span,
    /// Users who came.
    pub users: u64,
    /// Events of the virtual worlds handled.
    pub steps: u64,
    /// Seeds that are done.
    pub seeds_done: u64,
    /// Of a live run.
    pub live: Option<LiveNow>,
}

impl Progress {
    /// A world has come to `virtual_time` (since its beginning), and since it told last so many
    /// users came and so many steps were handled. Once every thousand steps or so is enough.
    pub fn advance(&self, virtual_time: Span, more_users: u64, more_steps: u64) {
        self.virtual_us.store(virtual_time.0, Ordering::Relaxed);
        self.users.fetch_add(more_users, Ordering::Relaxed);
        self.steps.fetch_add(more_steps, Ordering::Relaxed);
    }

    /// A live run has come to `time`, and so many users are there.
    pub fn tell_live(&self, time: Span, users: u64, now: LiveNow) {
        self.virtual_us.store(time.0, Ordering::Relaxed);
        self.users.store(users, Ordering::Relaxed);
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }

    /// A seed is done.
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
