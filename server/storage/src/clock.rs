//! The only reader of the clock.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use chat_core::{Span, Time};

/// The least step of the wall clock that is one: what is less is drift.
const STEP: Span = Span::secs(1);

/// How far the last entry may be ahead of the wall clock before an operator should know.
const AHEAD: Span = Span::secs(60);

/// The clocks of a machine. Each is read alone: most looks are at the steady one.
pub struct MachineClocks {
    /// The wall clock, which may be set forwards and back.
    pub wall: Box<dyn Fn() -> Time + Send + Sync>,
    /// The time since some instant, which never goes back, and may stop while the machine sleeps.
    pub steady: Box<dyn Fn() -> Duration + Send + Sync>,
}

/// Wall-clock time that never goes back: a steady clock advances from where the wall clock was, and
/// follows it forwards when it is asked to.
pub struct Clock {
    machine: MachineClocks,
    /// The time at which the steady clock began, later by each step since.
    began: AtomicU64,
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({:?})", self.now())
    }
}

impl Clock {
    /// Starts the clock.
    #[must_use]
    pub fn start() -> Self {
        Self::start_after(Time(0))
    }

    /// A clock that starts now, or at `last`, the last entry of the journal, if the machine's clock is
    /// before it: the clock may have been set back since.
    #[must_use]
    pub fn start_after(last: Time) -> Self {
        let began = Instant::now();
        let machine = MachineClocks {
            wall: Box::new(wall),
            steady: Box::new(move || began.elapsed()),
        };
        Self::of(machine, last)
    }

    /// A clock by these of a machine, as for [`Clock::start_after`].
    #[must_use]
    pub fn of(machine: MachineClocks, last: Time) -> Self {
        let wall = (machine.wall)();
        let ahead = last.since(wall);
        if ahead > AHEAD {
            tracing::warn!(
                ahead_seconds = ahead.0 / 1_000_000,
                "the clock of the machine is behind the last entry of the journal: all dates are ahead by \
                 so much until it has passed; if the clock is right, restore a backup from before it was \
                 wrong"
            );
        }
        Self {
            machine,
            began: AtomicU64::new(wall.max(last).0),
        }
    }

    /// The current time.
    #[must_use]
    pub fn now(&self) -> Time {
        let began = self.began.load(Ordering::Relaxed);
        Time(began.saturating_add(micros((self.machine.steady)())))
    }

    /// Follows the wall clock forwards. Returns the length of a step, as after a sleep of the machine.
    /// After a step back the time goes on as before.
    pub fn follow(&self) -> Option<Span> {
        let ahead = (self.machine.wall)().since(self.now());
        self.began.fetch_add(ahead.0, Ordering::Relaxed);
        (ahead >= STEP).then_some(ahead)
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
    Time(micros(now.try_into().unwrap_or_default()))
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
    let wall = SystemTime::now().duration_since(UNIX_EPOCH);
    Time(micros(wall.unwrap_or(Duration::ZERO)))
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    const HOUR: Span = Span::secs(3_600);

    /// The wall clock and the steady one, in microseconds.
    #[derive(Default)]
    struct SetClocks(Arc<Mutex<(u64, u64)>>);

    impl SetClocks {
        fn pass(&self, wall: Span, steady: Span) {
            let mut now = self.0.lock().unwrap();
            *now = (now.0 + wall.0, now.1 + steady.0);
        }

        fn clock(&self, last: Time) -> Clock {
            let (wall, steady) = (Arc::clone(&self.0), Arc::clone(&self.0));
            let machine = MachineClocks {
                wall: Box::new(move || Time(wall.lock().unwrap().0)),
                steady: Box::new(move || Duration::from_micros(steady.lock().unwrap().1)),
            };
            Clock::of(machine, last)
        }
    }

    #[test]
    fn the_time_follows_the_wall_forwards_and_never_goes_back() {
        let machine = SetClocks::default();
        machine.pass(HOUR.times(100), Span::ZERO);
        let clock = machine.clock(Time(0));
        machine.pass(HOUR, HOUR);
        assert_eq!((clock.follow(), clock.now()), (None, Time(HOUR.0 * 101)));
        // It slept. What it does before it is asked is at the time of before.
        machine.pass(HOUR.times(8), Span::ZERO);
        assert_eq!(clock.now(), Time(HOUR.0 * 101));
        assert_eq!(clock.follow(), Some(HOUR.times(8)));
        assert_eq!((clock.follow(), clock.now()), (None, Time(HOUR.0 * 109)));
        // Drift is no step.
        machine.pass(Span::millis(9), Span::ZERO);
        assert_eq!(clock.follow(), None);
        assert_eq!(clock.now(), Time(HOUR.0 * 109 + 9_000));
        // A step back.
        machine.0.lock().unwrap().0 -= HOUR.0;
        machine.pass(HOUR, HOUR);
        let now = Time(HOUR.0 * 110 + 9_000);
        assert_eq!((clock.follow(), clock.now()), (None, now));
    }

    #[test]
    fn a_start_is_never_before_the_last_entry() {
        let last = Time(HOUR.0 * 9);
        let clock = SetClocks::default().clock(last);
        assert_eq!((clock.now(), clock.follow()), (last, None));
    }
}
