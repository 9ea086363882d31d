//! Pauses of the process. A call that waited during one has no effect any more: its client has
//! repeated it at another door, and may have used more request keys since than are remembered.

use std::time::Duration;

use chat_core::{Span, Time};

/// The longest time between two turns of a process that runs.
pub(super) const TURN: Duration = Duration::from_millis(500);

/// A longer time between two turns was a pause.
const PAUSE: Span = Span::secs(2);

/// How long after a pause a call may have arrived before it.
const DOUBT: Span = Span::secs(1);

/// Watches for pauses. All instants are those of the time since the machine started.
#[derive(Clone, Copy, Debug)]
pub(super) struct PauseWatch {
    last_turn: Time,
    doubted_until: Time,
}

impl PauseWatch {
    pub(super) const fn new(now: Time) -> Self {
        Self {
            last_turn: now,
            doubted_until: now,
        }
    }

    /// A turn begins.
    pub(super) fn turn(&mut self, now: Time) {
        if now.since(self.last_turn) > PAUSE {
            tracing::warn!("this process was paused: calls that waited are refused");
            self.doubted_until = now + DOUBT;
        }
        self.last_turn = now;
    }

    /// Whether a call that is taken now may have waited during a pause.
    pub(super) fn is_in_doubt(&self, now: Time) -> bool {
        now < self.doubted_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_in_doubt_for_a_while_after_a_pause() {
        let at = |millis| Time(0) + Span::millis(millis);
        let mut watch = PauseWatch::new(at(0));
        watch.turn(at(2_000));
        assert!(!watch.is_in_doubt(at(2_000)));
        watch.turn(at(4_001));
        assert!(watch.is_in_doubt(at(4_001)));
        watch.turn(at(4_500));
        assert!(watch.is_in_doubt(at(5_000)));
        assert!(!watch.is_in_doubt(at(5_001)));
    }
}
