//! A virtual user: a state machine that performs a flow of calls as a client would. It is
//! independent of whether its world is virtual or real.
//!
//! It does no I/O and reads no clock. The world passes it inputs (`start`, the `handle_*` methods,
//! `manual`, `begin_drain`), each with the time. After each input the world drains the user's
//! requests with [`VirtualUser::poll_action`]. It calls [`VirtualUser::handle_timeout`] at the time
//! of [`VirtualUser::poll_timeout`], which every input may change. What the user did and received
//! goes to the [`Observer`] passed with the input.
//!
//! ```text
//! user.start(now, now, &mut history);
//! loop {
//!     while let Some(action) = user.poll_action() { … send, cancel, open, close … }
//!     // the earliest of user.poll_timeout() and what the network brings
//!     user.handle_answer(now, call, attempt, &outcome, &mut history);
//! }
//! ```
//!
//! `flow.rs` holds the position in the flow, `steps.rs` performs a step, `calls.rs` keeps attempts
//! and deadlines, `answers.rs` handles answers, `awaiting.rs` ends an `await` and drains the inbox,
//! `registration.rs` holds the client's identity, `stream.rs` its event stream, `inbox.rs` the
//! received events, `rooms.rs` its rooms, and `manual.rs` how its world drives and sees it.

mod action;
mod answers;
pub mod arrivals;
mod awaiting;
mod calls;
mod flow;
mod inbox;
mod manual;
mod names;
mod registration;
mod rooms;
mod steps;
mod stray;
mod stream;
mod texts;
mod unawaited_events;
mod unicode_texts;

use std::collections::VecDeque;
use std::sync::Arc;

use chat_types::Time;

use sim_model::draw::{Actor, Draw, Ratio};
use sim_model::history::{ClientEvent, DeliveryPath, Observer, Record, RunEvent};
use sim_model::plan::{Argument, Client, ClientProfile, Habits, Opening, Persona, ScriptUser};
use sim_model::protocol::{Agent, CallId, Code, InboxEvent, Op, Outcome, Refusal, User};

pub use action::{Action, Credential};
use awaiting::{Awaiting, Draining};
use calls::Calls;
use flow::{Cursor, Pace};
use inbox::Inbox;
use rooms::Rooms;
use stream::{EventStream, State};
use unawaited_events::Kind;

/// What a user performs.
#[derive(Clone, Debug)]
pub enum Script {
    /// The flow of a persona.
    Flow(Arc<Persona>),
    /// Single steps, passed by [`VirtualUser::manual`]. The user has no habits and draws nothing.
    Manual(Box<ScriptUser>),
}

/// The user's current activity.
#[derive(Clone, Copy, Debug)]
enum Activity {
    /// No activity: the user has not started, or performs single steps only.
    Idle,
    /// About to take the next step, which the plan intended for this time. This state never
    /// outlasts an input.
    Ready { meant: Time },
    /// Pausing until then.
    Thinking { since: Time, until: Time },
    /// Waiting for this call's answer.
    Calling { call: CallId },
    /// Waiting for an event.
    Awaiting(Awaiting),
    /// Disconnected until then.
    Away { since: Time, until: Time },
    /// The flow is over, and calls without a waiting step are still in flight.
    Settling,
    /// The flow is over.
    Finished,
    /// Draining the inbox.
    Draining(Draining),
    /// Finished and drained.
    Drained,
    /// Disconnected permanently.
    Vanished,
}

/// A virtual user.
#[derive(Clone, Debug)]
pub struct VirtualUser {
    agent: Agent,
    /// Its participant; none while it has no handle.
    user: Option<User>,
    /// Its last participant, whether or not it still has the handle.
    last_user: Option<User>,
    /// The number that determines its handle.
    secret: u64,
    activity: Activity,
    /// Its process is stopped until then, and handles no timeouts.
    suspended_until: Time,
    /// Whether it was knocked for, and has not read its inbox since.
    is_knocked: bool,
    calls: Calls,
    stream: EventStream,
    inbox: Inbox,
    rooms: Rooms,
    actions: VecDeque<Action>,
    cursor: Cursor,
    pace: Pace,
    draw: Draw,
    client: Client,
    /// Its habits. Those that are drawn once for each user are impossible, or not.
    habits: Habits,
    profile: ClientProfile,
    /// The next openings of its streams, if the plan has them.
    opens: VecDeque<Opening>,
    /// The participant that the next call names, if the plan says it.
    named: Option<User>,
    script: Script,
    /// Its name in the scenario.
    scenario_name: Arc<str>,
    /// Its given name, and the name that it uses now.
    given_name: Arc<str>,
    name: Arc<str>,
    renamed: u32,
    forgot: u32,
    /// The number of calls that were skipped for lack of a handle.
    skipped: u64,
    texts: u32,
    /// The `await` that timed out, with its beginning.
    ran_out: Option<(Kind, Time)>,
    /// The arguments that the current call by hand leaves out.
    leave_out: Vec<Argument>,
    /// The request key of the previous call.
    last_key: Option<u128>,
    /// The previous call, of a client that may repeat it with another argument.
    last_op: Option<Op>,
}

