//! A client's event stream: opening, breaking, and opening again.

use chat_types::{Span, Time};

use sim_model::plan::Client;

use super::calls::pause;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// There is no stream, and none is needed now.
    Closed,
    /// Requested; cancelled and requested again at `renewal_due`.
    Opening,
    /// Open.
    Open,
    /// Broken or refused; opened again at `renewal_due`.
    Broken,
}

/// One client's stream. Each opening has its own number (its generation), by which messages about
/// earlier ones are recognised.
#[derive(Clone, Debug)]
pub(super) struct EventStream {
    state: State,
    /// The number of the latest opening.
    pub(super) generation: u32,
    /// The number of failures since it was last open.
    failures: u32,
    /// The instant at which an opening is cancelled, or started again.
    pub(super) renewal_due: Time,
    /// An earlier stream that is still open, and the instant at which it is closed.
    first: Option<(u32, Time)>,
}

impl Default for EventStream {
    fn default() -> Self {
        Self {
            state: State::Closed,
            generation: 0,
            failures: 0,
            renewal_due: Time::MAX,
            first: None,
        }
    }
}

impl EventStream {
    /// The next instant at which it needs attention.
    pub(super) fn due(&self) -> Time {
        let first = self.first.map_or(Time::MAX, |(_, until)| until);
        self.renewal_due.min(first)
    }

    /// Whether events arrive by it, or will in a moment: a first opening counts as up.
    pub(super) fn is_up(&self) -> bool {
        match self.state {
            State::Open => true,
            State::Opening => self.failures == 0 || self.first.is_some(),
            State::Closed | State::Broken => false,
        }
    }

    /// Starts an opening, and returns its number.
    pub(super) fn open(&mut self, now: Time, client: &Client) -> u32 {
        self.state = State::Opening;
        self.generation += 1;
        self.renewal_due = now + pause(client, self.failures);
        self.generation
    }

    /// Keeps the open stream until `until`, while another one opens.
    pub(super) fn keep_first(&mut self, until: Time) {
        self.first = Some((self.generation, until));
    }

    /// An earlier stream that is still open.
    pub(super) fn first(&self) -> Option<u32> {
        self.first.map(|(stream, _)| stream)
    }

    /// Drops the earlier stream, and returns its number.
    pub(super) fn drop_first(&mut self) -> Option<u32> {
        self.first.take().map(|(stream, _)| stream)
    }

    /// The earlier stream, if it is to be closed by now.
    pub(super) fn close_first(&mut self, now: Time) -> Option<u32> {
        let (stream, until) = self.first?;
        if until > now {
            return None;
        }
        if self.state == State::Opening {
            // The first stays open until the second is open or fails.
            self.first = Some((stream, now + Span::millis(100)));
            return None;
        }
        self.first = None;
        Some(stream)
    }

    /// Handles the message that an opening succeeded. Returns whether that is the latest one.
    pub(super) fn opened(&mut self, stream: u32) -> bool {
        if self.state != State::Opening || stream != self.generation {
            return false;
        }
        self.state = State::Open;
        self.failures = 0;
        self.renewal_due = Time::MAX;
        true
    }

    /// Handles a break or a refusal. The stream is opened again after `retry_after` or a pause. Returns
    /// whether it was open or opening; none if there was none.
    pub(super) fn broke(
        &mut self,
        now: Time,
        stream: u32,
        client: &Client,
        retry_after: Option<Span>,
    ) -> Option<State> {
        if self.first() == Some(stream) {
            self.first = None;
            return None;
        }
        if stream != self.generation {
            return None;
        }
        self.first = None;
        let was = self.state;
        self.is_there().then(|| {
            let after = retry_after.unwrap_or(pause(client, self.failures));
            // A server that asks for no pause still gets a short one.
            self.renewal_due = now + after.max(Span::millis(1));
            self.state = State::Broken;
            self.failures = self.failures.saturating_add(1);
            was
        })
    }

    /// Gives up an opening without an answer. Returns its number, if that happened.
    pub(super) fn give_up_opening(&mut self, now: Time) -> Option<u32> {
        let silent = self.state == State::Opening && self.renewal_due <= now;
        silent.then(|| {
            self.failures = self.failures.saturating_add(1);
            self.generation
        })
    }

    /// Closes the stream, and marks that the user no longer needs one. Returns whether there was one.
    pub(super) fn close(&mut self) -> bool {
        let was_there = self.is_there();
        let generation = self.generation;
        *self = Self {
            generation,
            ..Self::default()
        };
        was_there
    }

    /// Moves a later opening to now.
    pub(super) fn hurry(&mut self, now: Time) {
        if self.state == State::Broken {
            self.renewal_due = self.renewal_due.min(now);
        }
    }

    const fn is_there(&self) -> bool {
        matches!(self.state, State::Open | State::Opening)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: Client = Client {
        timeout: Span::millis(500),
        backoff: 2,
        max: Span::secs(8),
        attempts: 8,
    };

    #[test]
    fn a_stream_backs_off_until_it_opens() {
        let (mut stream, mut now, mut pauses) = (EventStream::default(), Time(0), Vec::new());
        for _ in 0..6 {
            let number = stream.open(now, &CLIENT);
            let was = stream.broke(now, number, &CLIENT, None);
            assert_eq!(was, Some(State::Opening));
            pauses.push(stream.due().since(now).as_millis());
            now = stream.due();
        }
        assert_eq!(pauses, [500, 1_000, 2_000, 4_000, 8_000, 8_000]);
        let number = stream.open(now, &CLIENT);
        assert!(!stream.is_up() && stream.opened(number) && stream.is_up());
        let was = stream.broke(now, number, &CLIENT, None);
        assert_eq!(was, Some(State::Open));
        assert_eq!(stream.due(), now + Span::millis(500));
    }

    #[test]
    fn a_message_of_an_earlier_opening_is_ignored() {
        let mut stream = EventStream::default();
        let first = stream.open(Time(0), &CLIENT);
        assert_eq!(stream.give_up_opening(Time(1)), None);
        assert_eq!(stream.give_up_opening(Time(500_000)), Some(first));
        let second = stream.open(Time(500_000), &CLIENT);
        assert!(!stream.opened(first));
        assert_eq!(stream.broke(Time(1), first, &CLIENT, None), None);
        assert!(stream.opened(second) && !stream.opened(second));
        assert!(stream.close());
        assert!(!stream.opened(second));
        assert_eq!(stream.due(), Time::MAX);
        assert!(stream.open(Time(9), &CLIENT) > second);
    }
}
