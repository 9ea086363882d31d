//! The way of entries into the journal (docs/protocol.md, 9.5 and 13): what waits, what the next
//! batch holds, and when it must be put together.

use std::collections::VecDeque;

use chat_types::{Config, Span, Time};
use sim_model::protocol::User;
use sim_model::server::{Batched, Entry, Ticket};

use super::reads::Reads;

/// The pause after the first of several appends that fail, and the longest one.
const FIRST_PAUSE: Span = Span::millis(100);
const LONGEST_PAUSE: Span = Span::secs(1);

/// Whether the journal can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Journal {
    /// The server is down.
    Down,
    /// The last append succeeded, or none was tried.
    Works,
    /// The last append failed.
    Pauses { until: Time, pause: Span },
}

/// What waits for the journal, and the batch in flight.
#[derive(Clone, Debug)]
pub(super) struct Pipeline {
    proposed: VecDeque<(Time, Batched)>,
    in_flight: VecDeque<Batched>,
    pub(super) reads: Reads,
    journal: Journal,
    /// Whether the fate of the batch in flight is unknown.
    is_halted: bool,
    /// Whether nothing new is taken.
    is_stopping: bool,
    /// Since when no batch is in flight.
    free_since: Time,
}

impl Pipeline {
    /// The journal is empty, and begins with the configuration.
    pub(super) fn new(config: &Config) -> Self {
        let started = Entry::Started {
            config: Box::new(config.clone()),
        };
        Self::with_first(Time(0), started)
    }

    /// The server is back after downtime.
    pub(super) fn resumed(config: &Config, at: Time) -> Self {
        let resumed = Entry::Resumed {
            config: Box::new(config.clone()),
        };
        Self::with_first(at, resumed)
    }

    fn with_first(at: Time, first: Entry) -> Self {
        Self {
            proposed: VecDeque::from([(at, Batched::Own(first))]),
            in_flight: VecDeque::new(),
            reads: Reads::default(),
            journal: Journal::Works,
            is_halted: false,
            is_stopping: false,
            free_since: at,
        }
    }

    /// The server went down.
    pub(super) fn crashed(&mut self) {
        self.proposed.clear();
        self.in_flight.clear();
        self.reads = Reads::default();
        self.journal = Journal::Down;
        self.is_halted = false;
        self.is_stopping = false;
    }

    pub(super) const fn is_up(&self) -> bool {
        !matches!(self.journal, Journal::Down)
    }

    /// A call waits for the journal.
    pub(super) fn propose(&mut self, at: Time, ticket: Ticket) {
        self.proposed.push_back((at, Batched::Call(ticket)));
    }

    /// The server writes an entry by itself.
    pub(super) fn imply(&mut self, at: Time, entry: Entry) {
        self.proposed.push_back((at, Batched::Own(entry)));
    }

    /// A sign of life of a check that waits, unless one of its participant waits already.
    pub(super) fn beat(&mut self, at: Time, user: User, waiting: Option<Span>) {
        let is_seen = |entry: &Batched| matches!(entry, Batched::Own(Entry::Seen { user: of, .. }) if *of == user);
        if !self.proposed.iter().any(|(_, entry)| is_seen(entry)) {
            self.imply(at, Entry::Seen { user, waiting });
        }
    }

    /// How many entries wait to be put in a batch.
    pub(super) fn waiting(&self) -> usize {
        self.proposed.len()
    }

    /// The calls that wait to be put in a batch, or for the batch in flight, the latest first.
    pub(super) fn calls(&self) -> impl Iterator<Item = Ticket> {
        let proposed = self.proposed.iter().rev().map(|(_, entry)| entry);
        let call = |entry: &Batched| match entry {
            Batched::Call(ticket) => Some(*ticket),
            Batched::Own(_) => None,
        };
        proposed.chain(self.in_flight.iter().rev()).filter_map(call)
    }

