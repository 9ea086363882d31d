//! A tiny world: a node, its clients, their judge, and one action after another.
//!
//! Actions are atomic: a call is submitted, committed, applied and answered within one step. All
//! that can happen in between is a step of its own.

mod border;
#[cfg(test)]
mod tests;

use chat_core::{Address, Continuity, Hub, Node, Seq, Ticket, TimerKind};
use chat_types::{Span, Time};

use super::client::Client;
use super::fingerprint::{Base, fingerprint, fingerprint_shown};
use sim_judge::{Judge, Judgement};
use sim_model::history::{
    ClientEvent, DeliveryPath, Observer as _, RequestKey, Retry, WorldRecord,
};
use sim_model::outcome::{Action, TinyCall};
use sim_model::plan::{Outage, Plan};
use sim_model::protocol::{Answer, CallId, Code, Op, Outcome, ReadBy, Response};
use sim_model::server::ServerRecord;
use sim_world::translate;

/// The duration of a step, so that the clock reflects the order of steps.
const STEP: Span = Span(1);

/// At a time this much later, the node proposes at once what reads imply.
const SOON: Span = Span::millis(300);

/// A node that proposes more batches than this does not terminate.
const MOST_BATCHES: u32 = 32;

/// The resolution of deadlines; see `fingerprint.rs`.
const GRAIN: u64 = 1_000_000;

/// A world after all inboxes were drained.
#[derive(Debug)]
pub(super) struct End {
    /// The judgement of the whole history.
    pub(super) judgement: Judgement,
    /// The values of growing numbers.
    base: Base,
    /// The clients, which know everything by now.
    clients: Vec<Client>,
}

/// A tiny world.
#[derive(Clone, Debug)]
pub(super) struct Tiny {
    node: Node,
    judge: Judge,
    pub(super) clients: Vec<Client>,
    pub(super) now: Time,
    tickets: u64,
    /// Calls whose order among different clients a judge may compare, the first first: waits that
    /// continue, and blocks.
    order: Vec<(u8, TinyCall)>,
    /// The values of growing numbers, as far as any client knows.
    highest: Base,
    /// The number of faults so far.
    pub(super) faults: u8,
    /// Outcomes of calls that nobody has taken yet.
    answers: Vec<(Ticket, Outcome)>,
}

impl Tiny {
    /// A world without registered clients.
    pub(super) fn new(plan: &Plan, users: u8) -> Self {
        let mut tiny = Self {
            node: Node::start(plan.server.clone(), plan.seed),
            judge: Judge::new(plan),
            clients: (0..users).map(Client::new).collect(),
            now: Time(GRAIN),
            tickets: 0,
            order: Vec::new(),
            highest: Base::default(),
            faults: 0,
            answers: Vec::new(),
        };
        tiny.node.collect_posted();
        // The clock starts at a value that truncates no span.
        tiny.show(&ServerRecord::Excused);
        tiny.settle();
        tiny
    }

    /// Whether a violation is known.
    pub(super) fn violated(&self) -> bool {
        self.judge.violated()
    }

    /// The key of the state: all that the future depends on. `end` is this world after draining.
    pub(super) fn key(&self, end: &End) -> u64 {
        let base = &end.base;
        let retrying = self.clients.iter().filter(|one| one.unanswered.is_some());
        let retrying: Vec<u64> = retrying.filter_map(|one| Some(one.user?.0)).collect();
        let hub = self.node.hub();
        let mut state = fingerprint(hub, base, &retrying);
        let now = hub.now().0 / GRAIN;
        for (at, kind, whose) in hub.deadlines() {
            let left = (at.0 / GRAIN).saturating_sub(now);
            let whose = match kind {
                TimerKind::Lease => base.room_behind(whose),
                TimerKind::Presence | TimerKind::Patience => whose,
            };
            state = fingerprint_shown(state, format_args!("{left} {kind:?} {whose}"));
        }
        for client in &self.clients {
            state = client.fingerprint(state, base);
            let user = client.user.unwrap_or_default();
            let unread = hub.unread(user, Seq(client.cursor));
            let unread = unread.map(|unread| unread.min(2));
            state = fingerprint_shown(state, format_args!("{unread:?}"));
        }
        for client in &end.clients {
            state = client.fingerprint(state, base);
        }
        fingerprint_shown(state, format_args!("{:?}", self.order))
    }

