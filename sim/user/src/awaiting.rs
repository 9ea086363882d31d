//! Waiting for an event.
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
//! Events arrive by the stream. Without a stream the user makes checks, one after another.

use chat_types::{Span, Time};

use sim_model::history::{ClientEvent, Observer};
use sim_model::plan::Reads;
use sim_model::protocol::{Command, Op, ReadBy};

use super::flow::Pace;
use super::poll::Poll;
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
            if self.calls.none_made() {
                self.run_out(now, &awaiting, o);
            }
            self.activity = Activity::Settling;
        } else if self.comes_true(kind) || self.is_moot(kind) {
            self.activity = Activity::Ready { meant: now };
        } else if self.is_dropped_by_the_heal(kind) {
            self.cursor.cut_short();
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

    fn is_moot(&self, kind: Kind) -> bool {
        let partner_is_gone = kind.takes_a_partner() && self.rooms.is_deserted();
        let claim_is_over = kind == Kind::GRANTED && self.rooms.is_claim_over();
        partner_is_gone || claim_is_over
    }

    /// Whether the event depends on the others' flows, which the heal ends.
    fn is_dropped_by_the_heal(&self, kind: Kind) -> bool {
        let server_sees_to_it = kind == Kind::FOUND || kind == Kind::GRANTED;
        self.pace == Pace::Hurried && !server_sees_to_it
    }

    fn poll_for_it(&mut self, now: Time, awaiting: &mut Awaiting, o: &mut impl Observer) {
        if self.stream.is_up() || self.profile.reads == Reads::ByStream {
            awaiting.poll.stop();
            return;
        }
        awaiting.poll.want(now);
        if awaiting.poll.due() <= now {
            let op = self.check(awaiting.ends.since(now).min(LONGEST_CHECK), ReadBy::Handle);
            let arrivals = self.inbox.arrivals();
            let check = self.begin_call(now, now, op, o);
            awaiting.poll.sent(check, arrivals);
        }
    }
}
