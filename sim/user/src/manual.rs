//! A user as its world drives and sees it: steps by hand, suspension, names and places, and what it
//! waits for, for reports on users that did not finish.

use std::sync::Arc;

use chat_types::Time;
use sim_model::draw::Draw;
use sim_model::history::Observer;
use sim_model::outcome::{UserOutcome, Waiting};
use sim_model::plan::{Argument, Reads, Step};
use sim_model::protocol::{CallId, Room, User};

use crate::flow::Pace;
use crate::{Activity, Script, VirtualUser};

impl VirtualUser {
    /// Performs a step by hand now, whatever else is in flight: a call, without the arguments to
    /// leave out and about `whom`, or a disconnect. Users that drain ignore a temporary disconnect. Other steps have
    /// no meaning here, and a user with a flow ignores all. Returns the call that it started. That
    /// is none for a disconnect, for a `block` or `report` without a known participant, and for a
    /// call that needs a handle while there is none.
    pub fn manual(
        &mut self,
        now: Time,
        step: &Step,
        leave_out: &[Argument],
        whom: Option<User>,
        o: &mut impl Observer,
    ) -> Option<CallId> {
        if self.is_vanished() || matches!(self.script, Script::Flow(_)) {
            return None;
        }
        match step {
            // Without a handle only registering calls are possible.
            Step::Call(verb) if self.user.is_none() && !verb.kind().registers() => {
                self.skipped += 1;
                None
            }
            Step::Call(verb) => {
                self.leave_out.extend_from_slice(leave_out);
                self.named = whom;
                let op = self.op(verb);
                let call = op.map(|op| self.begin_call(now, now, op, o));
                self.leave_out.clear();
                self.named = None;
                call
            }
            Step::Disconnect(Some(_)) if self.pace == Pace::Hurried => None,
            Step::Disconnect(length) => {
                self.disconnect(now, *length, o);
                None
            }
            Step::Await { .. } | Step::Think(_) | Step::Loop { .. } | Step::Choose(_) => None,
        }
    }

    /// Stops the process until `until`: it neither sends nor reads nor handles timeouts. The world
    /// keeps what arrives meanwhile, and passes it on before `handle_timeout`.
    pub fn suspend(&mut self, now: Time, until: Time) {
        self.suspended_until = self.suspended_until.max(until).max(now);
    }

    /// Whether the user has drained its inbox, or is disconnected permanently.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let is_drained = matches!(self.activity, Activity::Drained);
        self.is_vanished() || is_drained && self.calls.open.is_empty()
    }

    /// What became of it.
    #[must_use]
    pub fn outcome(&self) -> UserOutcome {
        UserOutcome {
            name: Arc::clone(&self.scenario_name),
            user: self.last_user,
            waiting: self.stuck().or_else(|| self.pending()),
        }
    }

    /// A room that it remembers, including ended ones.
    pub fn any_room(&self, draw: &mut Draw) -> Option<Room> {
        self.rooms.any(draw)
    }

    /// Its participant; none before it is registered.
    #[must_use]
    pub fn identity(&self) -> Option<User> {
        self.user
    }

    /// The number that determined the handle, and the participant, of a user that sleeps until it is
    /// knocked for; none for others, and when it is done.
    #[must_use]
    pub fn watched(&self) -> Option<(u64, User)> {
        let sleeps = self.profile.reads == Reads::Knocked && !self.is_done();
        Some((self.secret, self.user.filter(|_| sleeps)?))
    }

    /// Its current room, the last one entered of several; otherwise the last one known.
    #[must_use]
    pub fn current_room(&self) -> Option<Room> {
        self.rooms.current()
    }

    /// The `await` that timed out, if any.
    #[must_use]
    pub fn stuck(&self) -> Option<Waiting> {
        let (kind, since) = self.ran_out?;
        Some(self.waiting("await", kind.name().to_owned(), since))
    }

    /// What the user still waits for; `None` if it is done or disconnected permanently.
    fn pending(&self) -> Option<Waiting> {
        if self.is_done() {
            return None;
        }
        Some(if let Activity::Awaiting(awaiting) = self.activity {
            self.waiting("await", awaiting.kind.name().to_owned(), awaiting.began)
        } else if let Activity::Draining(draining) = self.activity {
            self.at_end("its inbox to be read out", draining.began)
        } else if let Activity::Thinking { since, .. } | Activity::Away { since, .. } =
            self.activity
        {
            self.waiting("pause", "the end of a pause".to_owned(), since)
        } else if let Some(call) = self.calls.first() {
            let verb = call.op.verb();
            self.waiting(verb, format!("the answer to {verb}"), call.called_at)
        } else {
            self.at_end("its next step", self.suspended_until)
        })
    }

    fn waiting(&self, step: &str, waiting_for: String, since: Time) -> Waiting {
        let place = self.cursor.place();
        let at = match (place.is_empty(), step) {
            (true, step) => step.to_owned(),
            (false, step) => format!("{place} {step}"),
        };
        Waiting {
            at,
            waiting_for,
            since,
        }
    }

    fn at_end(&self, waiting_for: &str, since: Time) -> Waiting {
        Waiting {
            at: "the end".to_owned(),
            waiting_for: waiting_for.to_owned(),
            since,
        }
    }
}
