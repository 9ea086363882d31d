//! A virtual user: a state machine that goes through a flow of calls as a client would, and does
//! not know whether its world is virtual or real.
//!
//! It does no I/O and reads no clock. The world hands it inputs (`start`, the `handle_*` methods,
//! `manual`, `begin_drain`), each with the time; after each it takes out what the user asks for
//! with [`VirtualUser::poll_action`] until nothing is left, and calls
//! [`VirtualUser::handle_timeout`] when the time of [`VirtualUser::poll_timeout`] has come, which
//! every input may move. What the user did and saw goes to the [`Observer`] of the call.
//!
//! ```text
//! user.start(now, &mut history);
//! loop {
//!     while let Some(action) = user.poll_action() { … send, cancel, open, close … }
//!     // the earliest of user.poll_timeout() and what the network brings
//!     user.handle_answer(now, call, attempt, &outcome, &mut history);
//! }
//! ```
//!
//! Where to look: `flow.rs` knows the place in the flow, `steps.rs` performs a step, `calls.rs`
//! keeps attempts and deadlines, `answers.rs` says what follows from an answer, `awaiting.rs` how
//! an `await` ends, `registration.rs` what a client is to the server, `link.rs` the event stream,
//! `inbox.rs` which events it has had, `rooms.rs` where it is, `drain.rs` how it comes to an end, and
//! `waiting.rs` what keeps it from that.

mod action;
mod answers;
pub mod arrivals;
mod awaiting;
mod backoff;
mod calls;
mod drain;
mod flow;
mod heard;
mod inbox;
mod letters;
mod link;
mod names;
mod poll;
mod registration;
mod rooms;
mod say;
mod steps;
mod stray;
mod waiting;

use std::collections::VecDeque;
use std::sync::Arc;

use chat_types::Time;

use sim_model::draw::{Actor, Draw};
use sim_model::history::{Observer, Path, Record, What};
use sim_model::plan::{Argument, Client, Habits, Manner, Persona, Step};
use sim_model::protocol::{Agent, CallId, Outcome, ReadBy, Refusal, Room, Saw, User};

pub use action::{Action, Credential};
use awaiting::Awaiting;
use calls::Calls;
use drain::Draining;
use flow::{Cursor, Pace};
use heard::{Heard, Kind};
use inbox::Inbox;
use link::{Link, Opened, Was};
use rooms::Rooms;
use steps::Patience;

/// What a user does.
#[derive(Clone, Debug)]
pub enum Script {
    /// The flow of a persona.
    Flow(Arc<Persona>),
    /// What it is told, step by step, by [`VirtualUser::manual`]. It has no habits, and leaves
    /// nothing to chance.
    Manual {
        /// Whether it holds an event stream.
        stream: bool,
    },
}

/// What the user is about.
#[derive(Clone, Copy, Debug)]
enum Doing {
    /// Nothing by itself: not started, or its script is by hand.
    Idle,
    /// About to take the next step, which the plan meant for this time. Never left at rest.
    Ready { meant: Time },
    /// Doing nothing for a while.
    Thinking { until: Time },
    /// Waiting for this call's answer.
    Calling { call: CallId },
    /// Waiting for an event.
    Awaiting(Awaiting),
    /// Without any connection for a while.
    Away { until: Time },
    /// The flow is over, and calls that nobody waited for are still in flight.
    Settling,
    /// The flow is over.
    Finished,
    /// Reading the inbox to its end.
    Draining(Draining),
    /// Finished and drained.
    Drained,
    /// Gone for good.
    Vanished,
}

