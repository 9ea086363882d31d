//! Log first: a Node wraps a Hub so that nothing leaves before its cause is durable.
//!
//! Sans-IO, like the Hub: the same code serves in the server and in the simulator. The shell
//!
//! 1. gives each call to [`Node::submit`] (which refuses it, answers it, or proposes it);
//! 2. takes what is proposed with [`Node::poll_batch`], appends it to its journal, and says
//!    [`Node::committed`], [`Node::append_failed`] or [`Node::append_unknown`];
//! 3. drains [`Node::poll_output`] after each of these, and calls [`Node::handle_timeout`] when
//!    [`Node::poll_timeout`] is due.
//!
//! One batch is in flight at a time; the next one forms meanwhile.

mod gate;
mod parked;
mod reads;
mod streams;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::command::{Caller, Command, Entry, Implied, Operate};
use crate::config::Config;
use crate::hub::{Answer, Effect, Hub, Size};
use crate::id::{Address, Position, RequestKey, RoomId, RoomSeq, SecretHash, Seq, UserId};
use crate::reject::Reject;
use crate::reply::Reply;
use crate::room::Notice;
use crate::time::{Span, Time};

use gate::Gate;
use parked::{Due, Parked, Waiting};
use reads::Reads;
use streams::Streams;

/// The version of the core, which a journal names: only its own version replays its tail.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// When a client refused for want of room should come again.
const OVERLOAD_RETRY: Span = Span::millis(250);

/// How long the first failed append keeps the next one waiting; it doubles up to `MAX_PAUSE`.
const FIRST_PAUSE: Span = Span::millis(100);
const MAX_PAUSE: Span = Span::secs(5);

/// The shell's name for one call, or for the stream that one call opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// A call as it comes to the door.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Something is asked for that changes the state.
    Command {
        /// Who asks.
        caller: Caller,
        /// The request key.
        key: Option<RequestKey>,
        /// What is asked.
        command: Command,
    },
    /// An operator acts. The shell has checked who it is.
    Operate {
        /// Which operator, by name.
        operator: Arc<str>,
        /// What it does.
        act: Operate,
    },
    /// Something is read.
    Read {
        /// Who reads.
        reader: Reader,
        /// What.
        read: Read,
    },
    /// An event stream is opened, from behind `after`; or from the end of the inbox.
    OpenStream {
        /// Who reads.
        reader: Reader,
        /// The last event that the client has.
        after: Option<Seq>,
    },
}

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A participant, by the hash of its handle.
    Handle(SecretHash),
    /// Somebody who knows the participant's reader id, by its hash.
    ReaderId(SecretHash),
}

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// The inbox.
    Check {
        /// The last event that the caller has: what came before is acknowledged. Without it, the
        /// answer goes on from the end of the last answer whose caller was still there.
        after: Option<Seq>,
        /// How long to wait for something to come, at most `max_wait`.
        wait: Span,
        /// At most so many events.
        max: usize,
    },
    /// A room's members.
    Members {
        /// Which room.
        room: Option<RoomId>,
    },
    /// A room's past messages.
    History {
        /// Which room.
        room: Option<RoomId>,
        /// Only those before this place.
        before: Option<RoomSeq>,
        /// At most so many.
        limit: usize,
    },
}

/// What the shell should do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Answer the call.
    Reply {
        /// Which call.
        ticket: Ticket,
        /// With what.
        outcome: Result<Response, Reject>,
    },
    /// The stream has events: read them with [`Node::read_stream`] as fast as its reader takes
    /// them, until none are left.
    StreamReady(Ticket),
    /// The stream is over: its participant is no longer registered, or the server stops.
    StreamClosed(Ticket),
    /// Something was said in passing, for this stream's reader.
    Notice {
        /// Which stream.
        stream: Ticket,
        /// In which room.
        room: RoomId,
        /// What.
        notice: Notice,
    },
}

/// The answer to an accepted call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// To a command.
    Done(Reply),
    /// To a read.
    Read(Answer),
    /// The stream is open; its ticket is the call's.
    Streaming,
}

