//! Performs one step of a flow.

use std::sync::Arc;

use chat_types::{Addressees, BreakKind, RoomSeq, Span, Time};

use sim_model::history::{ClientEvent, Observer, RequestKey, Retry};
use sim_model::plan::{Argument, Grant, Naming, Step, Text, Verb};
use sim_model::protocol::{CallId, Command, EnterQueue, Epoch, Op, Read, ReadBy, Room, User};

use super::calls::{Call, Stage, pause};
use super::flow::Pace;
use super::{Action, Activity, Credential, Script, VirtualUser, texts, unicode_texts};

/// The largest number of calls that a client has in flight. At this number, even a client that does
/// not wait for answers waits for the latest one.
pub(super) const MOST_IN_FLIGHT: usize = 8;

/// How far a wrong cursor lies beyond the end of any inbox.
const BEYOND: u64 = 1_000_000;

/// The number of times that a client forgets its handle during a run.
const MOST_FORGETTING: u32 = 3;

/// How long a client waits before it gives up a call by habit.
const ABANDON_AFTER: Span = Span::secs(60);

impl VirtualUser {
    /// Takes the next step of the flow, intended by the plan at `meant`.
    pub(super) fn take_step(&mut self, now: Time, meant: Time, o: &mut impl Observer) {
        let Some(step) = self.cursor.next(self.pace, &mut self.draw) else {
            self.activity = Activity::Settling;
            return;
        };
        if self.happens_to_forget() {
            self.forgot += 1;
            self.forget(now, o);
            if let Script::Flow(persona) = &self.script {
                self.cursor.restart(&persona.flow);
            }
            return;
        }
        self.stray(now, o);
        match step {
            Step::Call(verb) => self.call(now, meant, &verb, o),
            Step::Await { event, within } => self.start_awaiting(now, event, within),
            Step::Think(length) => {
                let length = Span(length.draw(&mut self.draw));
                if self.pace == Pace::AsWritten && length > Span::ZERO {
                    self.activity = Activity::Thinking {
                        since: now,
                        until: now + length,
                    };
                }
            }
            // A temporary disconnect is a pause, which a hurried user skips.
            Step::Disconnect(Some(_)) if self.pace == Pace::Hurried => {}
            Step::Disconnect(length) => self.disconnect(now, length, o),
            // The cursor enters these and returns the steps inside.
            Step::Loop { .. } | Step::Choose(_) => {}
        }
    }

    /// Draws whether the user forgets its handle before this step.
    fn happens_to_forget(&mut self) -> bool {
        self.user.is_some()
            && self.pace == Pace::AsWritten
            && self.forgot < MOST_FORGETTING
            && self.draw.chance(self.habits.forget_handle)
    }

    /// Makes a call of the flow, and waits for its answer unless the `parallel` habit strikes.
    fn call(&mut self, now: Time, meant: Time, verb: &Verb, o: &mut impl Observer) {
        let registered = self.user.is_some();
        if !registered && !verb.kind().registers() {
            // Without a handle nothing is left to do.
            self.skipped += 1;
            self.activity = Activity::Settling;
            return;
        }
        let Some(op) = self.op(verb) else {
            // There is no participant to block or report, so the step is skipped.
            return;
        };
        let call = self.begin_call(now, meant, op, o);
        if registered && matches!(verb, Verb::Break { .. }) {
            self.look_meanwhile(now, o);
        }
        // A registering user has no handle for another call before its answer.
        let goes_on = registered
            && self.calls.open.len() < MOST_IN_FLIGHT
            && self.draw.chance(self.habits.parallel);
        if !goes_on {
            self.activity = Activity::Calling { call };
        }
    }

    /// By habit, a user that takes a break checks its stress once, or twice at once: the answer to
    /// that is never delayed.
    fn look_meanwhile(&mut self, now: Time, o: &mut impl Observer) {
        if matches!(self.script, Script::Manual(_)) {
            return;
        }
        for _ in 0..self.draw.below(4).saturating_sub(1) {
            let op = Op::by_handle(Read::Mood);
            self.begin_call(now, now, op, o);
        }
    }

    /// Sends the first attempt of a call, which the client may give up early.
    pub(super) fn begin_call(
        &mut self,
        now: Time,
        intended: Time,
        op: Op,
        o: &mut impl Observer,
    ) -> CallId {
        let key = self.key_for(&op);
        let call = self.begin_call_under(key, now, (intended, op), o);
        self.may_abandon(now, call);
        call
    }

