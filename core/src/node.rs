//! A Node wraps a Hub. It writes ahead: no reply or event leaves before its cause is durable.
//!
//! Sans-IO, like the Hub: the same code serves in the server and in the simulator. The shell
//!
//! 1. gives each call to [`Node::submit`] (which refuses it, answers it, or proposes it);
//! 2. takes the proposed entries with [`Node::poll_batch`], appends them to its journal, and calls
//!    [`Node::committed`], [`Node::append_failed`] or [`Node::append_unknown`];
//! 3. drains [`Node::poll_output`] after each of these, and calls [`Node::handle_timeout`] when
//!    [`Node::poll_timeout`] is due.
//!
//! One batch is in flight at a time; the next one forms meanwhile.

mod acknowledgements;
mod admission;
mod batch;
mod delayed_replies;
mod departure;
mod gate;
mod long_polls;
mod reading;
mod retries;
mod streams;

use chat_types::{
    Config, Continuity, Entry, Implied, Notice, Page, Position, Response, RoomId, Seq, Span,
    Ticket, Time, UserId,
};
use std::collections::VecDeque;

use crate::hub::{Effect, Hub, Size};
use crate::reject::{Outcome, Reject};

pub use departure::{Departure, InFlight};

use acknowledgements::Acknowledgements;
use delayed_replies::DelayedReplies;
use gate::Gate;
use long_polls::{Due, LongPolls};
use retries::Retries;
use streams::{Opener, Streams};

/// The version of the core, which a journal names: only its own version replays its tail.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The delay after which a client that was refused as `overloaded` should try again.
const OVERLOAD_RETRY: Span = Span::millis(250);

/// The pause after the first failed append. It doubles with each failure, up to `MAX_PAUSE`.
const FIRST_PAUSE: Span = Span::millis(100);
const MAX_PAUSE: Span = Span::secs(1);

/// The recipient of a proposed entry's outcome.
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

impl Origin {
    /// The call that the entry decides.
    const fn ticket(self) -> Option<Ticket> {
        match self {
            Self::Call(ticket) | Self::Open { ticket, .. } => Some(ticket),
            Self::Node => None,
        }
    }
}

/// The last append failed. The next attempt is at `retry_at`.
#[derive(Clone, Copy, Debug)]
struct Failing {
    retry_at: Time,
    pause: Span,
}

/// The number of calls and streams in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Commands that wait for the journal.
    pub pending: usize,
    /// Checks that wait for events.
    pub parked: usize,
    /// Breaks whose answers are delayed, or may be.
    pub held: usize,
    /// Open event streams.
    pub streams: usize,
    /// The number of addresses whose calls or registrations count towards a rate.
    pub addresses: usize,
}

/// What the shell should do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Answer the call.
    Reply {
        /// The call.
        ticket: Ticket,
        /// The answer or the refusal.
        outcome: Outcome<Response>,
    },
    /// The stream has events. The shell reads them with [`Node::read_stream`], as fast as
    /// the client takes them, until none are left.
    StreamReady(Ticket),
    /// The stream is closed: the registration ended, or the server stops.
    StreamClosed(Ticket),
    /// A notice for the client of this stream.
    Notice {
        /// The stream.
        stream: Ticket,
        /// The room.
        room: RoomId,
        /// The notice.
        notice: Notice,
    },
}

/// The first entry of a journal.
fn started(config: Config, seed: u64) -> Entry {
    Entry::Started {
        config: Box::new(config),
        version: VERSION.into(),
        seed,
    }
}

/// A Hub with its journal in front.
#[derive(Clone, Debug)]
pub struct Node {
    hub: Hub,
    /// Broken until the entry is applied that passes the numbers of a lost life.
    continuity: Continuity,
    /// Whether new calls are refused, and admitted ones are finished.
    is_stopping: bool,
    /// Whether the outcome of the last append is unknown. Nothing is applied or proposed until it is
    /// known.
    is_fate_unknown: bool,
    /// That the journal cannot be written, while it cannot.
    failing: Option<Failing>,
    gate: Gate,
    /// Whether the clock went forward by a step since the last batch was formed.
    has_stepped: bool,
    proposed: VecDeque<(Origin, Entry)>,
    /// The batch in flight: its entries, and the origin of each.
    entries: Vec<Entry>,
    origins: Vec<Origin>,
    acknowledgements: Acknowledgements,
    long_polls: LongPolls,
    delayed: DelayedReplies,
    retries: Retries,
    streams: Streams,
    outputs: VecDeque<Output>,
}

impl Node {
    /// A new server. The first entry of its journal is proposed.
    #[must_use]
    pub fn start(config: Config, seed: u64) -> Self {
        let hub = Hub::new(config.clone(), seed);
        let gate = Gate::new(&config);
        Self::with_first_entry(hub, gate, started(config, seed))
    }