    /// Whether a deadline exists.
    pub(super) fn has_deadline(&self) -> bool {
        !self.node.hub().deadlines().is_empty()
    }

    /// Performs an action. Returns the client's answer, if it was a call with one.
    pub(super) fn apply(&mut self, action: Action) -> Option<Outcome> {
        self.now += STEP;
        self.faults += u8::from(action.is_fault());
        let mut outcome = None;
        match action {
            Action::Call(user, ask) => outcome = self.call(user, ask),
            Action::Lost(user, ask) => self.call_unanswered(user, ask),
            Action::Retry(user) => outcome = self.retry(user),
            Action::Disconnect(user) => self.disconnect(user),
            Action::Reconnect(user) => self.reconnect(user),
            Action::Deadline => self.pass_time(),
            Action::Crash => self.crash(),
        }
        self.keep_order(action);
        outcome
    }

    fn client(&mut self, user: u8) -> &mut Client {
        &mut self.clients[usize::from(user)]
    }

    fn call(&mut self, user: u8, ask: TinyCall) -> Option<Outcome> {
        let (call, op) = self.begin(user, ask, RequestKey::None);
        let called_at = self.now;
        let response = self.request(user, None, &op)?;
        Some(self.answered(user, (call, called_at), &op, response))
    }

    fn call_unanswered(&mut self, user: u8, ask: TinyCall) {
        let (call, op) = self.begin(user, ask, RequestKey::Own);
        let called_at = self.now;
        self.request(user, Some(call), &op);
        self.client(user).unanswered = Some((call, op, called_at));
    }

    fn retry(&mut self, user: u8) -> Option<Outcome> {
        let (call, op, called_at) = self.client(user).unanswered.take()?;
        let (op, why) = (&op, Retry::Silence);
        self.record(user, ClientEvent::Retried { call, op, why });
        let response = self.request(user, Some(call), op)?;
        Some(self.answered(user, (call, called_at), op, response))
    }

    /// Starts a call.
    fn begin(&mut self, user: u8, ask: TinyCall, key: RequestKey) -> (CallId, Op) {
        let next = (usize::from(user) + 1) % self.clients.len();
        let other = self.clients[next].user;
        let client = self.client(user);
        let (op, call) = (client.op(ask, other), CallId(client.calls));
        client.calls += 1;
        let called = ClientEvent::Called {
            call,
            op: &op,
            intended: self.now,
            key,
        };
        self.record(user, called);
        (call, op)
    }

    /// Submits a request to the server, and returns its answer, if there is one.
    fn request(&mut self, user: u8, key: Option<CallId>, op: &Op) -> Option<Outcome> {
        let client = self.client(user);
        let who = client.credential();
        let key = key.map(|call| u128::from(who.secret) << 32 | u128::from(call.0));
        let ticket = self.ticket();
        let from = Address(u64::from(user));
        self.submit(user, ticket, &translate::call(who, from, key, op.clone()))
    }

    fn answered(
        &mut self,
        user: u8,
        (call, called_at): (CallId, Time),
        op: &Op,
        outcome: Outcome,
    ) -> Outcome {
        if let Ok(Response::Read(Answer::Page { page, .. })) = &outcome {
            self.deliver(user, page, DeliveryPath::Check);
        }
        self.client(user).learn(&outcome);
        let answered = ClientEvent::Answered {
            call,
            op,
            called_at,
            intended: called_at,
            outcome: &outcome,
        };
        self.record(user, answered);
        if matches!(&outcome, Err(refusal) if refusal.is(Code::UnknownHandle)) {
            self.forget(user);
        }
        outcome
    }

    /// Handles the end of a client's registration. The client does not register again.
    fn forget(&mut self, user: u8) {
        self.record(user, ClientEvent::Forgot { returns: false });
        let client = self.client(user);
        client.user = None;
        client.unanswered = None;
        client.in_room = false;
    }