/// Whether calls are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Serving,
    /// An append's fate is unknown: nothing is applied or proposed until the journal says.
    Halted,
    /// Nothing new is taken; what was taken is finished.
    Stopping,
}

/// Who waits for the outcome of a proposed entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Call(Ticket),
    Open {
        ticket: Ticket,
        user: UserId,
        after: Option<Seq>,
    },
    Node,
}

/// Whether the journal can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disk {
    Healthy,
    /// The last append failed: the next one is tried at `retry_at`.
    Failing {
        retry_at: Time,
        pause: Span,
    },
}

/// A Hub behind its journal.
#[derive(Debug)]
pub struct Node {
    hub: Hub,
    phase: Phase,
    disk: Disk,
    gate: Gate,
    proposed: VecDeque<(Origin, Entry)>,
    /// The batch in flight: its entries, and who waits for each.
    entries: Vec<Entry>,
    origins: Vec<Origin>,
    reads: Reads,
    parked: Parked,
    streams: Streams,
    outputs: VecDeque<Output>,
    /// A `Tick` is proposed or in flight.
    ticking: bool,
}

impl Node {
    /// A new server, whose journal begins with this.
    #[must_use]
    pub fn start(config: Config, seed: u64) -> Self {
        let hub = Hub::new(config.clone(), seed);
        let started = Entry::Started {
            config: Box::new(config),
            version: VERSION.into(),
            seed,
        };
        Self::with_first_entry(hub, started)
    }

    /// A server that comes back after downtime. `hub` is the last snapshot with the journal's tail
    /// applied.
    #[must_use]
    pub fn resume(hub: Hub, config: Config) -> Self {
        let resumed = Entry::Resumed {
            config: Box::new(config),
            version: VERSION.into(),
        };
        Self::with_first_entry(hub, resumed)
    }

    fn with_first_entry(hub: Hub, first: Entry) -> Self {
        let gate = Gate::new(hub.config());
        Self {
            hub,
            phase: Phase::Serving,
            disk: Disk::Healthy,
            gate,
            proposed: VecDeque::from([(Origin::Node, first)]),
            entries: Vec::new(),
            origins: Vec::new(),
            reads: Reads::default(),
            parked: Parked::default(),
            streams: Streams::default(),
            outputs: VecDeque::new(),
            ticking: false,
        }
    }

    /// The state, to be read. It holds what is committed, and nothing else.
    #[must_use]
    pub const fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Puts the restored snapshot of the Hub in its place: the simulator does so now and then, to
    /// show that nothing is missing from a snapshot. Returns the snapshot's length in bytes.
    ///
    /// # Panics
    /// When what is restored is not what was there: a bug.
    pub fn swap_for_restored(&mut self) -> usize {
        let snapshot = self.hub.snapshot();
        let mut restored = Hub::restore(&snapshot).expect("a snapshot of this very state");
        assert!(restored.snapshot() == snapshot, "a restored snapshot is the state it was");
        assert_eq!(restored.poll_timeout(), self.hub.poll_timeout(), "and so are its deadlines");
        restored.copy_figures(&self.hub);
        self.hub = restored;
        snapshot.len()
    }

    /// A call comes to the door. Its answer comes as an output, now or later.
    pub fn submit(&mut self, now: Time, ticket: Ticket, from: Address, call: Call) {
        if let Err(reject) = self.admit(now, ticket, from, call) {
            self.reply(ticket, Err(reject));
        }
    }

