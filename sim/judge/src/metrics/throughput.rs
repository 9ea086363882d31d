//! Calls per second: offered and answered ones.

use chat_types::Time;

use sim_model::history::{ClientEvent, Observer, Record, RunEvent, WorldRecord};
use sim_model::outcome::START;

/// Counts calls while users arrive, which is until the heal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Throughput {
    calls: CallCounts,
    until_heal: Option<(Time, CallCounts)>,
}

/// Numbers of calls, without retries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Calls that users intended to make.
    pub offered: u64,
    /// Calls that were answered.
    pub answered: u64,
}

impl Throughput {
    /// All calls so far.
    pub const fn calls(&self) -> CallCounts {
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

impl Observer for Throughput {
    fn observe(&mut self, event: RunEvent<'_>) {
        if let RunEvent::Client(Record { what, .. }) = event {
            self.calls.offered += u64::from(matches!(what, ClientEvent::Called { .. }));
            self.calls.answered += u64::from(matches!(what, ClientEvent::Answered { .. }));
        } else if let RunEvent::World(at, WorldRecord::Healed) = event {
            self.until_heal = Some((at, self.calls));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_model::history::RequestKey;
    use sim_model::protocol::{Agent, CallId, Op, Read};

    fn call(throughput: &mut Throughput, at: Time) {
        let what = ClientEvent::Called {
            call: CallId(0),
            op: &Op::by_handle(Read::Mood),
            intended: at,
            key: RequestKey::None,
        };
        throughput.observe(RunEvent::Client(&Record {
            at,
            agent: Agent(0),
            name: "",
            user: None,
            what,
        }));
    }

    #[test]
    fn throughput_counts_calls_until_the_heal() {
        let mut throughput = Throughput::default();
        let second = Time(START.0 + 1_000_000);
        for _ in 0..10 {
            call(&mut throughput, START);
        }
        assert_eq!(throughput.each_second(second), (10.0, 0.0));
        let healed = Time(START.0 + 2_000_000);
        throughput.observe_world(healed, &WorldRecord::Healed);
        call(&mut throughput, healed);
        assert_eq!(throughput.each_second(Time::MAX), (5.0, 0.0));
        assert_eq!(throughput.calls().offered, 11);
    }
}