    /// By habit, gives the call up early.
    pub(super) fn may_abandon(&mut self, now: Time, call: CallId) {
        if self.draw.chance(self.habits.abandon) || self.leave_out.contains(&Argument::Retries) {
            let end = now + ABANDON_AFTER;
            self.calls
                .change(call, |call| call.give_up_at = call.due.min(end));
        }
    }

    /// The request key of the next call, if it has one.
    pub(super) fn key_for(&mut self, op: &Op) -> Option<u128> {
        let keyed = !self.habits.no_key.is_possible()
            && !op.is_read()
            && !self.leave_out.contains(&Argument::Key);
        let fresh =
            keyed.then(|| (u128::from(self.draw.bits()) << 64) | u128::from(self.draw.bits()));
        if self.leave_out.contains(&Argument::FreshKey) {
            return self.last_key;
        }
        fresh
    }

    /// Sends the first attempt of a call, under this request key. The client retries as long as it
    /// may.
    pub(super) fn begin_call_under(
        &mut self,
        key: Option<u128>,
        now: Time,
        (intended, op): (Time, Op),
        o: &mut impl Observer,
    ) -> CallId {
        let who = Credential {
            secret: self.secret,
            is_new: op.kind().registers() && self.user.is_none(),
        };
        let previous = std::mem::replace(&mut self.last_key, key);
        if self.habits.stray.is_possible() {
            self.last_op = Some(op.clone());
        }
        let request_key = match key {
            None => RequestKey::None,
            Some(_) if key == previous => RequestKey::Previous,
            Some(_) => RequestKey::Own,
        };
        let call = CallId(self.calls.made);
        self.calls.made += 1;
        let what = ClientEvent::Called {
            call,
            op: &op,
            intended,
            key: request_key,
        };
        self.record(now, what, o);
        self.actions.push_back(Action::Request {
            call,
            attempt: 0,
            who,
            key,
            op: op.clone(),
        });
        let is_impatient =
            self.draw.chance(self.habits.impatient) || self.leave_out.contains(&Argument::Patience);
        let hold = match is_impatient {
            true => Span::ZERO,
            false => op.hold(),
        };
        self.calls.open.push(Box::new(Call {
            id: call,
            attempt: 0,
            stage: Stage::InFlight,
            why: Retry::Silence,
            who,
            key,
            op,
            called_at: now,
            intended,
            due: now + pause(&self.client, 0) + hold,
            give_up_at: Time::MAX,
            hold,
        }));
        call
    }

    /// The operation of the verb in the current state. None for a `block` or `report` without a
    /// participant.
    pub(super) fn op(&mut self, verb: &Verb) -> Option<Op> {
        let (room, epoch) = (None, None);
        let mut op = match verb {
            Verb::EnterQueue {
                name,
                user_id,
                interests,
            } => Op::Command(Command::EnterQueue(EnterQueue {
                user_id: user_id.clone(),
                display_name: self.called_in_line(name),
                interests: interests.clone(),
            })),
            Verb::Login { room, rooms, name } => Op::Command(Command::Login {
                username: self.called_in_room(name),
                room: match rooms {
                    0 | 1 => room.clone(),
                    rooms => format!("{room}-{}", self.draw.below(u64::from(*rooms))).into(),
                },
            }),
            Verb::Send(text) => {
                let text = self.text(text);
                let to = Addressees::ALL;
                Op::Command(Command::SendMessage {
                    room,
                    text,
                    epoch,
                    to,
                })
            }
            Verb::Speak(text) => {
                self.rooms.claim();
                let text = self.text(text);
                let to = Addressees::ALL;
                Op::Command(Command::Speak { room, text, to })
            }
            // A wait is a pause, which a hurried user skips.
            Verb::Check { by, .. } if self.pace == Pace::Hurried => self.check(Span::ZERO, *by),
            Verb::Check { wait, by } => self.check(*wait, *by),
            Verb::History { before, limit } => Op::by_handle(Read::History {
                room,
                before: before.map(RoomSeq),
                limit: *limit as usize,
            }),
            Verb::TalkingStick(_) => {
                self.rooms.claim();
                Op::Command(Command::TalkingStick { room, epoch })
            }
            Verb::Append(text) => {
                let text = self.text(text);
                Op::Command(Command::Append { room, text, epoch })
            }
            Verb::Undo(_) => Op::Command(Command::Undo { room, epoch }),
            Verb::Reset(_) => Op::Command(Command::Reset { room, epoch }),
            Verb::Report { reason } => Op::Command(Command::ReportUser {
                user: self.whom()?,
                reason: reason.clone(),
            }),
            Verb::Break { kind, excuse } => Op::Command(Command::TakeBreak {
                kind: kind.or_else(|| self.draw.pick(BreakKind::ALL))?,
                excuse: excuse.clone(),
            }),
            Verb::Mood => Op::by_handle(Read::Mood),
            Verb::Plain(plain) => plain.op(self.whom())?,
        };
        self.fill_in(verb, &mut op);
        Some(op)
    }

