//! The consequences of an answer to a call, or of a missing one.

use chat_types::Time;

use sim_model::history::{ClientEvent, Observer};
use sim_model::protocol::{
    Answer, CallId, Code, Command, Op, OpKind, Outcome, Refusal, Reply, Response,
};

use super::calls::{Call, Stage};
use super::{Action, Activity, VirtualUser};

impl VirtualUser {
    /// Handles the final answer of a call.
    pub(super) fn take_answer(
        &mut self,
        now: Time,
        id: CallId,
        outcome: &Outcome,
        o: &mut impl Observer,
    ) {
        let Some(call) = self.calls.take(id) else {
            return;
        };
        self.learn_identity(now, outcome);
        let what = ClientEvent::Answered {
            call: id,
            op: &call.op,
            called_at: call.called_at,
            intended: call.intended,
            outcome,
        };
        self.record(now, what, o);
        self.learn_rooms(&call.op, outcome);
        match outcome {
            Err(refusal) if refusal.is(Code::UnknownHandle) => self.forget(now, o),
            Err(refusal) if self.asks_under_another_name(refusal.code) => {
                self.try_another_name(now, &call, refusal.code, o);
            }
            Ok(_) if call.op == Op::Command(Command::Unregister) => self.forget(now, o),
            Ok(_) | Err(_) => {}
        }
        self.after_call(now, now, &call, Some(outcome), o);
        self.calls.remember(id, call.op);
    }

    /// Handles a call that is due since `since`: makes another attempt, or gives it up.
    pub(super) fn expire(&mut self, now: Time, id: CallId, since: Time, o: &mut impl Observer) {
        let client = self.client;
        let Some(call) = self.calls.find(id) else {
            return;
        };
        if call.is_given_up(now, &client) {
            if let Some(call) = self.calls.take(id) {
                self.abandon(now, since, &call, o);
            }
            return;
        }
        let (why, op) = (call.why, call.op.clone());
        if call.stage == Stage::InFlight {
            let attempt = call.attempt;
            self.actions.push_back(Action::Cancel { call: id, attempt });
        }
        let (call, op) = (id, &op);
        self.record(now, ClientEvent::Retried { call, op, why }, o);
        if let Some(call) = self.calls.change(id, |call| call.retry(now, &client)) {
            self.actions.push_back(Action::Request {
                call: id,
                attempt: call.attempt,
                who: call.who,
                key: call.key,
                op: op.clone(),
            });
        }
    }

    /// Gives up a call that is no longer in flight. The flow's intended continuation is at `meant`.
    pub(super) fn abandon(&mut self, now: Time, meant: Time, call: &Call, o: &mut impl Observer) {
        if call.stage == Stage::InFlight {
            let (call, attempt) = (call.id, call.attempt);
            self.actions.push_back(Action::Cancel { call, attempt });
        }
        let (id, op) = (call.id, &call.op);
        self.record(now, ClientEvent::Abandoned { call: id, op }, o);
        if call.who.is_new && self.user.is_none() && !self.calls.are_registering() {
            // The registration may have taken effect. A new attempt uses another secret, and so
            // creates another handle.
            self.secret = self.draw.bits();
        }
        self.after_call(now, meant, call, None, o);
    }

    /// Continues what waited for this call.
    fn after_call(
        &mut self,
        now: Time,
        meant: Time,
        call: &Call,
        outcome: Option<&Outcome>,
        o: &mut impl Observer,
    ) {
        let arrivals = self.inbox.arrivals;
        if let Activity::Calling { call: waited } = self.activity
            && waited == call.id
        {
            self.activity = Activity::Ready { meant };
        } else if let Activity::Awaiting(awaiting) = &mut self.activity
            && awaiting.poll.is_waiting_for(call.id)
        {
            let read = matches!(outcome, Some(Ok(_)));
            let waited = now >= call.called_at + call.op.hold();
            let has_read_all = matches!(
                outcome,
                Some(Ok(Response::Read(Answer::Page { page, .. }))) if page.unread == 0
            );
            self.is_knocked |= !has_read_all;
            if read && (waited || awaiting.poll.has_news(arrivals)) {
                awaiting.poll.go_on(now);
            } else {
                awaiting.poll.rest(now, &self.client);
            }
        } else if let Activity::Draining(draining) = &self.activity
            && draining.poll.is_waiting_for(call.id)
        {
            self.judge_drain(now, outcome, o);
        }
    }

    /// Records what an answer says about the client's rooms.
    fn learn_rooms(&mut self, op: &Op, outcome: &Outcome) {
        match outcome {
            // It waits in the queue: events can be expected again.
            Ok(Response::Done(Reply::Waiting { .. })) => self.rooms.is_deserted = false,
            Ok(Response::Done(Reply::Matched { room, partner, .. })) => {
                self.rooms.find(*room, Some(partner.id));
            }
            Ok(Response::Done(Reply::LoggedIn { room, .. })) => self.rooms.join(*room),
            Ok(Response::Done(Reply::LeftChat)) => self.leave(op),
            Ok(Response::Done(Reply::Stick {
                room,
                place: 0,
                epoch,
                ..
            })) => self.rooms.hold(*room, epoch.0),
            Ok(Response::Done(_) | Response::Read(_) | Response::Streaming) => {}
            Err(Refusal { code, .. }) => {
                if matches!(*code, "chat_ended" | "room_not_found" | "not_in_room") {
                    self.leave(op);
                }
                if let OpKind::TalkingStick | OpKind::Speak = op.kind() {
                    self.rooms.refuse_claim();
                }
            }
        }
    }

    /// Records that the client is not in the room of the call.
    fn leave(&mut self, op: &Op) {
        if let Some(room) = op.room() {
            self.rooms.end(room);
        }
    }
}
