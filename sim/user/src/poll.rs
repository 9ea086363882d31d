//! Reading the inbox by one check after another.

use chat_types::Time;

use sim_model::plan::Client;
use sim_model::protocol::CallId;

use super::backoff::pause;

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// Nobody's: no check is wanted.
    Off,
    /// The client's: the next check leaves at this time.
    At(Time),
    /// The server's: this check is in flight.
    InFlight(CallId),
}

/// A series of checks, one at a time. After a fruitless one it pauses, longer each time, so that
/// a server that answers at once with nothing is not asked all the time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Poll {
    turn: Turn,
    /// The inbox's count of arrivals when the check in flight left.
    arrivals: u64,
    /// Fruitless checks in a row.
    fruitless: u32,
}

impl Poll {
    /// No check is wanted yet.
    pub(super) const OFF: Self = Self {
        turn: Turn::Off,
        arrivals: 0,
        fruitless: 0,
    };

    /// When the next check leaves.
    pub(super) fn due(&self) -> Time {
        match self.turn {
            Turn::At(time) => time,
            Turn::Off | Turn::InFlight(_) => Time::MAX,
        }
    }

    /// Checks are wanted, the first now; unless they are wanted already.
    pub(super) fn want(&mut self, now: Time) {
        if self.turn == Turn::Off {
            self.turn = Turn::At(now);
        }
    }

    /// No further checks are wanted.
    pub(super) fn stop(&mut self) {
        if let Turn::At(_) = self.turn {
            self.turn = Turn::Off;
        }
    }

    /// A check left.
    pub(super) fn sent(&mut self, check: CallId, arrivals: u64) {
        self.turn = Turn::InFlight(check);
        self.arrivals = arrivals;
    }

    /// Whether this is the check in flight.
    pub(super) fn is_waiting_for(&self, call: CallId) -> bool {
        self.turn == Turn::InFlight(call)
    }

    /// Whether anything new has come since the check left.
    pub(super) fn has_news(&self, arrivals: u64) -> bool {
        arrivals != self.arrivals
    }

    /// The check did what a check should: the next may leave at once.
    pub(super) fn go_on(&mut self, now: Time) {
        self.turn = Turn::At(now);
        self.fruitless = 0;
    }

    /// The check was for nothing: the next leaves after a pause.
    pub(super) fn rest(&mut self, now: Time, client: &Client) {
        self.turn = Turn::At(now + pause(client, self.fruitless));
        self.fruitless = self.fruitless.saturating_add(1);
    }
}
