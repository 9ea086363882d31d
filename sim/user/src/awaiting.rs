//! Waiting for an event.
//!
//! An `await` ends well when an event of its type has come that no earlier `await` consumed, from
//! whenever. It also ends well when it is moot: what only a partner could cause, when the chat is
//! over and no other was looked for; a grant, when the claim was refused or an operator ended it, or
//! the user is in no room any more; or, once the user is in a hurry to finish, what only the
//! others' own will could cause, since they are finishing too. Otherwise it ends when its time
//! runs out, and the flow with it: the user is stuck.
//!
//! A user that waits for the stick, and hears that it was away, claims again: being away ends a claim.
//!
//! Events come by the stream. Without one, the user makes checks, one after another.

use chat_types::{Span, Time};

use sim_model::history::{Observer, What};
use sim_model::plan::Reads;
use sim_model::protocol::{Op, ReadBy};

use super::flow::Pace;
use super::heard::Kind;
use super::poll::Poll;
use super::steps::Patience;
use super::{Doing, VirtualUser};

/// How long one check waits at most for the event.
const LONGEST_CHECK: Span = Span::secs(20);

/// How long a user in a hurry waits for a match. Two who could be matched are by then. Whether this
/// one was the odd one out, and so is not stuck, is for those to say who see all users.
const HURRIED_MATCH: Span = Span::secs(10);

/// One `await`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Awaiting {
    pub(super) kind: Kind,
    /// When it began.
    pub(super) began: Time,
    /// When its time runs out.
    ends: Time,
    /// When a user in a hurry stops waiting.
    cut_off: Time,
    /// The checks in place of a stream.
    pub(super) poll: Poll,
}

impl Awaiting {
    /// When something is to be done about it.
    pub(super) fn due(&self) -> Time {
        self.ends.min(self.cut_off).min(self.poll.due())
    }

    /// When the user stops waiting, whatever comes.
    fn due_at_last(&self) -> Time {
        self.ends.min(self.cut_off)
    }

    /// The user is in a hurry from now on.
    pub(super) fn hurry(&mut self, now: Time) {
        if self.kind == Kind::FOUND {
            self.cut_off = now + HURRIED_MATCH;
        }
    }
}

impl VirtualUser {
    /// From now on the user waits for an event of this type.
    pub(super) fn start_awaiting(&mut self, now: Time, event: &str, within: Span) {
        let Some(kind) = Kind::from_name(event) else {
            // A checked plan names no such type: there is nothing to wait for.
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
        self.doing = Doing::Awaiting(awaiting);
    }

    /// Whether the user stops waiting. If not, it sees to it that the event can come.
    pub(super) fn look_whether_heard(
        &mut self,
        now: Time,
        mut awaiting: Awaiting,
        o: &mut impl Observer,
    ) -> bool {
        let kind = awaiting.kind;
        if self.user.is_none() {
            // Nobody sends events to somebody without a handle. A flow that never asks for one
            // before it waits is stuck from the start.
            if self.calls.none_made() {
                self.run_out(now, &awaiting, o);
            }
            self.doing = Doing::Settling;
        } else if self.comes_true(kind) || self.is_moot(kind) {
            self.doing = Doing::Ready { meant: now };
        } else if now >= awaiting.due_at_last() {
            self.run_out(now, &awaiting, o);
            self.doing = Doing::Settling;
        } else {
            if kind == Kind::GRANTED && self.rooms.take_absence() {
                self.claim_again(now, o);
            }
            self.poll_for_it(now, &mut awaiting, o);
            self.doing = Doing::Awaiting(awaiting);
            return false;
        }
        true
    }

    /// Whether the event has come. A grant also comes by the answer to the claim, which may say that
    /// the user holds the stick already.
    fn comes_true(&mut self, kind: Kind) -> bool {
        let holds = kind == Kind::GRANTED && self.rooms.take_holding();
        self.heard.consume(kind) || holds
    }

    /// The event did not come.
    fn run_out(&mut self, now: Time, awaiting: &Awaiting, o: &mut impl Observer) {
        let waiting_for = awaiting.kind.name();
        self.record(now, What::Stuck { waiting_for }, o);
        self.ran_out = Some((awaiting.kind, awaiting.began));
    }

    /// Claims the stick anew: the user heard that it was away, which ended its claim. A claim that
    /// stands after all keeps its place.
    fn claim_again(&mut self, now: Time, o: &mut impl Observer) {
        let op = Op::TalkingStick {
            room: self.rooms.current(),
            epoch: None,
        };
        self.begin_call(now, now, op, Patience::ByHabit, o);
    }

    fn is_moot(&self, kind: Kind) -> bool {
        let partner_is_gone = kind.takes_a_partner() && self.rooms.is_deserted();
        let server_sees_to_it = kind == Kind::FOUND || kind == Kind::GRANTED;
        let claim_is_over = kind == Kind::GRANTED && self.rooms.is_claim_over();
        partner_is_gone || claim_is_over || (self.pace == Pace::Hurried && !server_sees_to_it)
    }

    fn poll_for_it(&mut self, now: Time, awaiting: &mut Awaiting, o: &mut impl Observer) {
        if self.link.is_up() || self.manner.reads == Reads::ByStream {
            awaiting.poll.stop();
            return;
        }
        awaiting.poll.want(now);
        if awaiting.poll.due() <= now {
            let op = self.check(awaiting.ends.since(now).min(LONGEST_CHECK), ReadBy::Handle);
            let arrivals = self.inbox.arrivals();
            let check = self.begin_call(now, now, op, Patience::ByHabit, o);
            awaiting.poll.sent(check, arrivals);
        }
    }
}
