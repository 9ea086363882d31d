//! The event stream of a client: opening, breaking, and opening anew.

use chat_core::{Span, Time};

use crate::plan::Client;

use super::backoff::pause;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There is none, and none is wanted now.
    Closed,
    /// Asked for; given up and asked for anew at `due`.
    Opening,
    /// Events come by it.
    Open,
    /// It broke, or was refused; opened anew at `due`.
    Broken,
}

/// What a stream was when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Was {
    /// There was none.
    Closed,
    /// It was not open yet.
    Opening,
    /// It was open.
    Open,
}

/// One client's stream. Each opening has a number of its own (its generation), so that word of
/// an earlier one is not taken for word of this one.
#[derive(Clone, Debug)]
pub(super) struct Link {
    state: State,
    generation: u32,
    /// Failures since it was open last.
    failures: u32,
    due: Time,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            state: State::Closed,
            generation: 0,
            failures: 0,
            due: Time::MAX,
        }
    }
}

impl Link {
    /// When something is to be done about it.
    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// Whether events come by it, or will in a moment: a first opening counts as up.
    pub(super) fn is_up(&self) -> bool {
        match self.state {
            State::Open => true,
            State::Opening => self.failures == 0,
            State::Closed | State::Broken => false,
        }
    }

    /// Begins an opening, and gives its number.
    pub(super) fn open(&mut self, now: Time, client: &Client) -> u32 {
        self.state = State::Opening;
        self.generation += 1;
        self.due = now + pause(client, self.failures);
        self.generation
    }

    /// It is open. Whether that is word of the latest opening.
    pub(super) fn opened(&mut self, stream: u32) -> bool {
        let opened = self.state == State::Opening && stream == self.generation;
        if opened {
            self.state = State::Open;
            self.failures = 0;
            self.due = Time::MAX;
        }
        opened
    }

    /// It broke or was refused, and is to be opened anew after `retry_after` or a pause.
    pub(super) fn broke(
        &mut self,
        now: Time,
        stream: u32,
        client: &Client,
        retry_after: Option<Span>,
    ) -> Was {
        if stream != self.generation {
            return Was::Closed;
        }
        let was = self.was();
        if was != Was::Closed {
            let after = retry_after.unwrap_or(pause(client, self.failures));
            // Even a server that says "at once" is given a moment.
            self.due = now + after.max(Span::millis(1));
            self.state = State::Broken;
            self.failures = self.failures.saturating_add(1);
        }
        was
    }

    /// An opening that nothing was heard of is given up. Gives its number, if that is so.
    pub(super) fn give_up_opening(&mut self, now: Time) -> Option<u32> {
        let silent = self.state == State::Opening && self.due <= now;
        silent.then(|| {
            self.failures = self.failures.saturating_add(1);
            self.generation
        })
    }

    /// The client drops it, and wants none.
    pub(super) fn close(&mut self) -> Was {
        let was = self.was();
        let generation = self.generation;
        *self = Self {
            generation,
            ..Self::default()
        };
        was
    }

    /// What is to be opened anew later is to be opened now.
    pub(super) fn hurry(&mut self, now: Time) {
        if self.state == State::Broken {
            self.due = self.due.min(now);
        }
    }

    fn was(&self) -> Was {
        match self.state {
            State::Open => Was::Open,
            State::Opening => Was::Opening,
            State::Closed | State::Broken => Was::Closed,
        }
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
    fn it_backs_off_until_it_opens() {
        let (mut link, mut now, mut pauses) = (Link::default(), Time(0), Vec::new());
        for _ in 0..6 {
            let stream = link.open(now, &CLIENT);
            assert_eq!(link.broke(now, stream, &CLIENT, None), Was::Opening);
            pauses.push(link.due().since(now).as_millis());
            now = link.due();
        }
        assert_eq!(pauses, [500, 1_000, 2_000, 4_000, 8_000, 8_000]);
        let stream = link.open(now, &CLIENT);
        assert!(!link.is_up() && link.opened(stream) && link.is_up());
        assert_eq!(link.broke(now, stream, &CLIENT, None), Was::Open);
        assert_eq!(link.due(), now + Span::millis(500));
    }

    #[test]
    fn word_of_an_earlier_opening_is_passed_over() {
        let mut link = Link::default();
        let first = link.open(Time(0), &CLIENT);
        assert_eq!(link.give_up_opening(Time(1)), None);
        assert_eq!(link.give_up_opening(Time(500_000)), Some(first));
        let second = link.open(Time(500_000), &CLIENT);
        assert!(!link.opened(first));
        assert_eq!(link.broke(Time(1), first, &CLIENT, None), Was::Closed);
        assert!(link.opened(second) && !link.opened(second));
        assert_eq!(link.close(), Was::Open);
        assert!(!link.opened(second));
        assert_eq!(link.due(), Time::MAX);
        assert!(link.open(Time(9), &CLIENT) > second);
    }
}