    /// Fills in whom a message is addressed to, the room, and the grant.
    fn fill_in(&mut self, verb: &Verb, op: &mut Op) {
        if let Op::Command(command) = op
            && let Some(to) = command.to_mut()
        {
            *to = self.addressees();
        }
        if let (Some(room), epoch) = op.place_mut() {
            *room = self.room();
            if let Some(epoch) = epoch {
                *epoch = if let Verb::TalkingStick(grant) | Verb::Undo(grant) | Verb::Reset(grant) =
                    verb
                {
                    let latest = self.rooms.epoch(*room);
                    latest.filter(|_| *grant == Grant::Latest)
                } else {
                    self.epoch(*room)
                };
            }
        }
    }

    /// Those that the next message is addressed to; mostly none.
    fn addressees(&mut self) -> Addressees {
        let is_addressed = self.draw.chance(self.habits.address);
        self.whom().filter(|_| is_addressed).into_iter().collect()
    }

    /// The name in a call: that of its step, or the user's own.
    fn called(&self, name: &Option<Arc<str>>) -> Arc<str> {
        name.as_ref().unwrap_or(&self.name).clone()
    }

    /// The participant that a call names: the last partner, or the last sender, unless the plan says
    /// another.
    fn whom(&self) -> Option<User> {
        self.named.or_else(|| self.rooms.any_other())
    }

    /// The display name for `login`: a user without a name keeps that of the server.
    fn called_in_room(&self, name: &Option<Arc<str>>) -> Arc<str> {
        let is_unnamed = self.profile.names == Naming::Unnamed && name.is_none();
        match self.identity().filter(|_| is_unnamed) {
            Some(user) => user.to_string().into(),
            None => self.called(name),
        }
    }

    /// The display name for `enter_queue`.
    fn called_in_line(&self, name: &Option<Arc<str>>) -> Option<Arc<str>> {
        let is_named = self.profile.names != Naming::Unnamed || name.is_some();
        is_named.then(|| self.called(name))
    }

    /// The operation of a `check` step.
    pub(super) fn check(&mut self, wait: Span, by: ReadBy) -> Op {
        let bare =
            self.habits.bare_check.is_possible() || self.leave_out.contains(&Argument::After);
        let after = self.cursor_to_pass();
        let after = (!bare).then_some(after);
        Op::check(after, wait, by)
    }

    /// The cursor that a read passes. One time in eight, a user with odd names passes one beyond the
    /// end of its inbox, or just beyond the last event that it knows.
    pub(super) fn cursor_to_pass(&mut self) -> u64 {
        let is_wrong = self.profile.names == Naming::Odd && self.draw.below(8) == 0;
        let beyond = match is_wrong {
            true if self.draw.below(2) == 0 => 1,
            true => BEYOND,
            false => 0,
        };
        self.read_from() + beyond
    }

    /// The room named in a call: the current one. In a flow it is sometimes left out where the
    /// server can infer it, to test the defaults.
    fn room(&mut self) -> Option<Room> {
        let left_out = match self.script {
            Script::Flow(_) => self.rooms.is_in_one() && self.draw.below(8) == 0,
            Script::Manual(_) => self.leave_out.contains(&Argument::Room),
        };
        if left_out { None } else { self.rooms.current() }
    }

    /// The epoch in a message: that of the latest grant. In a flow it is left out half of the time.
    fn epoch(&mut self, room: Option<Room>) -> Option<Epoch> {
        let epoch = self.rooms.epoch(room)?;
        let given = match self.script {
            Script::Flow(_) => self.draw.below(2) == 0,
            Script::Manual(_) => !self.leave_out.contains(&Argument::Epoch),
        };
        given.then_some(epoch)
    }

    fn text(&mut self, text: &Text) -> Arc<str> {
        match text {
            Text::Words(words) => words.clone(),
            Text::Length(lengths) | Text::Letters(_, lengths) => {
                let length = usize::try_from(lengths.draw(&mut self.draw));
                let length = length.unwrap_or(usize::MAX);
                self.texts += 1;
                if let Text::Letters(alphabet, _) = text {
                    unicode_texts::text(*alphabet, self.agent, self.texts, length)
                } else {
                    texts::text(self.agent, self.texts, length)
                }
            }
        }
    }
}
