//! A client's identity: arriving, registering, forgetting its handle, leaving.

use chat_types::{Span, Time};

use sim_model::history::{ClientEvent, Observer};
use sim_model::plan::{Opening, Reads};
use sim_model::protocol::{Command, Op, Outcome, Response};

use super::calls::Call;
use super::flow::Pace;
use super::inbox::Inbox;
use super::rooms::Rooms;
use super::{Action, Activity, Script, VirtualUser, names, texts};

/// The number of other names that a client tries in its life.
const MOST_NAMES: u32 = 16;

/// The longest time for which a client holds two streams.
const LONGEST_OVERLAP: Span = Span::secs(4);

impl VirtualUser {
    /// Learns the client's participant from an answer, and then opens the event stream.
    pub(super) fn learn_identity(&mut self, now: Time, outcome: &Outcome) {
        if let Ok(Response::Done(reply)) = outcome
            && let Some(user) = reply.caller()
            && self.user.is_none()
        {
            self.user = Some(user);
            self.last_user = Some(user);
            if !matches!(self.activity, Activity::Away { .. }) {
                self.open_stream(now);
            }
        }
    }

    /// Whether a refusal asks for another name or public id. A script by hand gives up on refused
    /// names; a user with a flow tries another.
    pub(super) fn asks_under_another_name(&self, code: &str) -> bool {
        match code {
            "name_taken" => true,
            "name_not_allowed" | "user_id_taken" | "invalid_arguments" => {
                matches!(self.script, Script::Flow(_))
            }
            _ => false,
        }
    }

    /// Repeats the call under another name and without a chosen id, as a new call. The flow then
    /// waits for that one.
    pub(super) fn try_another_name(
        &mut self,
        now: Time,
        call: &Call,
        code: &str,
        o: &mut impl Observer,
    ) {
        if self.user.is_some() || self.renamed == MOST_NAMES {
            return;
        }
        let name = match code {
            "name_taken" => texts::other_name(&self.given_name, self.renamed + 2),
            "name_not_allowed" => names::plain(self.agent, self.renamed),
            // The id was refused, and not the name.
            _ => self.name.clone(),
        };
        let mut op = call.op.clone();
        if let Op::Command(Command::EnterQueue(entry)) = &mut op {
            if entry.user_id.take().is_none() && name == self.name {
                return;
            }
            entry.display_name = Some(name.clone());
        } else if let Op::Command(Command::Login { username, .. }) = &mut op {
            *username = name.clone();
        } else {
            return;
        }
        self.renamed += 1;
        self.name = name;
        let again = self.begin_call(now, now, op, o);
        if let Activity::Calling { call: waited } = &mut self.activity
            && *waited == call.id
        {
            *waited = again;
        }
    }

    /// Drops the client's handle, which it lost or the server does not know, and all state that
    /// belonged to it.
    pub(super) fn forget(&mut self, now: Time, o: &mut impl Observer) {
        if self.user.is_none() {
            return;
        }
        // All connections end with the handle: what arrives on them belongs to another identity.
        self.drop_link(now, o);
        self.actions.push_back(Action::DropAll { length: None });
        while let Some(call) = self.calls.take_first() {
            self.abandon(now, now, &call, o);
        }
        // A stray client also registers again under its old handle.
        let keeps_it = matches!(&self.script, Script::Manual(user) if user.keeps_handle);
        let returns = self.draw.chance(self.habits.stray) || keeps_it;
        self.record(now, ClientEvent::Forgot { returns }, o);
        self.user = None;
        if !returns {
            self.secret = self.draw.bits();
        }
        self.inbox = Inbox::default();
        self.rooms = Rooms::default();
        if let Activity::Draining(_) = self.activity {
            // There is no inbox left to drain.
            self.activity = Activity::Drained;
        }
    }

    /// Drops all connections without closing them, for a while or permanently.
    pub(super) fn disconnect(&mut self, now: Time, length: Option<Span>, o: &mut impl Observer) {
        self.drop_link(now, o);
        self.actions.push_back(Action::DropAll { length });
        if let Some(length) = length {
            let until = now + length;
            self.calls.put_off_all(until, &self.client);
            self.activity = Activity::Away { since: now, until };
            return;
        }
        while let Some(call) = self.calls.take_first() {
            let (id, op) = (call.id, &call.op);
            self.record(now, ClientEvent::Abandoned { call: id, op }, o);
        }
        self.record(now, ClientEvent::Vanished, o);
        self.activity = Activity::Vanished;
    }

