//! Waiting for an event, and draining the inbox at the end.
//!
//! An `await` succeeds when an event of its type arrives, or has arrived earlier and was not
//! consumed by another `await`. It also succeeds when it is moot. An event that only a partner can
//! cause is moot when the chat is over and the user did not queue again. A grant is moot when the
//! claim was refused or an operator ended it, or the user is in no room. Once the user hurries to
//! its end, it waits no longer for an event that depends on the others' flows, because they finish
//! too: the heal has cut it short. Otherwise the `await` ends when its time runs out, and the flow
//! with it: the user is stuck.
//!
//! A user that waits for the stick and receives the event that it was away claims it again: being
//! away ends a claim.
//!
//! Events arrive by the stream. Without a stream the user makes checks, one after another. So it does at
//! its end, when it finishes the flow quickly and then drains its inbox. A user that sleeps makes checks
//! after a knock alone, until it has read all, and goes on when its time runs out.

use chat_types::{Span, Time};
use sim_model::history::{ClientEvent, Observer};
use sim_model::plan::{Client, Reads};
use sim_model::protocol::{Answer, CallId, Command, Op, Outcome, ReadBy, Response};

use super::calls::pause;
use super::flow::Pace;
use super::unawaited_events::Kind;
use super::{Activity, VirtualUser};

/// The longest wait of one check.
const LONGEST_CHECK: Span = Span::secs(20);

/// How long a hurried user waits for a match: long enough for every possible match. Whether an
/// unmatched user is the odd one out, and so not stuck, only an observer of all users can decide.
const HURRIED_MATCH: Span = Span::secs(10);

/// One `await`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Awaiting {
    pub(super) kind: Kind,
    /// The instant at which it began.
    pub(super) began: Time,
    /// The instant at which its time runs out.
    ends: Time,
    /// The instant at which a hurried user stops waiting.
    cut_off: Time,
    /// The checks that replace a stream.
    pub(super) poll: Poll,
}

impl Awaiting {
    /// The next instant at which it needs attention.
    pub(super) fn due(&self) -> Time {
        self.ends.min(self.cut_off).min(self.poll.due())
    }

    /// The instant at which the user stops waiting in any case.
    fn due_at_last(&self) -> Time {
        self.ends.min(self.cut_off)
    }

    /// Shortens the wait of a hurried user.
    pub(super) fn hurry(&mut self, now: Time) {
        if self.kind == Kind::FOUND {
            self.cut_off = now + HURRIED_MATCH;
        }
    }
}

impl VirtualUser {
    /// Starts waiting for an event of this type.
    pub(super) fn start_awaiting(&mut self, now: Time, event: &str, within: Span) {
        let Some(kind) = Kind::from_name(event) else {
            // A checked plan contains only known types.
            return;
        };
        let mut awaiting = Awaiting {
            kind,
            began: now,
            ends: now + within,
            cut_off: Time::MAX,
            poll: Poll::OFF,
        };
        if self.pace == Pace::Hurried {
            awaiting.hurry(now);
        }
        self.activity = Activity::Awaiting(awaiting);
    }

    /// Whether the wait is over. Otherwise makes sure that the event can arrive.
    pub(super) fn look_whether_heard(
        &mut self,
        now: Time,
        mut awaiting: Awaiting,
        o: &mut impl Observer,
    ) -> bool {
        let kind = awaiting.kind;
        if self.user.is_none() {
            // A user without a handle receives no events. A flow that waits before it registers is
            // stuck from the start.
            if self.calls.made == 0 {
                self.run_out(now, &awaiting, o);
            }
            self.activity = Activity::Settling;
        } else if self.comes_true(kind) || self.is_moot(kind) {
            self.activity = Activity::Ready { meant: now };
        } else if self.is_dropped_by_the_heal(kind) {
            self.cursor.cut_short = true;
            self.activity = Activity::Ready { meant: now };
        } else if now >= awaiting.due_at_last() && self.profile.reads == Reads::Knocked {
            // It sleeps no longer. Nobody owes it the event.
            self.activity = Activity::Ready { meant: now };
        } else if now >= awaiting.due_at_last() {
            self.run_out(now, &awaiting, o);
            self.activity = Activity::Settling;
        } else {
            if kind == Kind::GRANTED && self.rooms.take_absence() {
                self.claim_again(now, o);
            }
            self.poll_for_it(now, &mut awaiting, o);
            self.activity = Activity::Awaiting(awaiting);
            return false;
        }
        true
    }

    /// Whether the event has arrived. A grant can also arrive as the answer to the claim.
    fn comes_true(&mut self, kind: Kind) -> bool {
        let holds = kind == Kind::GRANTED && self.rooms.take_holding();
        self.rooms.unawaited.consume(kind) || holds
    }

    /// Handles a wait that timed out.
    fn run_out(&mut self, now: Time, awaiting: &Awaiting, o: &mut impl Observer) {
        let waiting_for = awaiting.kind.name();
        self.record(now, ClientEvent::Stuck { waiting_for }, o);
        self.ran_out = Some((awaiting.kind, awaiting.began));
    }

    /// Claims the stick again after the user was away, which ended its claim. A claim that still
    /// stands keeps its place.
    fn claim_again(&mut self, now: Time, o: &mut impl Observer) {
        let op = Op::Command(Command::TalkingStick {
            room: self.rooms.current(),
            epoch: None,
        });
        self.begin_call(now, now, op, o);
    }

    /// Whether it calls nothing until it is knocked for.
    fn sleeps(&self) -> bool {
        let is_hurried = self.pace == Pace::Hurried;
        self.profile.reads == Reads::Knocked && !self.is_knocked && !is_hurried
    }

    fn is_moot(&self, kind: Kind) -> bool {
        let partner_is_gone = kind.takes_a_partner() && self.rooms.is_deserted;
        let claim_is_over = kind == Kind::GRANTED && self.rooms.is_claim_over();
        partner_is_gone || claim_is_over
    }

    /// Whether the event depends on the others' flows, which the heal ends.
    fn is_dropped_by_the_heal(&self, kind: Kind) -> bool {
        let server_sees_to_it = kind == Kind::FOUND || kind == Kind::GRANTED;
        self.pace == Pace::Hurried && !server_sees_to_it
    }

    fn poll_for_it(&mut self, now: Time, awaiting: &mut Awaiting, o: &mut impl Observer) {
        if self.stream.is_up() || self.profile.reads == Reads::ByStream || self.sleeps() {
            awaiting.poll.stop();
            return;
        }
        awaiting.poll.want(now);
        if awaiting.poll.due() <= now {
            let wait = match std::mem::take(&mut self.is_knocked) {
                true => Span::ZERO,
                false => awaiting.ends.since(now).min(LONGEST_CHECK),
            };
            let op = self.check(wait, ReadBy::Handle);
            let arrivals = self.inbox.arrivals;
            let check = self.begin_call(now, now, op, o);
            awaiting.poll.sent(check, arrivals);
        }
    }
}

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
                Reads::Exactly | Reads::Knocked => poll.want(now),
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
            let arrivals = self.inbox.arrivals;
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
        let news = draining.poll.has_news(self.inbox.arrivals);
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