    fn admit(
        &mut self,
        now: Time,
        ticket: Ticket,
        from: Address,
        call: Call,
    ) -> Result<(), Reject> {
        if self.phase == Phase::Stopping {
            return Err(Reject::ShuttingDown);
        }
        if self.hub.is_banned(from) && !matches!(call, Call::Operate { .. }) {
            return Err(Reject::Blocked);
        }
        let user = match &call {
            // Nobody floods the server with operators' calls; and they must pass when others do.
            Call::Operate { operator, act } => {
                let entry = Entry::Operate { operator: Arc::clone(operator), act: act.clone() };
                return self.propose(now, Origin::Call(ticket), entry);
            }
            Call::Command {
                caller: Caller::Handle(handle),
                ..
            }
            | Call::Read {
                reader: Reader::Handle(handle),
                ..
            }
            | Call::OpenStream {
                reader: Reader::Handle(handle),
                ..
            } => Some(
                self.hub
                    .user_by_handle(handle)
                    .ok_or(Reject::UnknownHandle)?,
            ),
            Call::Read {
                reader: Reader::ReaderId(id),
                ..
            }
            | Call::OpenStream {
                reader: Reader::ReaderId(id),
                ..
            } => Some(self.hub.user_by_reader(id).ok_or(Reject::UnknownHandle)?),
            Call::Command {
                caller: Caller::New { handle, .. },
                ..
            } => self.hub.user_by_handle(handle),
        };
        self.gate.admit(now, from, user)?;
        match (call, user) {
            (Call::Read { read, .. }, Some(user)) => self.read(now, ticket, user, read),
            (Call::OpenStream { after, .. }, Some(user)) => {
                self.propose_stream(now, ticket, user, after)
            }
            (
                Call::Command {
                    caller,
                    key,
                    command,
                },
                _,
            ) => {
                let entry = Entry::Call {
                    caller,
                    key,
                    command,
                };
                self.propose(now, Origin::Call(ticket), entry)
            }
            (Call::Read { .. } | Call::OpenStream { .. } | Call::Operate { .. }, _) => {
                Err(Reject::UnknownHandle)
            }
        }
    }

    fn propose(&mut self, now: Time, origin: Origin, entry: Entry) -> Result<(), Reject> {
        match self.disk {
            Disk::Failing { retry_at, .. } if now < retry_at => {
                return Err(Reject::StorageUnavailable {
                    retry_after: retry_at.since(now),
                });
            }
            Disk::Failing { .. } | Disk::Healthy => {}
        }
        if self.phase == Phase::Halted {
            return Err(Reject::StorageUnavailable {
                retry_after: MAX_PAUSE,
            });
        }
        if self.proposed.len() >= self.hub.config().max_pending as usize {
            return Err(Reject::Overloaded {
                retry_after: OVERLOAD_RETRY,
            });
        }
        self.proposed.push_back((origin, entry));
        Ok(())
    }

    fn propose_stream(
        &mut self,
        now: Time,
        ticket: Ticket,
        user: UserId,
        after: Option<Seq>,
    ) -> Result<(), Reject> {
        let (end, _) = self.hub.inbox_marks(user).ok_or(Reject::UnknownHandle)?;
        if after.is_some_and(|after| after > end) {
            return Err(Reject::InvalidCursor { end: end.0 });
        }
        let handle = self.hub.handle_of(user).ok_or(Reject::UnknownHandle)?;
        let entry = Entry::Call {
            caller: Caller::Handle(handle),
            key: None,
            command: Command::OpenStream,
        };
        self.propose(
            now,
            Origin::Open {
                ticket,
                user,
                after,
            },
            entry,
        )?;
        if let Some(after) = after {
            self.reads.acknowledge(now, user, after);
        }
        self.streams.opening(ticket);
        Ok(())
    }

    fn read(&mut self, now: Time, ticket: Ticket, user: UserId, read: Read) -> Result<(), Reject> {
        if self.hub.wants_seen(user, now) {
            self.reads.see(now, user);
        }
        let answer = match read {
            Read::Check { after, wait, max } => {
                return self.check(now, ticket, user, (after, wait, max));
            }
            Read::Members { room } => self.hub.read_members(user, room)?,
            Read::History {
                room,
                before,
                limit,
            } => self.hub.read_history(user, room, before, limit)?,
        };
        self.reply(ticket, Ok(Response::Read(answer)));
        Ok(())
    }