    /// Continues after a disconnect, intended by the plan at `meant`.
    pub(super) fn come_back(&mut self, now: Time, meant: Time) {
        self.activity = match (&self.script, self.pace) {
            (Script::Flow(_), _) => Activity::Ready { meant },
            (Script::Manual(_), Pace::AsWritten) => Activity::Idle,
            (Script::Manual(_), Pace::Hurried) => Activity::Settling,
        };
        if self.user.is_some() {
            self.open_stream(now);
        }
    }

    /// Opens a broken stream again, or one whose opening had no answer.
    pub(super) fn renew_stream(&mut self, now: Time, o: &mut impl Observer) {
        if let Some(stream) = self.stream.give_up_opening(now) {
            self.record(now, ClientEvent::StreamClosed, o);
            let first = self.stream.drop_first();
            self.close_streams(first, stream);
        }
        self.open_stream(now);
    }

    fn close_streams(&mut self, first: Option<u32>, second: u32) {
        let streams = first.into_iter().chain([second]);
        let closed = streams.map(|stream| Action::CloseStream { stream });
        self.actions.extend(closed);
    }

    /// By habit or by plan, opens a second stream beside a new one, and closes the first later.
    pub(super) fn open_second(&mut self, now: Time) {
        if self.stream.first().is_some() {
            return;
        }
        let Some(opening) = self.second() else {
            return;
        };
        self.stream
            .keep_first(now + opening.beside.unwrap_or_default());
        self.ask_for_stream(now, opening);
    }

    /// The opening of a second stream: the next one of the plan, or one by habit.
    fn second(&mut self) -> Option<Opening> {
        if self.opens.front().is_some_and(|next| next.beside.is_some()) {
            return self.opens.pop_front();
        }
        self.draw.chance(self.habits.second_stream).then(|| {
            let overlap = self.draw.below(LONGEST_OVERLAP.0);
            let other = self.profile.stream_by.other();
            Opening {
                by: (overlap & 2 != 0).then_some(other),
                // The first stream carries what the second one may skip.
                bare: overlap.is_multiple_of(2),
                beside: Some(Span(overlap)),
                ..Opening::default()
            }
        })
    }

    /// The cursor for the next read.
    pub(super) fn read_from(&self) -> u64 {
        match self.profile.reads {
            Reads::Exactly | Reads::Knocked => self.inbox.cursor(),
            Reads::ByStream => self.inbox.last(),
        }
    }

    /// Opens a fresh stream for a client that reads only its stream, to receive what is left.
    pub(super) fn reopen_stream(&mut self, now: Time, o: &mut impl Observer) {
        let stream = self.stream.generation;
        let first = self.stream.drop_first();
        if self.drop_link(now, o) {
            self.close_streams(first, stream);
        }
        self.open_stream(now);
    }

    /// Opens a stream: the next one of the plan, or the usual one.
    fn open_stream(&mut self, now: Time) {
        let opening = self.opens.pop_front().unwrap_or_default();
        self.ask_for_stream(now, opening);
    }

    fn ask_for_stream(&mut self, now: Time, opening: Opening) {
        let wanted = match &self.script {
            Script::Flow(persona) => persona.stream,
            Script::Manual(user) => user.stream.is_some(),
        };
        if wanted {
            let stream = self.stream.open(now, &self.client);
            let after = self.cursor_to_pass();
            self.actions.push_back(Action::OpenStream {
                stream,
                secret: self.secret,
                after,
                opening: Opening {
                    by: opening.by.or(Some(self.profile.stream_by)),
                    ..opening
                },
            });
        }
    }

    /// Closes the stream. Returns whether there was one.
    fn drop_link(&mut self, now: Time, o: &mut impl Observer) -> bool {
        let was_there = self.stream.close();
        if was_there {
            self.record(now, ClientEvent::StreamClosed, o);
        }
        was_there
    }
}