    /// A server that restarts after downtime. `hub` is the last snapshot with the tail of the
    /// journal applied.
    #[must_use]
    pub fn resume(hub: Hub, config: Config, continuity: Continuity) -> Self {
        // No committed entry is needed for the new rates: they apply at once.
        let gate = Gate::new(&config);
        let resumed = Entry::Resumed {
            config: Box::new(config),
            version: VERSION.into(),
            continuity,
        };
        Self {
            continuity,
            ..Self::with_first_entry(hub, gate, resumed)
        }
    }

    /// A server with this journal: `hub` is its state. An empty journal is that of a new server.
    #[must_use]
    pub fn with_journal(hub: Hub, config: Config, seed: u64, continuity: Continuity) -> Self {
        match (hub.position(), continuity) {
            (Position(0), Continuity::Whole) => Self::start(config, seed),
            (Position(0), Continuity::Broken) => {
                let mut node = Self::resume(hub, config.clone(), continuity);
                let started = started(config, seed);
                node.proposed.push_front((Origin::Node, started));
                node
            }
            (Position(_), continuity) => Self::resume(hub, config, continuity),
        }
    }

    fn with_first_entry(mut hub: Hub, gate: Gate, first: Entry) -> Self {
        hub.start_counters();
        Self {
            hub,
            continuity: Continuity::Whole,
            is_stopping: false,
            is_fate_unknown: false,
            failing: None,
            gate,
            has_stepped: false,
            proposed: VecDeque::from([(Origin::Node, first)]),
            entries: Vec::new(),
            origins: Vec::new(),
            acknowledgements: Acknowledgements::default(),
            long_polls: LongPolls::default(),
            delayed: DelayedReplies::default(),
            retries: Retries::default(),
            streams: Streams::default(),
            outputs: VecDeque::new(),
        }
    }

    /// The committed state, for reading.
    #[must_use]
    pub const fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Collects the events of all rooms from now on, for [`Node::committed_and`].
    pub fn collect_posted(&mut self) {
        self.hub.collect_posted();
    }

    /// Replaces the Hub by its restored snapshot. The simulator does so now and then, to show that
    /// a snapshot is complete. Returns the length of the snapshot in bytes.
    ///
    /// # Panics
    /// If the restored state differs from the original, which is a bug.
    pub fn swap_for_restored(&mut self) -> usize {
        let snapshot = self.hub.snapshot();
        let mut restored = Hub::restore(&snapshot).expect("a snapshot of this very state");
        assert!(
            restored.snapshot() == snapshot,
            "a restored snapshot is the state it was"
        );
        assert_eq!(
            restored.poll_timeout(),
            self.hub.poll_timeout(),
            "and so are its deadlines"
        );
        assert!(restored.is_indexed_as(&self.hub), "and so is its index");
        restored.copy_counters(&self.hub);
        self.hub = restored;
        snapshot.len()
    }

    /// Cancels a call whose caller disconnected. A stream that the call was to open is closed.
    pub fn cancel(&mut self, ticket: Ticket) {
        self.long_polls.cancel(ticket);
        self.delayed.cancel(ticket);
        self.streams.cancel_opening(ticket);
    }

    /// Closes a stream whose connection ended.
    pub fn close_stream(&mut self, stream: Ticket) {
        if let Some((user, Opener::Owner)) = self.streams.close(stream) {
            self.imply(user, Implied::CloseStream);
        }
    }

    /// Proposes an entry that cannot be refused. The number of streams bounds the number of such
    /// entries.
    fn imply(&mut self, user: UserId, implied: Implied) {
        self.proposed
            .push_back((Origin::Node, Entry::Implied { user, implied }));
    }

    /// Reads the events that the stream has not sent yet, at most `max`, and advances its cursor.
    /// None if the stream is closed.
    pub fn read_stream(&mut self, stream: Ticket, max: usize) -> Option<Page> {
        let (user, cursor) = self.streams.cursor(stream)?;
        let page = self.hub.read_inbox(user, cursor, max).ok()?;
        self.streams.advance(stream, page.cursor, page.unread);
        Some(page)
    }

    /// The participant of the stream.
    #[must_use]
    pub fn stream_user(&self, stream: Ticket) -> Option<UserId> {
        self.streams.cursor(stream).map(|(user, _)| user)
    }

    /// The last event that the stream has sent. Right after it opened, the event after which it
    /// starts.
    #[must_use]
    pub fn stream_cursor(&self, stream: Ticket) -> Option<Seq> {
        self.streams.cursor(stream).map(|(_, cursor)| cursor)
    }

