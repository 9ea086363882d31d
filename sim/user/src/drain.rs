//! The end of a user: finishing the flow quickly, then draining the inbox.

use chat_types::{Span, Time};

use sim_model::history::{ClientEvent, Observer};
use sim_model::plan::Reads;
use sim_model::protocol::{Answer, Op, Outcome, ReadBy, Response};

use super::flow::Pace;
use super::poll::Poll;
use super::{Activity, VirtualUser};

/// How long a client that reads only its stream waits for events on a fresh one. Then a check after
/// its last event shows whether any are left.
const LISTENS: Span = Span::secs(5);

/// The draining of an inbox.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draining {
    /// The instant at which it began.
    pub(super) began: Time,
    /// Its checks.
    pub(super) poll: Poll,
}

impl VirtualUser {
    /// Makes the user finish, because faults are over: it completes its flow without thinking,
    /// pausing or further rounds of loops, and then drains its inbox. A user that has drained its
    /// inbox drains it again, because others that were still finishing may have caused events
    /// since.
    pub fn begin_drain(&mut self, now: Time, o: &mut impl Observer) {
        self.suspended_until = Time(0);
        self.pace = Pace::Hurried;
        match &mut self.activity {
            Activity::Idle => self.activity = Activity::Settling,
            Activity::Thinking { .. } => self.activity = Activity::Ready { meant: now },
            Activity::Awaiting(awaiting) => awaiting.hurry(now),
            Activity::Away { .. } => {
                self.calls.hurry(now);
                self.come_back(now, now);
            }
            Activity::Drained => self.start_draining(now, o),
            Activity::Ready { .. }
            | Activity::Calling { .. }
            | Activity::Settling
            | Activity::Finished
            | Activity::Draining(_)
            | Activity::Vanished => {}
        }
        self.stream.hurry(now);
        self.handle_timeout(now, o);
    }

    /// Starts draining at the end of the flow.
    pub(super) fn start_draining(&mut self, now: Time, o: &mut impl Observer) {
        if self.user.is_some() && self.profile.reads == Reads::ByStream {
            self.reopen_stream(now, o);
        }
        self.activity = if self.user.is_some() {
            let mut poll = Poll::OFF;
            match self.profile.reads {
                Reads::Exactly => poll.want(now),
                Reads::ByStream => poll.want(now + LISTENS),
            }
            Activity::Draining(Draining { began: now, poll })
        } else {
            Activity::Drained
        };
    }

    /// Makes the next check when it is due. These checks pass a cursor, whatever the client's
    /// habit.
    pub(super) fn go_on_draining(
        &mut self,
        now: Time,
        mut draining: Draining,
        o: &mut impl Observer,
    ) {
        if draining.poll.due() <= now {
            let op = Op::check(Some(self.read_from()), Span::ZERO, ReadBy::Handle);
            let arrivals = self.inbox.arrivals();
            let key = self.key_for(&op);
            let check = self.begin_call_under(key, now, (now, op), o);
            draining.poll.sent(check, arrivals);
            self.activity = Activity::Draining(draining);
        }
    }

    /// Handles the end of a check. The inbox is drained if the check returned nothing, no event
    /// came by the stream meanwhile, none is left, and none is missing.
    pub(super) fn judge_drain(
        &mut self,
        now: Time,
        outcome: Option<&Outcome>,
        o: &mut impl Observer,
    ) {
        let by_stream = self.profile.reads == Reads::ByStream;
        let Activity::Draining(draining) = &mut self.activity else {
            return;
        };
        let news = draining.poll.has_news(self.inbox.arrivals());
        let at_end = matches!(
            outcome,
            Some(Ok(Response::Read(Answer::Page { page, .. }))) if page.unread == 0
        );
        if news {
            draining.poll.go_on(now);
        } else if at_end && (by_stream || !self.inbox.has_holes()) {
            self.record(now, ClientEvent::Drained, o);
            self.activity = Activity::Drained;
        } else {
            draining.poll.rest(now, &self.client);
        }
    }
}