/// A virtual user.
#[derive(Clone, Debug)]
pub struct VirtualUser {
    agent: Agent,
    /// Who it is to the server; none when it has no handle.
    user: Option<User>,
    /// What its handle is made from.
    secret: u64,
    doing: Doing,
    /// Until then the process is stopped, and looks at no clock.
    suspended_until: Time,
    calls: Calls,
    link: Link,
    inbox: Inbox,
    heard: Heard,
    rooms: Rooms,
    actions: VecDeque<Action>,
    cursor: Cursor,
    pace: Pace,
    draw: Draw,
    client: Client,
    habits: Habits,
    manner: Manner,
    /// Drawn once: it never passes `after` to a check.
    checks: Checks,
    /// Drawn once: whether its requests have keys.
    keys: Keys,
    script: Script,
    /// The name it was given, and what it calls itself now.
    given_name: Arc<str>,
    name: Arc<str>,
    renamed: u32,
    forgot: u32,
    /// How many calls it passed over since it had no handle.
    left_out: u64,
    texts: u32,
    /// The `await` that ran out of time, and since when it waited.
    ran_out: Option<(Kind, Time)>,
    /// What the call by hand that begins now goes without.
    leave_out: Vec<Argument>,
    /// The key of the call before.
    last_key: Option<u128>,
}

/// Whether checks acknowledge what was read before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Checks {
    Exact,
    Bare,
}

/// Whether requests have keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    Random,
    None,
}

impl VirtualUser {
    /// A user that does nothing before `start`. Its choices come from `seed` and `agent` alone;
    /// `name` is what it calls itself until somebody else has that name.
    #[must_use]
    pub fn new(agent: Agent, script: Script, client: Client, seed: u64, name: Arc<str>) -> Self {
        let mut draw = Draw::new(seed, Actor::User(agent.0));
        let (habits, manner) = match &script {
            Script::Flow(persona) => (persona.habits, persona.manner),
            Script::Manual { .. } => (Habits::default(), Manner::default()),
        };
        let bare = draw.chance(habits.bare_check);
        let keyless = draw.chance(habits.no_key);
        let secret = draw.bits();
        let called = names::drawn(manner.names, &name, &mut draw);
        Self {
            agent,
            user: None,
            secret,
            doing: Doing::Idle,
            suspended_until: Time(0),
            calls: Calls::default(),
            link: Link::default(),
            inbox: Inbox::default(),
            heard: Heard::default(),
            rooms: Rooms::default(),
            actions: VecDeque::new(),
            cursor: Cursor::default(),
            pace: Pace::AsWritten,
            draw,
            client,
            habits,
            manner,
            checks: if bare { Checks::Bare } else { Checks::Exact },
            keys: if keyless { Keys::None } else { Keys::Random },
            script,
            name: called,
            given_name: name,
            renamed: 0,
            forgot: 0,
            left_out: 0,
            texts: 0,
            ran_out: None,
            leave_out: Vec::new(),
            last_key: None,
        }
    }

    /// By which secret it opens its streams from now on.
    pub fn stream_by(&mut self, by: ReadBy) {
        self.manner.stream_by = by;
    }

    /// The user's choices come from another generator from here on, that of this seed. What it
    /// has chosen stays.
    pub fn key_again(&mut self, seed: u64) {
        self.draw = Draw::new(seed, Actor::User(self.agent.0));
    }

    /// The user arrives, and begins its flow.
    pub fn start(&mut self, now: Time, o: &mut impl Observer) {
        self.start_meant(now, now, o);
    }

    /// The user arrives now, where the plan meant it to at `meant`.
    pub fn start_meant(&mut self, now: Time, meant: Time, o: &mut impl Observer) {
        if let (Doing::Idle, Script::Flow(persona)) = (self.doing, &self.script) {
            self.cursor.restart(&persona.flow);
            self.doing = Doing::Ready { meant };
            self.go_on(now, o);
        }
    }

    /// An answer arrived to one attempt of a call. The events of a check's answer are handed over
    /// one by one before it.
    pub fn handle_answer(
        &mut self,
        now: Time,
        call: CallId,
        attempt: u32,
        outcome: &Outcome,
        o: &mut impl Observer,
    ) {
        if self.is_vanished() {
            return;
        }
        if self.calls.find(call).is_none() {
            if let Some(op) = self.calls.remembered(call) {
                let what = What::AnsweredAgain { call, op, outcome };
                self.record(now, what, o);
            }
        } else if !self
            .calls
            .puts_off(call, attempt, outcome, now, &self.client)
        {
            self.take_answer(now, call, outcome, o);
        }
        self.go_on(now, o);
    }

