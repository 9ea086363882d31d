//! A test bench for one user: passes it inputs, and keeps a transcript of its records and requests.

use std::sync::Arc;

use chat_types::{Epoch, RoomSeq, Seq, Span, Time};
use sim_model::draw::{Quantiles, Ratio, Shape};
use sim_model::history::{ClientEvent, DeliveryPath, Observer, RunEvent};
use sim_model::plan::{
    Argument, Client, ClientProfile, Frequency, Habits, Persona, ScriptUser, Step, Text, Verb,
};
use sim_model::protocol::{
    Agent, Answer, Body, CallId, Command, EndReason, EnterQueue, Event, Gap, InboxEvent, Op,
    Outcome, Page, Read, ReadBy, Refusal, Reply, Response, Room, User, Who,
};
use sim_user::{Action, Script, VirtualUser};

pub(crate) const CLIENT: Client = Client {
    timeout: Span::millis(500),
    backoff: 2,
    max: Span::secs(2),
    attempts: 4,
};

/// The ratio 1/1.
pub(crate) fn always() -> Ratio {
    Ratio::new(1, 1).unwrap()
}

/// The script of a user that performs single steps.
pub(crate) fn by_hand(stream: Option<ReadBy>) -> Script {
    Script::Manual(Box::new(ScriptUser {
        name: "Ann".to_owned(),
        stream,
        opens: Vec::new(),
        keeps_handle: false,
    }))
}

pub(crate) fn flow(steps: Vec<Step>) -> Persona {
    Persona {
        profile: ClientProfile::default(),
        name: "somebody".into(),
        frequency: Frequency::Weight(1),
        habits: Habits::default(),
        stream: true,
        flow: steps.into(),
    }
}

pub(crate) fn enter() -> Step {
    Step::Call(Verb::EnterQueue {
        name: None,
        user_id: None,
        interests: Vec::new().into(),
    })
}

pub(crate) fn login(room: &str) -> Step {
    Step::Call(Verb::Login {
        name: None,
        room: room.into(),
        rooms: 1,
    })
}

pub(crate) fn send(text: &str) -> Step {
    Step::Call(Verb::Send(Text::Words(text.into())))
}

pub(crate) fn check(wait_ms: u64) -> Step {
    Step::Call(Verb::Check {
        by: ReadBy::Handle,
        wait: Span::millis(wait_ms),
    })
}

pub(crate) fn wait_for(event: &'static str, within_ms: u64) -> Step {
    Step::Await {
        event,
        within: Span::millis(within_ms),
    }
}

pub(crate) fn think(ms: u64) -> Step {
    Step::Think(Arc::new(Quantiles::new(Shape::Fixed(ms * 1_000))))
}

pub(crate) fn repeat(count: u32, steps: Vec<Step>) -> Step {
    Step::Loop {
        count,
        steps: steps.into(),
    }
}

/// The tested user's participant.
pub(crate) const ME: User = User(7);

pub(crate) fn waiting() -> Outcome {
    Ok(Response::Done(Reply::Waiting {
        estimated_wait: None,
        user: ME,
        position: 1,
    }))
}

pub(crate) fn matched(room: u64) -> Outcome {
    Ok(Response::Done(Reply::Matched {
        user: ME,
        room: Room(room),
        partner: Who::unnamed(User(8)),
    }))
}

/// The answer to a claim in a room, whose stick another participant holds unless the place is 0.
pub(crate) fn placed(room: u64, place: u32, epoch: u64) -> Outcome {
    Ok(Response::Done(Reply::Stick {
        holder: User(2),
        lease_until: Time(0),
        room: Room(room),
        place,
        epoch: Epoch(epoch),
    }))
}

pub(crate) fn logged_in(room: u64) -> Outcome {
    Ok(Response::Done(Reply::LoggedIn {
        user: ME,
        room: Room(room),
    }))
}

pub(crate) fn sent() -> Outcome {
    Ok(Response::Done(Reply::Sent {
        room: Room(1),
        room_seq: RoomSeq(1),
        at: Time(0),
        turns_left: None,
    }))
}

pub(crate) fn read(cursor: u64) -> Outcome {
    page(cursor, 0)
}

/// A page that ends at this place, with so many events behind it.
pub(crate) fn page(cursor: u64, unread: u64) -> Outcome {
    let page = Page {
        cursor: Seq(cursor),
        unread,
        ..Page::default()
    };
    let notices = Vec::new();
    Ok(Response::Read(Answer::Page { page, notices }))
}

pub(crate) fn refused(code: &'static str) -> Outcome {
    Err(Refusal::named(code))
}

pub(crate) fn event(room: u64, body: Body) -> Event {
    Event {
        room: Room(room),
        room_seq: RoomSeq(1),
        at: Time(0),
        body,
    }
}

pub(crate) fn found(room: u64) -> Event {
    event(room, Body::Found([ME, User(8)].map(Who::unnamed)))
}

pub(crate) fn message() -> Event {
    let body = Body::Message {
        sender: Who::unnamed(User(8)),
        text: "hello".into(),
        epoch: None,
        to: [].into(),
    };
    event(1, body)
}

