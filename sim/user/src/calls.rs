//! Calls in flight: their attempts, the pauses between these, their deadlines, and the calls just
//! answered.

use std::collections::VecDeque;

use chat_types::{Span, Time};
use sim_model::history::Retry;
use sim_model::plan::Client;
use sim_model::protocol::{CallId, Op, Outcome};

use super::Credential;

/// The number of answered calls whose operation is kept for the report of a second answer. Second
/// answers follow within seconds; later ones are ignored.
const REMEMBERED: usize = 4;

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The answer to its latest attempt, until `due`.
    InFlight,
    /// The time of its next attempt, `due`.
    Pausing,
}

/// One call in flight.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) id: CallId,
    /// The latest attempt, from 0.
    pub(super) attempt: u32,
    pub(super) stage: Stage,
    pub(super) who: Credential,
    pub(super) key: Option<u128>,
    pub(super) op: Op,
    pub(super) called_at: Time,
    pub(super) intended: Time,
    /// The reason of the next attempt.
    pub(super) why: Retry,
    /// The end of the attempt, or of the pause.
    pub(super) due: Time,
    /// The instant at which the client gives the call up in any case.
    pub(super) give_up_at: Time,
    /// How long the client lets the server hold the call.
    pub(super) hold: Span,
}

impl Call {
    /// How long an attempt waits for its answer.
    fn patience(&self, client: &Client) -> Span {
        pause(client, self.attempt) + self.hold
    }

    fn wakes_at(&self) -> Time {
        self.due.min(self.give_up_at)
    }

    fn is_last_attempt(&self, client: &Client) -> bool {
        self.attempt.saturating_add(1) >= client.attempts
    }

    /// Whether the call is cancelled when it is due, and not retried.
    pub(super) fn is_given_up(&self, now: Time, client: &Client) -> bool {
        now >= self.give_up_at || (self.stage == Stage::InFlight && self.is_last_attempt(client))
    }

    /// Starts the next attempt.
    pub(super) fn retry(&mut self, now: Time, client: &Client) {
        self.attempt += 1;
        self.stage = Stage::InFlight;
        self.why = Retry::Silence;
        self.due = now + self.patience(client);
    }
}

/// The calls of one client: a few at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    #[expect(
        clippy::vec_box,
        reason = "a call is large, and moves between owners more often than it is read"
    )]
    pub(super) open: Vec<Box<Call>>,
    /// The latest answered ones, the oldest first.
    answered: VecDeque<(CallId, Op)>,
    /// The number of calls that were ever made.
    pub(super) made: u32,
}

impl Calls {
    /// The next instant at which a call needs attention.
    pub(super) fn due(&self) -> Time {
        let due = self.open.iter().map(|call| call.wakes_at()).min();
        due.unwrap_or(Time::MAX)
    }

    /// Whether a call in flight may still register the client.
    pub(super) fn are_registering(&self) -> bool {
        self.open.iter().any(|call| call.who.is_new)
    }

    /// The call with this number, if it is in flight.
    pub(super) fn find(&self, id: CallId) -> Option<&Call> {
        let mut open = self.open.iter().map(Box::as_ref);
        open.find(|call| call.id == id)
    }

    /// Removes a call.
    pub(super) fn take(&mut self, id: CallId) -> Option<Box<Call>> {
        let index = self.open.iter().position(|call| call.id == id)?;
        Some(self.open.swap_remove(index))
    }

    /// The oldest call in flight.
    pub(super) fn first(&self) -> Option<&Call> {
        self.open.iter().map(Box::as_ref).min_by_key(|call| call.id)
    }

    /// Removes the oldest call in flight.
    pub(super) fn take_first(&mut self) -> Option<Box<Call>> {
        self.take(self.first()?.id)
    }

