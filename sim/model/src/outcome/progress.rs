//! The progress of runs, for the live line, and requests to end them early.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use chat_types::Span;

/// A request to end early, shared by all threads of a run.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// The request that this flag makes when it becomes true.
    #[must_use]
    pub const fn of(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }

    /// Whether to continue.
    pub fn flow(&self) -> ControlFlow<()> {
        match self.is_requested() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Whether the run is to end.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counters that running worlds update, over all seeds.
#[derive(Debug, Default)]
pub struct Progress {
    interrupt: Interrupt,
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
    /// The progress of runs that end early when that is requested.
    #[must_use]
    pub fn until(interrupt: Interrupt) -> Self {
        Self {
            interrupt,
            ..Self::default()
        }
    }

    /// Whether the run is to end. Its outcome is not used any more.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.is_requested()
    }

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
