//! What a client is to the server: coming, being registered, forgetting, leaving.

use chat_types::{Span, Time};

use sim_model::history::{Observer, What};
use sim_model::plan::Reads;
use sim_model::protocol::{Answer, Op, Outcome};

use super::calls::Call;
use super::flow::Pace;
use super::heard::Heard;
use super::inbox::Inbox;
use super::link::Was;
use super::rooms::Rooms;
use super::steps::Patience;
use super::{Action, Credential, Doing, Script, VirtualUser, names, say};

/// How many other names a client tries in its life when its own is taken.
const MOST_NAMES: u32 = 16;

/// How long a client holds two streams at most.
const LONGEST_OVERLAP: Span = Span::secs(4);

impl VirtualUser {
    /// The answer may tell who one is. Whoever learns it opens the event stream.
    pub(super) fn learn_identity(&mut self, now: Time, outcome: &Outcome) {
        let Some(user) = outcome.as_ref().ok().and_then(Answer::caller) else {
            return;
        };
        if self.user.is_none() {
            self.user = Some(user);
            if !matches!(self.doing, Doing::Away { .. }) {
                self.open_stream(now, false);
            }
        }
    }

    /// Whether a refusal says that the name or the public id cannot be had. A script by hand gives
    /// up what is not allowed; who has a flow asks for another.
    pub(super) fn asks_under_another_name(&self, code: &str) -> bool {
        match code {
            "name_taken" => true,
            "name_not_allowed" | "user_id_taken" | "invalid_arguments" => {
                matches!(self.script, Script::Flow(_))
            }
            _ => false,
        }
    }

    /// The name or the public id cannot be had: the call again under another name and the
    /// server's own id, as a new call, for which the flow waits in place of the old one.
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
            "name_taken" => say::other_name(&self.given_name, self.renamed + 2),
            "name_not_allowed" => names::plain(self.agent, self.renamed),
            // The id was refused, not the name.
            _ => self.name.clone(),
        };
        let op = if let Op::EnterQueue {
            user_id, interests, ..
        } = &call.op
        {
            if user_id.is_none() && name == self.name {
                return;
            }
            Op::EnterQueue {
                user_id: None,
                display_name: Some(name.clone()),
                interests: interests.clone(),
            }
        } else if let Op::Login { room, .. } = &call.op {
            Op::Login {
                username: name.clone(),
                room: room.clone(),
            }
        } else {
            return;
        };
        self.renamed += 1;
        self.name = name;
        let again = self.begin_call(now, now, op, Patience::ByHabit, o);
        if let Doing::Calling { call: waited } = &mut self.doing
            && *waited == call.id
        {
            *waited = again;
        }
    }

    /// The client has no handle any more: it lost it, or the server does not know it. All that
    /// belonged to it is gone too.
    pub(super) fn forget(&mut self, now: Time, o: &mut impl Observer) {
        if self.user.is_none() {
            return;
        }
        // With the handle go all connections: what comes on them is for somebody else.
        self.drop_link(now, o);
        self.actions.push_back(Action::DropAll { length: None });
        while let Some(call) = self.calls.take_first() {
            self.abandon(now, now, &call, o);
        }
        self.record(now, What::Forgot, o);
        self.user = None;
        // A client that tries this and that comes back under its old handle, too.
        if !self.draw.chance(self.habits.stray) {
            self.secret = self.draw.bits();
        }
        self.inbox = Inbox::default();
        self.heard = Heard::default();
        self.rooms = Rooms::default();
        if let Doing::Draining(_) = self.doing {
            // There is no inbox left to drain.
            self.doing = Doing::Drained;
        }
    }

    /// Begins the flow anew.
    pub(super) fn restart(&mut self) {
        if let Script::Flow(persona) = &self.script {
            self.cursor.restart(&persona.flow);
        }
    }

    /// Drops all connections without a word: for so long, or for good.
    pub(super) fn disconnect(&mut self, now: Time, length: Option<Span>, o: &mut impl Observer) {
        self.drop_link(now, o);
        self.actions.push_back(Action::DropAll { length });
        if let Some(length) = length {
            let until = now + length;
            self.calls.put_off_all(until, &self.client);
            self.doing = Doing::Away { until };
            return;
        }
        while let Some(call) = self.calls.take_first() {
            let (id, op) = (call.id, &call.op);
            self.record(now, What::Abandoned { call: id, op }, o);
        }
        self.record(now, What::Vanished, o);
        self.doing = Doing::Vanished;
    }

    /// Back after a disconnect, and going on as the plan meant to at `meant`.
    pub(super) fn come_back(&mut self, now: Time, meant: Time) {
        self.doing = match (&self.script, self.pace) {
            (Script::Flow(_), _) => Doing::Ready { meant },
            (Script::Manual { .. }, Pace::AsWritten) => Doing::Idle,
            (Script::Manual { .. }, Pace::Hurried) => Doing::Settling,
        };
        if self.user.is_some() {
            self.open_stream(now, false);
        }
    }

    /// A stream that broke is opened anew; so is one that was asked for and never opened.
    pub(super) fn renew_stream(&mut self, now: Time, o: &mut impl Observer) {
        if let Some(stream) = self.link.give_up_opening(now) {
            self.record(now, What::StreamClosed, o);
            let first = self.link.drop_first();
            for stream in first.into_iter().chain([stream]) {
                self.actions.push_back(Action::CloseStream { stream });
            }
        }
        self.open_stream(now, false);
    }

    /// Now and then a client opens a second stream beside the one that has just opened, and
    /// closes the first after up to `LONGEST_OVERLAP`.
    pub(super) fn open_second(&mut self, now: Time) {
        if self.link.first().is_none() && self.draw.chance(self.habits.second_stream) {
            let overlap = Span(self.draw.below(LONGEST_OVERLAP.0));
            self.link.keep_first(now + overlap);
            // The first stream carries what the second one may leave out.
            let bare = overlap.0.is_multiple_of(2);
            self.open_stream(now, bare);
        }
    }

    /// Where the inbox is read on from.
    pub(super) fn read_from(&self) -> u64 {
        match self.manner.reads {
            Reads::Exactly => self.inbox.cursor(),
            Reads::ByStream => self.inbox.last(),
        }
    }

    /// A client that reads by its stream alone opens a fresh one, to hear what is left.
    pub(super) fn reopen_stream(&mut self, now: Time, o: &mut impl Observer) {
        let stream = self.link.generation();
        let first = self.link.drop_first();
        if self.drop_link(now, o) != Was::Closed {
            for stream in first.into_iter().chain([stream]) {
                self.actions.push_back(Action::CloseStream { stream });
            }
        }
        self.open_stream(now, false);
    }

    fn open_stream(&mut self, now: Time, bare: bool) {
        let wanted = match &self.script {
            Script::Flow(persona) => persona.stream,
            Script::Manual { stream } => *stream,
        };
        if wanted {
            let secret = self.secret;
            let stream = self.link.open(now, &self.client);
            self.actions.push_back(Action::OpenStream {
                stream,
                who: Credential::Handle { secret },
                by: self.manner.stream_by,
                after: self.read_from(),
                bare,
            });
        }
    }

    fn drop_link(&mut self, now: Time, o: &mut impl Observer) -> Was {
        let was = self.link.close();
        if was != Was::Closed {
            self.record(now, What::StreamClosed, o);
        }
        was
    }
}