    /// Answers a check, or parks it until something comes or its time is up.
    fn check(
        &mut self,
        now: Time,
        ticket: Ticket,
        user: UserId,
        (after, wait, max): (Option<Seq>, Span, usize),
    ) -> Result<(), Reject> {
        let (end, delivered) = self.hub.inbox_marks(user).ok_or(Reject::UnknownHandle)?;
        let start = match after {
            Some(after) if after > end => return Err(Reject::InvalidCursor { end: end.0 }),
            Some(after) => {
                self.reads.acknowledge(now, user, after);
                after
            }
            None => self.reads.delivered(user, delivered),
        };
        if let Some(first) = self.parked.take(user) {
            self.answer_check(now, user, &first);
        }
        let wait = wait.min(self.hub.config().max_wait);
        let waiting = Waiting {
            ticket,
            start,
            max: max.max(1),
            since: now,
            until: now + wait,
        };
        if wait == Span::ZERO || start < end || self.phase == Phase::Stopping {
            self.answer_check(now, user, &waiting);
        } else {
            self.parked.park(user, waiting, self.beat());
        }
        Ok(())
    }

    /// How often the node says that a parked check is still there.
    fn beat(&self) -> Span {
        parked::WAIT_NOTICE.min(Span(self.hub.config().idle_timeout.0 / 4))
    }

    fn answer_check(&mut self, now: Time, user: UserId, waiting: &Waiting) {
        // What was acknowledged meanwhile is not read again.
        let outcome = self
            .hub
            .read_inbox(user, waiting.start, waiting.max)
            .map(|page| {
                self.reads.deliver(now, user, page.cursor);
                let notices = self.hub.read_notices(user, now);
                Response::Read(Answer::Page { page, notices })
            });
        self.reply(waiting.ticket, outcome);
    }

    /// The caller is gone: nobody waits for this answer. A stream that the call was to open is
    /// closed again.
    pub fn cancel(&mut self, ticket: Ticket) {
        self.parked.cancel(ticket);
        self.streams.cancel_opening(ticket);
    }

    /// The stream's connection is gone.
    pub fn close_stream(&mut self, stream: Ticket) {
        if let Some(user) = self.streams.close(stream) {
            self.imply(user, Implied::CloseStream);
        }
    }

    /// Proposes what nobody can be refused. There are at most as many of these as streams.
    fn imply(&mut self, user: UserId, implied: Implied) {
        self.proposed
            .push_back((Origin::Node, Entry::Implied { user, implied }));
    }

    /// Reads what the stream has not sent yet, at most `max` events. Its cursor moves on. None
    /// when the stream is closed.
    pub fn read_stream(&mut self, stream: Ticket, max: usize) -> Option<crate::inbox::Page> {
        let (user, cursor) = self.streams.cursor(stream)?;
        let page = self.hub.read_inbox(user, cursor, max).ok()?;
        self.streams.advance(stream, page.cursor, page.unread);
        Some(page)
    }

    /// Whose stream it is.
    #[must_use]
    pub fn stream_user(&self, stream: Ticket) -> Option<UserId> {
        self.streams.cursor(stream).map(|(user, _)| user)
    }

    /// The next batch to append, if none is in flight and there is anything to append.
    pub fn poll_batch(&mut self, now: Time) -> Option<&[Entry]> {
        if !self.entries.is_empty() || self.phase == Phase::Halted {
            return None;
        }
        if let Disk::Failing { retry_at, .. } = self.disk
            && now < retry_at
        {
            return None;
        }
        if !self.ticking && self.hub.poll_timeout().is_some_and(|due| due <= now) {
            self.ticking = true;
            self.proposed.push_back((Origin::Node, Entry::Tick));
        }
        let room = self.hub.config().max_batch as usize;
        for (origin, entry) in self.proposed.drain(..self.proposed.len().min(room)) {
            self.origins.push(origin);
            self.entries.push(entry);
        }
        // What reads imply rides along, or comes alone when it has waited long enough.
        if !self.entries.is_empty() || self.reads.is_due(now) || self.phase == Phase::Stopping {
            for (user, implied) in self.reads.take(room) {
                self.origins.push(Origin::Node);
                self.entries.push(Entry::Implied { user, implied });
            }
        }
        (!self.entries.is_empty()).then_some(&self.entries[..])
    }