    /// When a call that needs the journal may come again; none if it can be taken now.
    pub(super) fn closed_for(&self, at: Time) -> Option<Span> {
        match self.journal {
            Journal::Pauses { until, .. } if at < until => Some(until.since(at)),
            Journal::Pauses { .. } | Journal::Works | Journal::Down => {
                self.is_halted.then_some(LONGEST_PAUSE)
            }
        }
    }

    /// A batch is put together, and its append begins: what it must hold is in flight, but for
    /// entries that only let time pass. At which place it begins there.
    pub(super) fn form(&mut self, at: Time, max_batch: usize) -> usize {
        let first = self.in_flight.len();
        if first > 0 || self.closed_for(at).is_some() {
            return first;
        }
        let calls = self.proposed.len().min(max_batch);
        let calls = self.proposed.drain(..calls).map(|(_, entry)| entry);
        self.in_flight.extend(calls);
        let give = |entry| self.in_flight.push_back(Batched::Own(entry));
        self.reads.take(max_batch, give);
        first
    }

    /// The entry at this place of what is in flight.
    pub(super) fn in_flight(&self, place: usize) -> Option<&Batched> {
        self.in_flight.get(place)
    }

    /// An entry that only lets time pass is in flight at this place.
    pub(super) fn tick(&mut self, place: usize) {
        self.in_flight.insert(place, Batched::Own(Entry::Tick));
    }

    /// One entry was committed; the entry that is next of the batch in flight.
    pub(super) fn committed(&mut self, at: Time) -> Option<Batched> {
        self.is_halted = false;
        self.journal = Journal::Works;
        let entry = self.in_flight.pop_front();
        if self.in_flight.is_empty() {
            self.free_since = at;
        }
        entry
    }

    /// Whether no entry of a batch is left to be committed.
    pub(super) fn is_batch_whole(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// The append failed: the calls of the batch, and the pause. What the server writes by itself
    /// comes again, before the rest.
    pub(super) fn failed(&mut self, at: Time) -> (Vec<Ticket>, Span) {
        let pause = match self.journal {
            Journal::Works | Journal::Down => FIRST_PAUSE,
            Journal::Pauses { pause, .. } => pause.times(2).min(LONGEST_PAUSE),
        };
        let until = at + pause;
        self.journal = Journal::Pauses { until, pause };
        self.is_halted = false;
        self.free_since = at;
        let mut calls = Vec::new();
        while let Some(entry) = self.in_flight.pop_back() {
            match entry {
                Batched::Call(ticket) => calls.push(ticket),
                Batched::Own(_) => self.proposed.push_front((at, entry)),
            }
        }
        (calls, pause)
    }

    /// The server takes nothing new from now on.
    pub(super) const fn stop(&mut self) {
        self.is_stopping = true;
    }

    pub(super) const fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// The fate of the append is unknown.
    pub(super) const fn halt(&mut self) {
        self.is_halted = true;
    }

    /// When a batch must be put together at the latest, given the next deadline of the state; and
    /// the entry that waits longest. None while none can be.
    pub(super) fn due(
        &self,
        deadline: impl FnOnce() -> Option<Time>,
    ) -> Option<(Time, Option<&Batched>)> {
        if !self.in_flight.is_empty() || self.is_halted {
            return None;
        }
        let able_since = match self.journal {
            Journal::Down => return None,
            Journal::Works => self.free_since,
            Journal::Pauses { until, .. } => until.max(self.free_since),
        };
        let first = self.proposed.front();
        let since = first.map(|(since, _)| *since);
        // A server that stops waits for no other entries.
        let read = self.reads.due(self.is_stopping);
        let since = since.into_iter().chain(deadline()).chain(read);
        let since = since.min()?;
        Some((since.max(able_since), first.map(|(_, entry)| entry)))
    }

    /// What a server that has finished left undone.
    pub(super) fn unfinished(&self) -> Option<Batched> {
        let proposed = self.proposed.front().map(|(_, entry)| entry);
        proposed.or(self.in_flight.front()).cloned()
    }

    /// The participant whose reading waits longest, and whether it was heard of by that.
    pub(super) fn oldest_reader(&self) -> Option<(User, bool)> {
        self.reads.oldest()
    }
}