pub(crate) fn ended(room: u64) -> Event {
    event(room, Body::PartnerDisconnected(EndReason::Left))
}

pub(crate) fn granted(user: User, epoch: u64) -> Event {
    let body = Body::StickGranted {
        user: Who::unnamed(user),
        epoch: Epoch(epoch),
        lease: Span::secs(4),
    };
    event(1, body)
}

pub(crate) fn gap(from: u64, to: u64) -> Gap {
    Gap {
        from: Seq(from),
        to: Seq(to),
        rooms: Vec::new(),
        rooms_omitted: false,
    }
}

/// A user, a clock, and a transcript. Lines begin with the milliseconds. Lines with `>` are
/// requests to the world, the others are records.
pub(crate) struct Harness {
    pub(crate) user: VirtualUser,
    pub(crate) now: Time,
    pub(crate) log: Log,
}

impl Harness {
    pub(crate) fn new(persona: Persona) -> Self {
        Self::with_seed(Script::Flow(Arc::new(persona)), 1)
    }

    pub(crate) fn started(persona: Persona) -> Self {
        let mut harness = Self::new(persona);
        harness.start();
        harness
    }

    /// A user that performs single steps.
    pub(crate) fn by_hand() -> Self {
        Self::with_seed(by_hand(Some(ReadBy::Handle)), 1)
    }

    pub(crate) fn with_seed(script: Script, seed: u64) -> Self {
        let user = VirtualUser::new(Agent(3), script, CLIENT, seed, "Ann".into());
        Self {
            user,
            now: Time(0),
            log: Log::default(),
        }
    }

    /// A user whose first call was answered.
    pub(crate) fn registered(persona: Persona, outcome: Outcome) -> Self {
        let mut harness = Self::started(persona);
        harness.answer(0, 0, &outcome);
        let mut lines = harness.take().into_iter();
        if lines.any(|line| line.contains("> open 1")) {
            harness.opened(1);
        }
        harness.take();
        harness
    }

    /// The lines since the last call.
    pub(crate) fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log.lines)
    }

    /// The lines since the last call that contain `part`.
    pub(crate) fn take_with(&mut self, part: &str) -> Vec<String> {
        let mut lines = self.take();
        lines.retain(|line| line.contains(part));
        lines
    }

    /// Checks the lines since the last call.
    #[track_caller]
    pub(crate) fn shows<const LINES: usize>(&mut self, lines: [&str; LINES]) {
        assert_eq!(self.take(), lines);
    }

    /// Checks the lines since the last call that contain `part`.
    #[track_caller]
    pub(crate) fn shows_of<const LINES: usize>(&mut self, part: &str, lines: [&str; LINES]) {
        assert_eq!(self.take_with(part), lines);
    }

    /// Advances the clock to this millisecond.
    pub(crate) fn until(&mut self, ms: u64) {
        let end = Time(ms * 1_000);
        while let Some(due) = self.user.poll_timeout().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            self.user.handle_timeout(self.now, &mut self.log);
            self.settle();
            let next = self.user.poll_timeout();
            assert!(next.is_none_or(|next| next > self.now), "time stands still");
        }
        self.now = end;
    }

    /// Passes an input to the user, and records its requests.
    pub(crate) fn input<T>(
        &mut self,
        input: impl FnOnce(&mut VirtualUser, Time, &mut Log) -> T,
    ) -> T {
        let result = input(&mut self.user, self.now, &mut self.log);
        self.settle();
        result
    }

    pub(crate) fn start(&mut self) {
        self.input(|user, now, log| user.start(now, now, log));
    }

    pub(crate) fn answer(&mut self, call: u32, attempt: u32, outcome: &Outcome) {
        self.input(|user, now, log| {
            user.handle_answer(now, CallId(call), attempt, outcome, log);
        });
    }

    pub(crate) fn streamed<'a>(&mut self, seq: u64, event: impl Into<InboxEvent<'a>>) {
        self.received(seq, event, DeliveryPath::Stream);
    }

    pub(crate) fn checked<'a>(&mut self, seq: u64, event: impl Into<InboxEvent<'a>>) {
        self.received(seq, event, DeliveryPath::Check);
    }

    pub(crate) fn received<'a>(
        &mut self,
        seq: u64,
        event: impl Into<InboxEvent<'a>>,
        path: DeliveryPath,
    ) {
        let event = event.into();
        self.input(|user, now, log| user.handle_event(now, seq, now, event, path, log));
    }

    pub(crate) fn opened(&mut self, stream: u32) {
        self.input(|user, now, log| user.handle_stream_opened(now, stream, log));
    }

    pub(crate) fn closed(&mut self, stream: u32, code: Option<&'static str>) {
        let refusal = code.map(Refusal::named);
        self.input(|user, now, log| user.handle_stream_closed(now, stream, refusal, log));
    }

    pub(crate) fn knock(&mut self) {
        self.input(|user, now, log| user.handle_knock(now, log));
    }

    pub(crate) fn drain(&mut self) {
        self.input(|user, now, log| user.begin_drain(now, log));
    }

    pub(crate) fn manual(&mut self, step: &Step) -> Option<CallId> {
        self.manual_without(step, &[])
    }

    /// Makes a call by hand without these arguments.
    pub(crate) fn manual_without(&mut self, step: &Step, leave_out: &[Argument]) -> Option<CallId> {
        self.input(|user, now, log| user.manual(now, step, leave_out, None, log))
    }

    fn settle(&mut self) {
        while let Some(action) = self.user.poll_action() {
            self.log.act(self.now, action);
        }
    }
}

