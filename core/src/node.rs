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

mod admission;
mod batch;
mod call;
mod gate;
mod held;
mod parked;
mod reading;
mod reads;
mod retries;
mod sizes;
mod streams;

use std::collections::VecDeque;

use crate::command::{Entry, Implied};
use crate::hub::{Effect, Hub, Size};
use crate::id::{Seq, UserId};
use crate::reject::Reject;

pub use call::{Call, Output, Read, Reader, Response, Ticket};

use chat_types::{Config, Span, Time};
use gate::Gate;
use held::Held;
use parked::{Due, Parked};
use reads::Reads;
use retries::Retries;
use streams::{Holder, Streams};

/// The version of the core, which a journal names: only its own version replays its tail.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// When a client refused for want of room should come again.
const OVERLOAD_RETRY: Span = Span::millis(250);

/// How long the first failed append keeps the next one waiting; it doubles up to `MAX_PAUSE`.
const FIRST_PAUSE: Span = Span::millis(100);
const MAX_PAUSE: Span = Span::secs(1);
/// Whether calls are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Serving,
    /// Nothing new is taken; what was taken is finished.
    Stopping,
}

/// Whether the journal has said what became of the last append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Known,
    /// Nothing is applied or proposed until it says.
    Unknown,
}

/// Who waits for the outcome of a proposed entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Call(Ticket),
    Break(Ticket),
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
            Self::Call(ticket) | Self::Break(ticket) | Self::Open { ticket, .. } => Some(ticket),
            Self::Node => None,
        }
    }
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

/// How much is going on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Commands that wait for the journal.
    pub pending: usize,
    /// Checks that wait for something to come.
    pub parked: usize,
    /// Breaks whose answers are held back, or may have to be.
    pub held: usize,
    /// Open event streams.
    pub streams: usize,
    /// Addresses whose calls or registrations are counted against a rate.
    pub addresses: usize,
}

/// A Hub behind its journal.
#[derive(Clone, Debug)]
pub struct Node {
    hub: Hub,
    phase: Phase,
    fate: Fate,
    disk: Disk,
    gate: Gate,
    proposed: VecDeque<(Origin, Entry)>,
    /// The batch in flight: its entries, and who waits for each.
    entries: Vec<Entry>,
    origins: Vec<Origin>,
    reads: Reads,
    parked: Parked,
    held: Held,
    retries: Retries,
    streams: Streams,
    outputs: VecDeque<Output>,
}

impl Node {
    /// A new server, whose journal begins with this.
    #[must_use]
    pub fn start(config: Config, seed: u64) -> Self {
        let hub = Hub::new(config.clone(), seed);
        let gate = Gate::new(&config);
        let started = Entry::Started {
            config: Box::new(config),
            version: VERSION.into(),
            seed,
        };
        Self::with_first_entry(hub, gate, started)
    }

    /// A server that comes back after downtime. `hub` is the last snapshot with the journal's tail
    /// applied.
    #[must_use]
    pub fn resume(hub: Hub, config: Config) -> Self {
        // No entry fills a bucket, so the new rates hold before the first one is committed.
        let gate = Gate::new(&config);
        let resumed = Entry::Resumed {
            config: Box::new(config),
            version: VERSION.into(),
        };
        Self::with_first_entry(hub, gate, resumed)
    }

