//! A user as its world drives and sees it: steps by hand, suspension, names and places.

use std::sync::Arc;

use chat_types::Time;
use sim_model::draw::Draw;
use sim_model::history::Observer;
use sim_model::plan::{Argument, Step};
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
        self.is_vanished() || is_drained && self.calls.is_empty()
    }

    /// Its name in the scenario, whatever name it uses now.
    #[must_use]
    pub fn scenario_name(&self) -> &Arc<str> {
        &self.scenario_name
    }

    /// Its last participant; none before it registered.
    #[must_use]
    pub const fn last_user(&self) -> Option<User> {
        self.last_user
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

    /// Its current room, the last one entered of several; otherwise the last one known.
    #[must_use]
    pub fn current_room(&self) -> Option<Room> {
        self.rooms.current()
    }
}
