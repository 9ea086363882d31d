//! The progress of runs, for the live line, and requests to end them early.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    now: Mutex<ProgressNow>,
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
        let mut now = self.counters();
        now.virtual_time = virtual_time;
        now.users += more_users;
        now.steps += more_steps;
    }

    /// Reports the time and the number of users of a live run.
    pub fn tell_live(&self, virtual_time: Span, users: u64, live: LiveNow) {
        let mut now = self.counters();
        (now.virtual_time, now.users) = (virtual_time, users);
        now.live = Some(live);
    }

    /// Reports a finished seed.
    pub fn finish_seed(&self) {
        self.counters().seeds_done += 1;
    }

    /// The counters now.
    #[must_use]
    pub fn now(&self) -> ProgressNow {
        *self.counters()
    }

    fn counters(&self) -> MutexGuard<'_, ProgressNow> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