    fn with_first_entry(hub: Hub, gate: Gate, first: Entry) -> Self {
        Self {
            hub,
            phase: Phase::Serving,
            fate: Fate::Known,
            disk: Disk::Healthy,
            gate,
            proposed: VecDeque::from([(Origin::Node, first)]),
            entries: Vec::new(),
            origins: Vec::new(),
            reads: Reads::default(),
            parked: Parked::default(),
            held: Held::default(),
            retries: Retries::default(),
            streams: Streams::default(),
            outputs: VecDeque::new(),
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
        assert!(
            restored.snapshot() == snapshot,
            "a restored snapshot is the state it was"
        );
        assert_eq!(
            restored.poll_timeout(),
            self.hub.poll_timeout(),
            "and so are its deadlines"
        );
        restored.copy_figures(&self.hub);
        self.hub = restored;
        snapshot.len()
    }

    /// The caller is gone: nobody waits for this answer. A stream that the call was to open is
    /// closed again.
    pub fn cancel(&mut self, ticket: Ticket) {
        self.parked.cancel(ticket);
        self.held.cancel(ticket);
        self.streams.cancel_opening(ticket);
    }

    /// The stream's connection is gone.
    pub fn close_stream(&mut self, stream: Ticket) {
        if let Some((user, Holder::Owner)) = self.streams.close(stream) {
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

    /// Behind which event the stream goes on: right after it opened, the place where it begins.
    #[must_use]
    pub fn stream_cursor(&self, stream: Ticket) -> Option<Seq> {
        self.streams.cursor(stream).map(|(_, cursor)| cursor)
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
                self.reads.forget(user);
                self.gate.forget(user);
                if let Some(waiting) = self.parked.take(user) {
                    self.reply(waiting.ticket, Err(Reject::UnknownHandle));
                }
                for ticket in self.held.forget(user) {
                    self.reply(ticket, Err(Reject::UnknownHandle));
                }
                for stream in self.streams.forget(user) {
                    self.outputs.push_back(Output::StreamClosed(stream));
                }
            }
        }
    }

    /// Begins to stop: nothing new is taken, what was taken is finished.
    pub fn shut_down(&mut self) {
        self.phase = Phase::Stopping;
    }

    /// Whether all that was taken is finished. Then waiting checks and answers held back are given
    /// at once, and streams end.
    pub fn finish(&mut self, now: Time) -> bool {
        if self.phase != Phase::Stopping || !self.entries.is_empty() || !self.proposed.is_empty() {
            return false;
        }
        for (user, waiting) in self.parked.take_all() {
            self.answer_check(now, user, &waiting);
        }
        self.answer_all_held(now);
        for stream in self.streams.close_all() {
            self.outputs.push_back(Output::StreamClosed(stream));
        }
        true
    }

    /// The next instant at which the node wants to be called, by `handle_timeout` and then
    /// `poll_batch`. None while nothing is due but what a commit will bring.
    pub fn poll_timeout(&mut self) -> Option<Time> {
        let parked = self.parked.next_due().into_iter();
        let parked = parked.chain(self.held.next_due()).min();
        if self.fate == Fate::Unknown || !self.entries.is_empty() {
            return parked;
        }
        let retry_at = match self.disk {
            Disk::Healthy => Time(0),
            Disk::Failing { retry_at, .. } => retry_at,
        };
        let waiting = !self.proposed.is_empty();
        let hub = self.hub.poll_timeout();
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

    /// Deals with parked checks whose time is up, or of which the Hub should be told again, and
    /// with answers held back until now.
    pub fn handle_timeout(&mut self, now: Time) {
        self.answer_held(now);
        let beat = self.beat();
        while let Some(due) = self.parked.pop_due(now, beat) {
            match due {
                Due::Over(user, waiting) => self.answer_check(now, user, &waiting),
                // One that waits for the journal will do.
                Due::Beat(user, _) if self.is_seen_proposed(user) => {}
                Due::Beat(user, waiting) => self.imply(user, Implied::Seen { waiting }),
            }
        }
    }

    /// Whether an entry that says that the participant was heard of waits to be put in a batch.
    fn is_seen_proposed(&self, user: UserId) -> bool {
        let mut entries = self.proposed.iter().map(|(_, entry)| entry);
        entries.any(|entry| {
            matches!(entry, Entry::Implied { user: of, implied: Implied::Seen { .. } } if *of == user)
        })
    }

    /// The next thing the shell should do.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// How much is going on, for who watches the server. Costs nothing, however much it is.
    #[must_use]
    pub fn load(&self) -> Load {
        Load {
            pending: self.proposed.len() + self.entries.len(),
            parked: self.parked.len(),
            held: self.held.len(),
            streams: self.streams.len(),
            addresses: self.gate.addresses(),
        }
    }

    /// How large every collection is, against its limit. Walks all of the state.
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
                name: "joined",
                size: self.retries.len() as u64,
                limit: u64::from(config.max_pending),
            },
            Size {
                name: "parked",
                size: self.parked.len() as u64,
                limit: users,
            },
            Size {
                name: "held",
                size: self.held.len() as u64,
                limit: u64::from(config.max_held),
            },
            Size {
                name: "open_streams",
                size: self.streams.len() as u64,
                // As many again by reader ids.
                limit: 2 * streams,
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