    /// The journal has the batch in flight, its first entry at `first`, all of it at `at`.
    ///
    /// # Panics
    /// When the journal's positions and the Hub's differ: entries are missing or doubled.
    pub fn committed(&mut self, first: Position, at: Time) {
        assert_eq!(
            first,
            self.hub.position().next(),
            "the journal has other entries"
        );
        if self.phase == Phase::Halted {
            self.phase = Phase::Serving;
        }
        self.disk = Disk::Healthy;
        let mut entries = std::mem::take(&mut self.entries);
        let mut origins = std::mem::take(&mut self.origins);
        for (entry, origin) in entries.iter().zip(&origins) {
            if matches!(entry, Entry::Tick) {
                self.ticking = false;
            }
            let outcome = self.hub.handle(at, entry);
            match *origin {
                Origin::Call(ticket) => self.reply(ticket, outcome.map(Response::Done)),
                Origin::Open {
                    ticket,
                    user,
                    after,
                } => self.opened(ticket, user, after, outcome),
                Origin::Node => {}
            }
        }
        entries.clear();
        origins.clear();
        (self.entries, self.origins) = (entries, origins);
        // Once for the whole batch: who waits is told of all of it at once.
        while let Some(effect) = self.hub.poll_effect() {
            self.carry_out(at, effect);
        }
    }

    fn opened(
        &mut self,
        ticket: Ticket,
        user: UserId,
        after: Option<Seq>,
        outcome: Result<Reply, Reject>,
    ) {
        let wanted = self.streams.opened(ticket);
        match outcome {
            Err(reject) => self.reply(ticket, Err(reject)),
            Ok(_) if !wanted => self.imply(user, Implied::CloseStream),
            Ok(_) => {
                self.reply(ticket, Ok(Response::Streaming));
                let (end, _) = self.hub.inbox_marks(user).unwrap_or_default();
                let cursor = after.unwrap_or(end);
                self.streams.open(ticket, user, cursor);
                if cursor < end && self.streams.signal(ticket) {
                    self.outputs.push_back(Output::StreamReady(ticket));
                }
            }
        }
    }

    fn carry_out(&mut self, now: Time, effect: Effect) {
        match effect {
            Effect::InboxGrew(user) => {
                if let Some(waiting) = self.parked.take(user) {
                    self.answer_check(now, user, &waiting);
                }
                let Self {
                    streams, outputs, ..
                } = self;
                streams.signal_all(user, |stream| {
                    outputs.push_back(Output::StreamReady(stream))
                });
            }
            Effect::Noticed { room, notice } => {
                for user in self
                    .hub
                    .members_of(room)
                    .filter(|user| *user != notice.user.id)
                {
                    for stream in self.streams.of(user) {
                        let notice = notice.clone();
                        self.outputs.push_back(Output::Notice {
                            stream: *stream,
                            room,
                            notice,
                        });
                    }
                }
            }
            Effect::Forgotten(user) => {
                self.reads.forget(user);
                self.gate.forget(user);
                if let Some(waiting) = self.parked.take(user) {
                    self.reply(waiting.ticket, Err(Reject::UnknownHandle));
                }
                for stream in self.streams.forget(user) {
                    self.outputs.push_back(Output::StreamClosed(stream));
                }
            }
        }
    }