    /// An event of the inbox arrived. A flow goes on at once when the stream brought what it
    /// waits for; what a check brought is looked at when its answer is complete.
    pub fn handle_event(
        &mut self,
        now: Time,
        seq: u64,
        sent_at: Time,
        saw: &Saw<'_>,
        path: Path,
        o: &mut impl Observer,
    ) {
        let Some(me) = self.user else {
            // It is for somebody whose handle this client has forgotten.
            return;
        };
        if self.is_vanished() {
            return;
        }
        let first = match *saw {
            // A gap stands for the places that it covers, and has none of its own.
            Saw::Gap { from, to, .. } => self.inbox.take(from, to),
            Saw::Found { .. }
            | Saw::Message { .. }
            | Saw::Ended { .. }
            | Saw::PartnerAway { .. }
            | Saw::PartnerBack { .. }
            | Saw::Member { .. }
            | Saw::Stick { .. }
            | Saw::Moderation { .. } => self.inbox.take(seq, seq),
        };
        let what = What::Received {
            seq,
            sent_at,
            saw,
            path,
            first,
        };
        self.record(now, what, o);
        if first {
            self.heard.hear(saw, me);
            self.rooms.see(saw, me, &mut self.heard);
        }
        if path == Path::Stream {
            self.go_on(now, o);
        }
    }

    /// The stream of this opening is open.
    pub fn handle_stream_opened(&mut self, now: Time, stream: u32, o: &mut impl Observer) {
        match self.link.opened(stream) {
            Opened::No => return,
            Opened::First | Opened::Second => self.record(now, What::StreamOpened, o),
        }
        self.open_second(now);
        self.go_on(now, o);
    }

    /// The stream of this opening broke, or was refused.
    pub fn handle_stream_closed(
        &mut self,
        now: Time,
        stream: u32,
        refusal: Option<Refusal>,
        o: &mut impl Observer,
    ) {
        let retry_after = refusal.and_then(|refusal| refusal.retry_after);
        let had_two = self.link.first();
        let was = self.link.broke(now, stream, &self.client, retry_after);
        if let (Some(first), Was::Opening | Was::Open) = (had_two, was) {
            // Where the second one fails, a client begins anew.
            self.actions
                .push_back(Action::CloseStream { stream: first });
            self.record(now, What::StreamClosed, o);
        }
        match (was, refusal) {
            (Was::Closed, _) => return,
            // The server never had it open.
            (Was::Opening, Some(_)) => {}
            (Was::Opening, None) | (Was::Open, _) if had_two.is_none() => {
                self.record(now, What::StreamClosed, o);
            }
            (Was::Opening, None) | (Was::Open, _) => {}
        }
        if refusal.is_some_and(|refusal| refusal.code == "unknown_handle") {
            self.forget(now, o);
        }
        self.go_on(now, o);
    }

    /// The time of `poll_timeout` has come. Also after a suspension, when whatever arrived
    /// meanwhile has been handed over: everything overdue is dealt with.
    pub fn handle_timeout(&mut self, now: Time, o: &mut impl Observer) {
        if now < self.suspended_until {
            return;
        }
        while let Some((call, since)) = self.calls.overdue(now) {
            self.expire(now, call, since, o);
        }
        if let Some(stream) = self.link.close_first(now) {
            self.actions.push_back(Action::CloseStream { stream });
        }
        if self.link.renewal_due() <= now {
            self.renew_stream(now, o);
        }
        match self.doing {
            Doing::Thinking { until } if until <= now => {
                self.doing = Doing::Ready { meant: until };
            }
            Doing::Away { until } if until <= now => self.come_back(now, until),
            Doing::Idle
            | Doing::Ready { .. }
            | Doing::Thinking { .. }
            | Doing::Calling { .. }
            | Doing::Awaiting(_)
            | Doing::Away { .. }
            | Doing::Settling
            | Doing::Finished
            | Doing::Draining(_)
            | Doing::Drained
            | Doing::Vanished => {}
        }
        self.go_on(now, o);
    }

