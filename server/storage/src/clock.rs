//! The only reader of the clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use chat_core::Time;

/// Wall-clock time that never goes back: the wall clock is read once, and a monotonic clock
/// advances from there.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: Time,
    since: Instant,
}

impl Clock {
    /// Starts the clock.
    #[must_use]
    pub fn start() -> Self {
        Self::start_after(Time(0))
    }

    /// A clock that starts now, or at `last` if the machine's clock is before it: the clock may
    /// have been set back since the last entry of the journal.
    #[must_use]
    pub fn start_after(last: Time) -> Self {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        Self {
            began: Time(micros(wall)).max(last),
            since: Instant::now(),
        }
    }

    /// The current time.
    #[must_use]
    pub fn now(&self) -> Time {
        Time(self.began.0.saturating_add(micros(self.since.elapsed())))
    }

    /// The time until `then`; zero if it has passed.
    #[must_use]
    pub fn until(&self, then: Time) -> Duration {
        Duration::from_micros(then.since(self.now()).0)
    }
}

/// The time since the machine started, with the time that it slept: for spans that must not be
/// measured too short.
#[cfg(all(feature = "cluster", target_os = "linux"))]
#[must_use]
pub fn since_boot() -> Time {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    let nanos = u64::try_from(now.tv_nsec).unwrap_or_default();
    Time(seconds * 1_000_000 + nanos / 1_000)
}

/// The time since the first call. Where it stops while the machine sleeps, a member that slept may
/// answer reads from an old state for the rest of its lease.
#[cfg(all(feature = "cluster", not(target_os = "linux")))]
pub fn since_boot() -> Time {
    static FIRST: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    Time(micros(FIRST.get_or_init(Instant::now).elapsed()))
}

/// The wall clock, which may go back.
#[must_use]
pub fn wall() -> Time {
    Clock::start().now()
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
