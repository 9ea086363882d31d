//! Reads the inbox by one check after another.

use chat_types::Time;

use sim_model::plan::Client;
use sim_model::protocol::CallId;

use super::backoff::pause;

/// The state of the series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PollState {
    /// No check is needed.
    Off,
    /// The next check leaves at this time.
    At(Time),
    /// This check is in flight.
    InFlight(CallId),
}

/// A series of checks, one at a time. After a fruitless check it pauses, longer each time, so that
/// a server that answers at once with nothing is not called without end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Poll {
    turn: PollState,
    /// The inbox's number of arrivals when the check in flight left.
    arrivals: u64,
    /// The number of fruitless checks in a row.
    fruitless: u32,
}

impl Poll {
    /// A series without checks.
    pub(super) const OFF: Self = Self {
        turn: PollState::Off,
        arrivals: 0,
        fruitless: 0,
    };

    /// The time of the next check.
    pub(super) fn due(&self) -> Time {
        match self.turn {
            PollState::At(time) => time,
            PollState::Off | PollState::InFlight(_) => Time::MAX,
        }
    }

    /// Starts the series at `now`, unless it runs already.
    pub(super) fn want(&mut self, now: Time) {
        if self.turn == PollState::Off {
            self.turn = PollState::At(now);
        }
    }

    /// Stops the series.
    pub(super) fn stop(&mut self) {
        if let PollState::At(_) = self.turn {
            self.turn = PollState::Off;
        }
    }

    /// Records a check that was sent.
    pub(super) fn sent(&mut self, check: CallId, arrivals: u64) {
        self.turn = PollState::InFlight(check);
        self.arrivals = arrivals;
    }

    /// Whether this is the check in flight.
    pub(super) fn is_waiting_for(&self, call: CallId) -> bool {
        self.turn == PollState::InFlight(call)
    }

    /// Whether something new has arrived since the check left.
    pub(super) fn has_news(&self, arrivals: u64) -> bool {
        arrivals != self.arrivals
    }

    /// Continues after a fruitful check: the next one may leave at once.
    pub(super) fn go_on(&mut self, now: Time) {
        self.turn = PollState::At(now);
        self.fruitless = 0;
    }

    /// Continues after a fruitless check: the next one leaves after a pause.
    pub(super) fn rest(&mut self, now: Time, client: &Client) {
        self.turn = PollState::At(now + pause(client, self.fruitless));
        self.fruitless = self.fruitless.saturating_add(1);
    }
}