    /// When `handle_timeout` is to be called next, unless an input moves it.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let own = match &self.doing {
            Doing::Thinking { until } | Doing::Away { until } => *until,
            Doing::Awaiting(awaiting) => awaiting.due(),
            Doing::Draining(draining) => draining.due(),
            Doing::Idle
            | Doing::Ready { .. }
            | Doing::Calling { .. }
            | Doing::Settling
            | Doing::Finished
            | Doing::Drained
            | Doing::Vanished => Time::MAX,
        };
        let due = own.min(self.calls.due()).min(self.link.due());
        (due < Time::MAX).then(|| due.max(self.suspended_until))
    }

    /// What the user asks its world to do next. To be called until there is nothing.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// How many calls it passed over since it had no handle.
    #[must_use]
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Performs a step of a script by hand now, whatever else is in flight: a call, without what
    /// is to be left out, or a disconnect (which, when it is for a while, those who are being
    /// drained pass over). Other steps have no meaning there, and who has a flow takes no orders.
    /// Returns the call that it started; none for a disconnect, for a `block` or `report` when
    /// nobody is known, and for whatever needs a handle while there is none.
    pub fn manual(
        &mut self,
        now: Time,
        step: &Step,
        leave_out: &[Argument],
        o: &mut impl Observer,
    ) -> Option<CallId> {
        if self.is_vanished() || matches!(self.script, Script::Flow(_)) {
            return None;
        }
        match step {
            // Without a handle one can do no more than ask for one.
            Step::Call(verb) if self.user.is_none() && !verb.kind().registers() => {
                self.left_out += 1;
                None
            }
            Step::Call(verb) => {
                self.leave_out.extend_from_slice(leave_out);
                let op = self.op(verb);
                let call = op.map(|op| self.begin_call(now, now, op, Patience::ByHabit, o));
                self.leave_out.clear();
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

    /// The process stops until `until`: it neither sends nor reads, nor looks at a clock. The
    /// world keeps what arrives meanwhile, and hands it over then, before `handle_timeout`.
    pub fn suspend(&mut self, now: Time, until: Time) {
        self.suspended_until = self.suspended_until.max(until).max(now);
    }

    /// Whether it is finished and drained, or gone for good.
    #[must_use]
    pub fn is_done(&self) -> bool {
        match self.doing {
            Doing::Drained => self.calls.is_empty(),
            Doing::Vanished => true,
            Doing::Idle
            | Doing::Ready { .. }
            | Doing::Thinking { .. }
            | Doing::Calling { .. }
            | Doing::Awaiting(_)
            | Doing::Away { .. }
            | Doing::Settling
            | Doing::Finished
            | Doing::Draining(_) => false,
        }
    }

    /// The name it was given, whatever it calls itself now.
    #[must_use]
    pub fn given_name(&self) -> &Arc<str> {
        &self.given_name
    }

    /// Who it is to the server; none before it is registered.
    #[must_use]
    pub fn identity(&self) -> Option<User> {
        self.user
    }

    /// The room that it is in, the last it entered of several; else the last that it knew.
    #[must_use]
    pub fn current_room(&self) -> Option<Room> {
        self.rooms.current()
    }

    /// Goes on as far as it can at this moment.
    fn go_on(&mut self, now: Time, o: &mut impl Observer) {
        loop {
            match self.doing {
                Doing::Ready { meant } => self.take_step(now, meant, o),
                Doing::Awaiting(awaiting) => {
                    if !self.look_whether_heard(now, awaiting, o) {
                        return;
                    }
                }
                Doing::Settling if self.calls.is_empty() => {
                    self.record(now, What::Finished, o);
                    self.doing = Doing::Finished;
                }
                Doing::Finished if self.pace == Pace::Hurried => self.start_draining(now, o),
                Doing::Draining(draining) => {
                    self.go_on_draining(now, draining, o);
                    return;
                }
                Doing::Idle
                | Doing::Thinking { .. }
                | Doing::Calling { .. }
                | Doing::Away { .. }
                | Doing::Settling
                | Doing::Finished
                | Doing::Drained
                | Doing::Vanished => return,
            }
        }
    }

    fn is_vanished(&self) -> bool {
        matches!(self.doing, Doing::Vanished)
    }

    fn record(&self, at: Time, what: What<'_>, o: &mut impl Observer) {
        o.observe(&Record {
            at,
            agent: self.agent,
            user: self.user,
            what,
        });
    }
}