impl VirtualUser {
    /// Creates a user, which does nothing before `start`. Its choices depend on `seed` and `agent`
    /// alone. `name` is its name until it has to choose another.
    #[must_use]
    pub fn new(agent: Agent, script: Script, client: Client, seed: u64, name: Arc<str>) -> Self {
        let mut draw = Draw::new(seed, Actor::User(agent.0));
        let (mut habits, mut profile) = match &script {
            Script::Flow(persona) => (persona.habits, persona.profile),
            Script::Manual(_) => (Habits::default(), ClientProfile::default()),
        };
        let mut opens = VecDeque::new();
        if let Script::Manual(user) = &script {
            profile.stream_by = user.stream.unwrap_or_default();
            opens.extend(&user.opens);
        }
        for drawn_once in [&mut habits.bare_check, &mut habits.no_key] {
            if !draw.chance(*drawn_once) {
                *drawn_once = Ratio::NEVER;
            }
        }
        let secret = draw.bits();
        let called = names::drawn(profile.names, &name, &mut draw);
        Self {
            agent,
            user: None,
            last_user: None,
            secret,
            activity: Activity::Idle,
            suspended_until: Time(0),
            is_knocked: false,
            calls: Calls::default(),
            stream: EventStream::default(),
            inbox: Inbox::default(),
            rooms: Rooms::default(),
            actions: VecDeque::new(),
            cursor: Cursor::default(),
            pace: Pace::AsWritten,
            draw,
            client,
            habits,
            profile,
            opens,
            named: None,
            script,
            name: called,
            scenario_name: Arc::clone(&name),
            given_name: name,
            renamed: 0,
            forgot: 0,
            skipped: 0,
            texts: 0,
            ran_out: None,
            leave_out: Vec::new(),
            last_key: None,
            last_op: None,
        }
    }

    /// Sets its name in the scenario, if it registers under another.
    #[must_use]
    pub fn known_as(mut self, scenario_name: Arc<str>) -> Self {
        self.scenario_name = scenario_name;
        self
    }

    /// Draws later choices from the generator of this seed. Earlier choices stay.
    pub fn rekey(&mut self, seed: u64) {
        self.draw = Draw::new(seed, Actor::User(self.agent.0));
    }

    /// Starts the flow now: the user arrives. Its intended start was `meant`.
    pub fn start(&mut self, now: Time, meant: Time, o: &mut impl Observer) {
        if let (Activity::Idle, Script::Flow(persona)) = (self.activity, &self.script) {
            self.cursor.restart(&persona.flow);
            self.activity = Activity::Ready { meant };
            self.go_on(now, o);
        }
    }

    /// Handles an answer to one attempt of a call. The world passes the events of a check's answer
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
                let what = ClientEvent::AnsweredAgain { call, op, outcome };
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

    /// Handles an event of the inbox. If the stream delivered the awaited event, the flow continues
    /// at once. Events of a check are considered when its answer is complete.
    pub fn handle_event(
        &mut self,
        now: Time,
        seq: u64,
        sent_at: Time,
        event: InboxEvent<'_>,
        path: DeliveryPath,
        o: &mut impl Observer,
    ) {
        let Some(me) = self.user.filter(|_| !self.is_vanished()) else {
            // It may belong to a participant whose handle this client has forgotten.
            return;
        };
        let first = match event {
            // A gap stands for the places that it covers.
            InboxEvent::Gap(gap) => self.inbox.take(gap.from.0, gap.to.0),
            InboxEvent::Event(_) => self.inbox.take(seq, seq),
        };
        let what = ClientEvent::Received {
            seq,
            sent_at,
            event,
            path,
            first,
        };
        self.record(now, what, o);
        if first {
            self.rooms.see(event, me);
        }
        if path == DeliveryPath::Stream {
            self.go_on(now, o);
        }
    }

