//! Calls that were long on their way to the owner. The network may hold one back, and carry it after
//! its client has given it up, repeated it at another door, and used more request keys since than are
//! remembered. So it must have no effect.
//!
//! No two clocks are compared: a question names the last record that its door had applied, and the
//! owner knows when it applied the next one.

use std::collections::VecDeque;
use std::time::Duration;

use server_chat::task;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::standing::Standings;

/// How far a door may be behind: longer than one attempt of a call takes, and a healthy door is.
const LATE: Duration = Duration::from_secs(3);

/// The pause between two looks at the log's end.
const LOOK: Duration = Duration::from_millis(250);

/// The sequence that was applied at some instants, the oldest first.
#[derive(Debug, Default)]
struct Past(VecDeque<(Instant, u64)>);

impl Past {
    /// Adds what is applied now. Returns the sequence that was applied `LATE` ago, or 0.
    fn look(&mut self, now: Instant, sequence: u64) -> u64 {
        self.0.push_back((now, sequence));
        let is_old = |at: &Instant| now.duration_since(*at) >= LATE;
        while self.0.get(1).is_some_and(|(at, _)| is_old(at)) {
            self.0.pop_front();
        }
        let oldest = self.0.front().filter(|(at, _)| is_old(at));
        oldest.map_or(0, |(_, sequence)| *sequence)
    }
}

/// The sequence below which the questions are late.
pub(super) type LateBelow = watch::Receiver<u64>;

/// Follows this member's place in the log until the driver stops.
pub(super) fn late_below(standing: Standings) -> LateBelow {
    let (set, late_below) = watch::channel(0);
    task::spawn(async move {
        let (mut past, mut looks) = (Past::default(), interval(LOOK));
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while standing.has_changed().is_ok() {
            let now = looks.tick().await;
            let sequence = standing.borrow().sequence;
            set.send_replace(past.look(now, sequence));
        }
    });
    late_below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_late_if_the_record_after_its_own_is_old() {
        let began = Instant::now();
        let at = |seconds: u64| began + Duration::from_secs(seconds);
        let mut past = Past::default();
        assert_eq!(past.look(at(0), 10), 0, "nothing is known of before");
        assert_eq!(past.look(at(2), 20), 0);
        assert_eq!(past.look(at(3), 30), 10);
        assert_eq!(past.look(at(4), 30), 10);
        assert_eq!(past.look(at(5), 31), 20);
        assert_eq!(past.look(at(60), 31), 31, "no record came meanwhile");
    }
}