    /// The call that is due earliest, if it is due by `now`, with its due time. Among equals, the
    /// oldest.
    pub(super) fn overdue(&self, now: Time) -> Option<(CallId, Time)> {
        let due = self.open.iter().map(|call| (call.wakes_at(), call.id));
        let (since, id) = due.min().filter(|(since, _)| *since <= now)?;
        Some((id, since))
    }

    /// Changes the call with this number.
    pub(super) fn change(&mut self, id: CallId, change: impl FnOnce(&mut Call)) -> Option<&Call> {
        let mut open = self.open.iter_mut().map(Box::as_mut);
        let call = open.find(|call| call.id == id)?;
        change(call);
        Some(&*call)
    }

    /// Handles an answer that asks to retry later. If another attempt is left, the call pauses, and
    /// the answer does not count as its result: returns whether that is so. An answer to an earlier
    /// attempt, or a repeated answer, changes nothing.
    pub(super) fn puts_off(
        &mut self,
        id: CallId,
        attempt: u32,
        outcome: &Outcome,
        now: Time,
        client: &Client,
    ) -> bool {
        let (Err(refusal), Some(call)) = (outcome, self.find(id)) else {
            return false;
        };
        if !refusal.is_retryable() {
            return false;
        }
        if attempt < call.attempt || call.stage == Stage::Pausing {
            return true;
        }
        if call.is_last_attempt(client) {
            return false;
        }
        self.change(id, |call| {
            call.stage = Stage::Pausing;
            call.why = Retry::PutOff;
            call.due = now + refusal.retry_after.unwrap_or(pause(client, call.attempt));
        });
        true
    }

    /// Moves later attempts behind `until`, before which nothing can be sent. Attempts in flight
    /// are lost.
    pub(super) fn put_off_all(&mut self, until: Time, client: &Client) {
        for call in &mut self.open {
            if !call.is_last_attempt(client) && call.stage == Stage::InFlight {
                call.stage = Stage::Pausing;
                call.why = Retry::Dropped;
            }
            call.due = call.due.max(until);
            call.give_up_at = call.give_up_at.max(until);
        }
    }

    /// Ends all pauses at `now`.
    pub(super) fn hurry(&mut self, now: Time) {
        for call in &mut self.open {
            if call.stage == Stage::Pausing {
                call.due = call.due.min(now);
            }
        }
    }

    /// Keeps the operation of an answered call.
    pub(super) fn remember(&mut self, id: CallId, op: Op) {
        if self.answered.len() == REMEMBERED {
            self.answered.pop_front();
        }
        self.answered.push_back((id, op));
    }

    /// The operation of a recently answered call.
    pub(super) fn remembered(&self, id: CallId) -> Option<&Op> {
        let (_, op) = self.answered.iter().find(|(answered, _)| *answered == id)?;
        Some(op)
    }
}

/// The shortest pause. It makes time advance even if a server asks for no pause at all.
const SHORTEST: Span = Span::millis(1);

/// The pause after attempt number `attempt`, from 0: the client's timeout, multiplied by its factor
/// for each attempt, up to its longest. The first pause always equals the timeout.
pub(super) fn pause(client: &Client, attempt: u32) -> Span {
    let factor = u64::from(client.backoff.max(1)).saturating_pow(attempt);
    let longest = client.max.max(client.timeout);
    client.timeout.times(factor).min(longest).max(SHORTEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let client = Client {
            timeout: Span::millis(500),
            backoff: 2,
            max: Span::secs(8),
            attempts: 8,
        };
        let all: Vec<u64> = (0..7).map(|n| pause(&client, n).as_millis()).collect();
        assert_eq!(all, [500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
        assert_eq!(pause(&client, u32::MAX), Span::secs(8));
    }

    #[test]
    fn a_pause_is_never_zero() {
        let client = Client {
            timeout: Span::ZERO,
            backoff: 0,
            max: Span::ZERO,
            attempts: 1,
        };
        assert_eq!(pause(&client, 3), Span::millis(1));
    }
}