/// The records and requests, as text and as values.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) lines: Vec<String>,
    pub(crate) actions: Vec<Action>,
    /// The calls that are neither answered nor abandoned.
    pub(crate) open: Vec<CallId>,
    keys: Vec<u128>,
    secrets: Vec<u64>,
}

impl Log {
    fn act(&mut self, now: Time, action: Action) {
        let text = match &action {
            Action::Request {
                call,
                attempt,
                who,
                key,
                op,
            } => {
                let key = key.map(|key| format!(" key {}", number(&mut self.keys, key)));
                let key = key.unwrap_or_default();
                let new = if who.is_new { "new " } else { "" };
                let who = number(&mut self.secrets, who.secret);
                format!(
                    "request {}.{attempt} {} as {new}{who}{key}",
                    call.0,
                    show(op)
                )
            }
            Action::Cancel { call, attempt } => format!("cancel {}.{attempt}", call.0),
            Action::OpenStream {
                stream,
                secret,
                after,
                ..
            } => {
                let who = number(&mut self.secrets, *secret);
                format!("open {stream} after {after} as {who}")
            }
            Action::CloseStream { stream } => format!("close {stream}"),
            Action::DropAll { .. } => "drop all".into(),
        };
        self.lines.push(format!("{} > {text}", now.0 / 1_000));
        self.actions.push(action);
    }
}

/// Secrets and keys are shown as numbers in the order of their first appearance.
fn number<T: PartialEq>(seen: &mut Vec<T>, value: T) -> usize {
    seen.iter().position(|v| *v == value).unwrap_or_else(|| {
        seen.push(value);
        seen.len() - 1
    })
}

fn show(op: &Op) -> String {
    match op {
        Op::Read {
            read: Read::Check { after, wait, .. },
            by,
        } => match (after, by) {
            (_, ReadBy::ReaderId) => "check by reader".into(),
            (Some(after), _) => format!("check after {after} wait {wait}"),
            (None, _) => format!("check bare wait {wait}"),
        },
        Op::Command(Command::EnterQueue(EnterQueue {
            display_name: Some(display_name),
            ..
        })) => format!("enter_queue {display_name}"),
        Op::Command(Command::Login { username, room }) => format!("login {username} {room}"),
        other => other.verb().to_owned(),
    }
}

impl Observer for Log {
    fn observe(&mut self, event: RunEvent<'_>) {
        let RunEvent::Client(record) = event else {
            return;
        };
        let text = match record.what {
            ClientEvent::Called {
                call, op, intended, ..
            } => {
                self.open.push(call);
                let late = match record.at.since(intended) {
                    Span::ZERO => String::new(),
                    late => format!(" late by {late}"),
                };
                format!("called {} {}{late}", call.0, op.verb())
            }
            ClientEvent::Retried { call, .. } => format!("retried {}", call.0),
            ClientEvent::Answered {
                call, op, outcome, ..
            } => {
                self.close(call);
                let result = outcome.as_ref().map_or_else(|no| no.code, |_| "ok");
                format!("answered {} {} {result}", call.0, op.verb())
            }
            ClientEvent::AnsweredAgain { call, op, .. } => {
                assert!(!self.open.contains(&call), "answered before it was");
                format!("answered again {} {}", call.0, op.verb())
            }
            ClientEvent::Abandoned { call, op } => {
                self.close(call);
                format!("abandoned {} {}", call.0, op.verb())
            }
            ClientEvent::Received {
                seq, event, first, ..
            } => {
                let again = if first { "" } else { " again" };
                format!("received {seq} {}{again}", event.kind())
            }
            ClientEvent::StreamOpened => "stream opened".into(),
            ClientEvent::StreamClosed => "stream closed".into(),
            ClientEvent::Forgot { .. } => format!("forgot {}", record.user.unwrap().0),
            ClientEvent::Vanished => "vanished".into(),
            ClientEvent::Finished { cut_short: false } => "finished".into(),
            ClientEvent::Finished { cut_short: true } => "finished, cut short".into(),
            ClientEvent::Drained => "drained".into(),
            ClientEvent::Stuck { waiting_for } => format!("stuck {waiting_for}"),
        };
        self.lines.push(format!("{} {text}", record.at.0 / 1_000));
    }
}

impl Log {
    /// Checks that an answered or abandoned call was made and not closed before.
    fn close(&mut self, call: CallId) {
        let index = self.open.iter().position(|open| *open == call);
        self.open
            .remove(index.expect("answered or abandoned twice, or never made"));
    }
}
