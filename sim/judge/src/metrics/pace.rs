//! Calls per second: offered and answered ones.

use chat_types::Time;

use sim_model::history::{Observer, Record, What, Wire, WorldRecord};
use sim_model::outcome::START;

/// Counts calls while users arrive, which is until the heal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    calls: Calls,
    until_heal: Option<(Time, Calls)>,
}

/// Numbers of calls, without retries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Calls that users intended to make.
    pub offered: u64,
    /// Calls that were answered.
    pub answered: u64,
}

impl Pace {
    /// All calls so far.
    pub const fn calls(&self) -> Calls {
        self.calls
    }

    /// Offered and answered calls per second while users arrived; over the whole run until `now` if
    /// it never healed.
    pub fn each_second(&self, now: Time) -> (f64, f64) {
        let (ended, calls) = self.until_heal.unwrap_or((now, self.calls));
        let each_second = |n: u64| n as f64 * 1e6 / ended.since(START).0.max(1) as f64;
        (each_second(calls.offered), each_second(calls.answered))
    }
}

impl Observer for Pace {
    fn observe(&mut self, record: &Record<'_>) {
        if let What::Called { .. } = record.what {
            self.calls.offered += 1;
        } else if let What::Answered { .. } = record.what {
            self.calls.answered += 1;
        }
    }

    fn observe_world(&mut self, record: &WorldRecord<'_>) {
        if let WorldRecord::Healed { at } = record {
            self.until_heal = Some((*at, self.calls));
        }
    }

    fn observe_wire(&mut self, _: &Wire<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_model::protocol::{Agent, CallId, Op};

    fn call(pace: &mut Pace, at: Time) {
        let what = What::Called {
            call: CallId(0),
            op: &Op::Mood,
            intended: at,
            keyed: false,
        };
        pace.observe(&Record {
            at,
            agent: Agent(0),
            user: None,
            what,
        });
    }

    #[test]
    fn calls_count_until_all_is_healed() {
        let mut pace = Pace::default();
        let second = Time(START.0 + 1_000_000);
        for _ in 0..10 {
            call(&mut pace, START);
        }
        assert_eq!(pace.each_second(second), (10.0, 0.0));
        let healed = Time(START.0 + 2_000_000);
        pace.observe_world(&WorldRecord::Healed { at: healed });
        call(&mut pace, healed);
        assert_eq!(pace.each_second(Time::MAX), (5.0, 0.0));
        assert_eq!(pace.calls().offered, 11);
    }
}