    /// The append of the batch in flight failed, and the journal has none of it: its calls are
    /// refused, and nothing is applied.
    pub fn append_failed(&mut self, now: Time) {
        if self.phase == Phase::Halted {
            self.phase = Phase::Serving;
        }
        let pause = match self.disk {
            Disk::Healthy => FIRST_PAUSE,
            Disk::Failing { pause, .. } => pause.times(2).min(MAX_PAUSE),
        };
        self.disk = Disk::Failing {
            retry_at: now + pause,
            pause,
        };
        let reject = Reject::StorageUnavailable { retry_after: pause };
        let entries = std::mem::take(&mut self.entries);
        let origins = std::mem::take(&mut self.origins);
        for (origin, entry) in origins.into_iter().zip(entries).rev() {
            match origin {
                Origin::Call(ticket) => self.reply(ticket, Err(reject)),
                Origin::Open { ticket, .. } => {
                    self.streams.opened(ticket);
                    self.reply(ticket, Err(reject));
                }
                // What nobody can be refused comes again, in its old order before the rest.
                Origin::Node => self.proposed.push_front((Origin::Node, entry)),
            }
        }
    }

    /// Nobody can say whether the journal has the batch in flight. The node stops until
    /// `committed` or `append_failed` says.
    pub fn append_unknown(&mut self) {
        self.phase = Phase::Halted;
    }

    /// Begins to stop: nothing new is taken, what was taken is finished.
    pub fn shut_down(&mut self) {
        self.phase = Phase::Stopping;
    }

    /// Whether all that was taken is finished. Then waiting checks are answered and streams end.
    pub fn finish(&mut self, now: Time) -> bool {
        if self.phase != Phase::Stopping || !self.entries.is_empty() || !self.proposed.is_empty() {
            return false;
        }
        for (user, waiting) in self.parked.take_all() {
            self.answer_check(now, user, &waiting);
        }
        for stream in self.streams.close_all() {
            self.outputs.push_back(Output::StreamClosed(stream));
        }
        true
    }

    /// The next instant at which the node wants to be called, by `handle_timeout` and then
    /// `poll_batch`. None while nothing is due but what a commit will bring.
    pub fn poll_timeout(&mut self) -> Option<Time> {
        let parked = self.parked.next_due();
        if self.phase == Phase::Halted || !self.entries.is_empty() {
            return parked;
        }
        let retry_at = match self.disk {
            Disk::Healthy => Time(0),
            Disk::Failing { retry_at, .. } => retry_at,
        };
        let waiting = !self.proposed.is_empty();
        let hub = if self.ticking {
            None
        } else {
            self.hub.poll_timeout()
        };
        let work = waiting
            .then_some(Time(0))
            .into_iter()
            .chain(hub)
            .chain(self.reads.due())
            .min();
        parked
            .into_iter()
            .chain(work.map(|at| at.max(retry_at)))
            .min()
    }

    /// Deals with parked checks whose time is up, or of which the Hub should be told again.
    pub fn handle_timeout(&mut self, now: Time) {
        let beat = self.beat();
        while let Some(due) = self.parked.pop_due(now, beat) {
            match due {
                Due::Over(user, waiting) => self.answer_check(now, user, &waiting),
                Due::Beat(user, waited) => {
                    let told = (waited >= parked::WAIT_NOTICE).then_some(waited);
                    self.imply(user, Implied::Seen { waiting: told });
                }
            }
        }
    }

    /// The next thing the shell should do.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// How large every collection is, against its limit.
    #[must_use]
    pub fn sizes(&self) -> Vec<Size> {
        let mut sizes = self.hub.sizes();
        let config = self.hub.config();
        let users = u64::from(config.max_participants);
        let streams = users * u64::from(config.max_streams);
        // Closing a stream and saying that somebody waits cannot be refused, and come on top.
        let pending = u64::from(config.max_pending) + streams + users + 2;
        sizes.extend([
            Size {
                name: "pending",
                size: self.proposed.len() as u64,
                limit: pending,
            },
            Size {
                name: "parked",
                size: self.parked.len() as u64,
                limit: users,
            },
            Size {
                name: "open_streams",
                size: self.streams.len() as u64,
                limit: streams,
            },
            Size {
                name: "addresses",
                size: self.gate.addresses() as u64,
                limit: gate::ADDRESSES,
            },
        ]);
        sizes
    }

    fn reply(&mut self, ticket: Ticket, outcome: Result<Response, Reject>) {
        self.outputs.push_back(Output::Reply { ticket, outcome });
    }
}