    fn carry_out(&mut self, now: Time, effect: Effect) {
        match effect {
            Effect::InboxGrew(user) => {
                if let Some(waiting) = self.long_polls.take(user) {
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
                for user in self.hub.hearers(room, &notice) {
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
                self.acknowledgements.forget(user);
                self.gate.forget(user);
                if let Some(waiting) = self.long_polls.take(user) {
                    self.reply(waiting.ticket, Err(Reject::UnknownHandle));
                }
                for ticket in self.delayed.forget(user) {
                    self.reply(ticket, Err(Reject::UnknownHandle));
                }
                for stream in self.streams.forget(user) {
                    self.outputs.push_back(Output::StreamClosed(stream));
                }
            }
        }
    }

    /// Starts the shutdown: new calls are refused, admitted ones are finished.
    pub fn shut_down(&mut self) {
        self.is_stopping = true;
    }

    /// Whether the shutdown has started.
    #[must_use]
    pub const fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// Whether all admitted calls are finished. If so, waiting checks and delayed answers are
    /// answered at once, and streams are closed.
    pub fn finish(&mut self, now: Time) -> bool {
        // A failed batch may have had some of what reads imply.
        let is_owed = self.failing.is_some() && self.acknowledgements.due().is_some();
        let is_written = self.entries.is_empty() && self.proposed.is_empty();
        if !self.is_stopping || !is_written || is_owed {
            return false;
        }
        for (user, waiting) in self.long_polls.take_all() {
            self.answer_check(now, user, &waiting);
        }
        self.answer_delayed(Time::MAX, now);
        for stream in self.streams.close_all() {
            self.outputs.push_back(Output::StreamClosed(stream));
        }
        true
    }

    /// The next instant at which the node needs `handle_timeout` and then `poll_batch`. None while
    /// it only waits for a commit.
    pub fn poll_timeout(&mut self) -> Option<Time> {
        let due = self.next_answer();
        if self.is_fate_unknown || !self.entries.is_empty() {
            return due;
        }
        let retry_at = self.failing.map_or(Time(0), |failing| failing.retry_at);
        let waiting = self.has_stepped || !self.proposed.is_empty();
        let read = self.acknowledgements.due();
        // A stop waits for nothing that might join the batch.
        let read = read.map(|due| if self.is_stopping { Time(0) } else { due });
        let first = if waiting { Some(Time(0)) } else { read };
        let timer = self.hub.next_timer(first.unwrap_or(Time::MAX));
        let work = timer.map(|(at, _)| at).or(first);
        due.into_iter().chain(work.map(|at| at.max(retry_at))).min()
    }

    /// The next instant at which a waiting check or a delayed answer needs `handle_timeout`, whether
    /// or not a batch can be appended.
    #[must_use]
    pub fn next_answer(&self) -> Option<Time> {
        let due = self.long_polls.next_due().into_iter();
        due.chain(self.delayed.next_due()).min()
    }

    /// Answers waiting checks whose time is over, reports long ones to the Hub, and sends delayed
    /// answers that are due.
    pub fn handle_timeout(&mut self, now: Time) {
        self.answer_delayed(now, now);
        let beat = self.beat();
        while let Some(due) = self.long_polls.pop_due(now, beat) {
            match due {
                Due::Over(user, waiting) => self.answer_check(now, user, &waiting),
                // Such an entry is proposed already.
                Due::Beat(user, _) if self.is_seen_proposed(user) => {}
                Due::Beat(user, waiting) => self.imply(user, Implied::Seen { waiting }),
            }
        }
    }

    /// Whether an entry that reports the participant as seen is proposed, or in the batch in flight,
    /// which is proposed again if it fails.
    fn is_seen_proposed(&self, user: UserId) -> bool {
        let proposed = self.proposed.iter().map(|(_, entry)| entry);
        let mut entries = proposed.chain(&self.entries);
        entries.any(|entry| {
            matches!(entry, Entry::Implied { user: of, implied: Implied::Seen { .. } } if *of == user)
        })
    }

    /// The next output for the shell.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// The load, for monitoring. The cost is constant.
    #[must_use]
    pub fn load(&self) -> Load {
        Load {
            pending: self.proposed.len() + self.entries.len(),
            parked: self.long_polls.len(),
            held: self.delayed.len(),
            streams: self.streams.len(),
            addresses: self.gate.addresses(),
        }
    }

    /// The size of every collection, with its limit. Walks the whole state.
    #[must_use]
    pub fn sizes(&self) -> Vec<Size> {
        let mut sizes = self.hub.sizes();
        let config = self.hub.config();
        let users = u64::from(config.max_participants);
        let streams = users * u64::from(config.max_streams);
        // Entries that close a stream or report a waiting participant cannot be refused, and are
        // not counted against `max_pending`.
        let pending = u64::from(config.max_pending) + streams + users + 2;
        let rows = [
            ("pending", self.proposed.len(), pending),
            ("joined", self.retries.len(), config.max_pending.into()),
            ("parked", self.long_polls.len(), users),
            ("held", self.delayed.len(), config.max_held.into()),
            // The same number again for streams opened by reader ids.
            ("open_streams", self.streams.len(), 2 * streams),
            ("addresses", self.gate.addresses(), gate::ADDRESSES),
        ];
        sizes.extend(rows.map(Size::from));
        sizes
    }

    fn reply(&mut self, ticket: Ticket, outcome: Outcome<Response>) {
        self.outputs.push_back(Output::Reply { ticket, outcome });
    }
}