    fn disconnect(&mut self, user: u8) {
        if let Some(stream) = self.client(user).stream.take() {
            self.record(user, ClientEvent::StreamClosed);
            self.host().gone(stream);
            self.node.close_stream(stream);
            self.settle();
        }
    }

    fn reconnect(&mut self, user: u8) {
        let ticket = self.ticket();
        let client = self.client(user);
        let (secret, after) = (client.credential().secret, Some(client.cursor));
        client.stream = Some(ticket);
        let ask = translate::open_stream(secret, ReadBy::Handle, after);
        if let Some(Err(_)) = self.submit(user, ticket, &ask) {
            self.client(user).stream = None;
            self.forget(user);
        }
    }

    /// Advances the clock to the next deadline, and to all others within the same second.
    fn pass_time(&mut self) {
        let Some((due, ..)) = self.node.hub().deadlines().first().copied() else {
            return;
        };
        let fine = self.now.0 % GRAIN;
        let at = self.now.max(Time(due.0 / GRAIN * GRAIN + fine));
        self.now = at;
        self.show(&ServerRecord::Excused);
        self.host().wake();
        self.settle();
    }

    /// Crashes the server, and restarts it at once from a snapshot of the committed state.
    fn crash(&mut self) {
        let (at, how) = (self.now, Outage::CrashUnsynced);
        self.judge.observe_world(at, &WorldRecord::Down { how });
        self.show(&ServerRecord::Crashed);
        let snapshot = self.node.hub().snapshot();
        let hub = Hub::restore(&snapshot).expect("a snapshot of this very state");
        let config = hub.config().clone();
        self.show(&ServerRecord::Restarted {
            config: &config,
            continuity: Continuity::Whole,
        });
        self.node = Node::resume(hub, config, Continuity::Whole);
        self.node.collect_posted();
        for user in 0..self.users() {
            if self.client(user).stream.take().is_some() {
                self.record(user, ClientEvent::StreamClosed);
            }
        }
        self.settle();
        self.judge.observe_world(at, &WorldRecord::Restarted);
    }

    fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }

    fn whose(&self, stream: Ticket) -> Option<u8> {
        let holder = |client: &&Client| client.stream == Some(stream);
        self.clients.iter().find(holder).map(|client| client.number)
    }

    /// The number of clients.
    pub(super) fn users(&self) -> u8 {
        u8::try_from(self.clients.len()).expect("a tiny world has few clients")
    }

    /// Ends a path: drains every inbox, and judges the whole history.
    pub(super) fn finish(mut self) -> End {
        self.now += STEP;
        self.judge.observe_world(self.now, &WorldRecord::Healed);
        for user in 0..self.users() {
            self.drain(user);
        }
        let sizes = self.node.sizes();
        let sizes: Vec<_> = sizes.iter().map(|s| (s.name, s.size, s.limit)).collect();
        let at = self.now;
        let sizes = WorldRecord::Sizes {
            sizes: &sizes,
            lists: Some(&translate::lists(self.node.hub(), true)),
            archived: true,
        };
        self.judge.observe_world(at, &sizes);
        self.judge.observe_world(at, &WorldRecord::Ended);
        End {
            judgement: self.judge.finish(at),
            base: self.highest,
            clients: self.clients,
        }
    }

    fn drain(&mut self, user: u8) {
        // The first answer contains all that was unread; the one after it is empty.
        for _ in 0..MOST_BATCHES {
            self.now += STEP;
            let client = self.client(user);
            let (before, is_registered) = (client.cursor, client.user.is_some());
            let outcome = is_registered.then(|| self.call(user, TinyCall::Check));
            match outcome.flatten() {
                Some(Ok(Response::Read(Answer::Page { page, .. })))
                    if page.unread > 0 || page.cursor.0 > before => {}
                Some(Ok(_)) => {
                    self.record(user, ClientEvent::Drained);
                    return;
                }
                Some(Err(_)) | None => return,
            }
        }
        panic!("an inbox has no end");
    }
}