    /// Handles a knock: the user reads its inbox as soon as it waits for an event.
    pub fn handle_knock(&mut self, now: Time, o: &mut impl Observer) {
        self.is_knocked = true;
        self.go_on(now, o);
    }

    /// Handles the opening of the stream with this number.
    pub fn handle_stream_opened(&mut self, now: Time, stream: u32, o: &mut impl Observer) {
        if !self.stream.opened(stream) {
            return;
        }
        self.record(now, ClientEvent::StreamOpened, o);
        self.open_second(now);
        self.go_on(now, o);
    }

    /// Handles the end or the refusal of the stream with this number.
    pub fn handle_stream_closed(
        &mut self,
        now: Time,
        stream: u32,
        refusal: Option<Refusal>,
        o: &mut impl Observer,
    ) {
        let retry_after = refusal.and_then(|refusal| refusal.retry_after);
        let had_two = self.stream.first();
        let Some(was) = self.stream.broke(now, stream, &self.client, retry_after) else {
            return;
        };
        if let Some(first) = had_two {
            // If the second stream fails, the client opens a new one.
            self.actions
                .push_back(Action::CloseStream { stream: first });
            self.record(now, ClientEvent::StreamClosed, o);
        }
        // A stream that was refused while it opened was never there.
        if had_two.is_none() && (was == State::Open || refusal.is_none()) {
            self.record(now, ClientEvent::StreamClosed, o);
        }
        if refusal.is_some_and(|refusal| refusal.is(Code::UnknownHandle)) {
            self.forget(now, o);
        }
        self.go_on(now, o);
    }

    /// Handles all that is overdue at `now`. Also called after a suspension, when all that arrived
    /// meanwhile was handled.
    pub fn handle_timeout(&mut self, now: Time, o: &mut impl Observer) {
        if now < self.suspended_until {
            return;
        }
        while let Some((call, since)) = self.calls.overdue(now) {
            self.expire(now, call, since, o);
        }
        if let Some(stream) = self.stream.close_first(now) {
            self.actions.push_back(Action::CloseStream { stream });
        }
        if self.stream.renewal_due <= now {
            self.renew_stream(now, o);
        }
        if let Activity::Thinking { until, .. } = self.activity
            && until <= now
        {
            self.activity = Activity::Ready { meant: until };
        } else if let Activity::Away { until, .. } = self.activity
            && until <= now
        {
            self.come_back(now, until);
        }
        self.go_on(now, o);
    }

    /// The next instant for `handle_timeout`, unless an input changes it.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let own = if let Activity::Thinking { until, .. } | Activity::Away { until, .. } =
            self.activity
        {
            until
        } else if let Activity::Awaiting(awaiting) = &self.activity {
            awaiting.due()
        } else if let Activity::Draining(draining) = &self.activity {
            draining.poll.due()
        } else {
            Time::MAX
        };
        let due = own.min(self.calls.due()).min(self.stream.due());
        (due < Time::MAX).then(|| due.max(self.suspended_until))
    }

    /// The user's next request to its world. To be drained after every input.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// The number of calls that were skipped for lack of a handle.
    #[must_use]
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Continues as far as possible at this instant.
    fn go_on(&mut self, now: Time, o: &mut impl Observer) {
        loop {
            if let Activity::Ready { meant } = self.activity {
                self.take_step(now, meant, o);
            } else if let Activity::Awaiting(awaiting) = self.activity {
                if !self.look_whether_heard(now, awaiting, o) {
                    return;
                }
            } else if matches!(self.activity, Activity::Settling) && self.calls.open.is_empty() {
                let cut_short = self.cursor.cut_short;
                self.record(now, ClientEvent::Finished { cut_short }, o);
                self.activity = Activity::Finished;
            } else if matches!(self.activity, Activity::Finished) && self.pace == Pace::Hurried {
                self.start_draining(now, o);
            } else {
                if let Activity::Draining(draining) = self.activity {
                    self.go_on_draining(now, draining, o);
                }
                return;
            }
        }
    }

    fn is_vanished(&self) -> bool {
        matches!(self.activity, Activity::Vanished)
    }

    fn record(&self, at: Time, what: ClientEvent<'_>, o: &mut impl Observer) {
        o.observe(RunEvent::Client(&Record {
            at,
            agent: self.agent,
            name: &self.scenario_name,
            user: self.user,
            what,
        }));
    }
}
