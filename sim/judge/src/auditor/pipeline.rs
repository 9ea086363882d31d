//! The path of entries into the journal (docs/protocol.md, 9.5 and 13): waiting entries, those that
//! reads imply, the content of the next batch, and the time by which it must be formed.

use std::collections::VecDeque;
use std::sync::Arc;

use chat_types::{Config, Continuity, Seq, Span, Time};
use rustc_hash::FxHashMap;
use sim_model::protocol::User;
use sim_model::server::{BatchEntry, Entry, Implied, Ticket};

/// The pause after the first failed append, and the longest pause after several.
const FIRST_PAUSE: Span = Span::millis(100);
const LONGEST_PAUSE: Span = Span::secs(1);

/// Entries that wait for the journal, and the batch in flight.
#[derive(Clone, Debug, Default)]
pub(super) struct Pipeline {
    pub(super) proposed: VecDeque<(Time, BatchEntry)>,
    pub(super) in_flight: VecDeque<BatchEntry>,
    pub(super) reads: Acknowledgements,
    /// Whether the server is up.
    pub(super) is_up: bool,
    /// The pause after the last append, if it failed, and the end of the pause.
    paused: Option<(Span, Time)>,
    /// Whether the outcome of the batch in flight is unknown.
    pub(super) is_halted: bool,
    /// Whether a record that is no batch is on its way into the log.
    is_busy: bool,
    /// Whether the server accepts no new calls.
    pub(super) is_stopping: bool,
    /// Since when the clock's step is to be written. // 2.8
    pub(super) stepped_at: Option<Time>,
    /// The instant since when no batch is in flight.
    free_since: Time,
}

impl Pipeline {
    /// The server starts: with an empty journal, which begins with the configuration, or again. After the
    /// loss of a life it also goes on behind the numbers of that. // 2.7
    pub(super) fn started(
        config: &Config,
        at: Time,
        is_journal_empty: bool,
        continuity: Continuity,
    ) -> Self {
        let (config, version) = (Box::new(config.clone()), Arc::default());
        let started = is_journal_empty.then(|| Entry::Started {
            config: config.clone(),
            version: Arc::clone(&version),
            seed: 0,
        });
        let goes_on = !is_journal_empty || continuity == Continuity::Broken;
        let resumed = goes_on.then_some(Entry::Resumed {
            config,
            version,
            continuity,
        });
        let first = started.into_iter().chain(resumed);
        Self {
            proposed: first.map(|entry| (at, BatchEntry::Own(entry))).collect(),
            is_up: true,
            free_since: at,
            ..Self::default()
        }
    }

    /// The server went down.
    pub(super) fn handle_crash(&mut self) {
        *self = Self {
            free_since: self.free_since,
            ..Self::default()
        };
    }

    /// The server adds an entry of its own.
    pub(super) fn imply(&mut self, at: Time, user: User, implied: Implied) {
        let entry = BatchEntry::Own(Entry::Implied { user, implied });
        self.proposed.push_back((at, entry));
    }

    /// Adds a *seen* entry of a waiting check, unless one of its participant already waits or is in
    /// flight.
    pub(super) fn beat(&mut self, at: Time, user: User, waiting: Option<Span>) {
        let is_seen = |entry: &BatchEntry| match entry {
            BatchEntry::Own(own) => {
                matches!(own.implied(), Some((of, Implied::Seen { .. })) if of == user)
            }
            BatchEntry::Call(_) => false,
        };
        if !self.entries().any(is_seen) {
            self.imply(at, user, Implied::Seen { waiting });
        }
    }

    /// Whether the numbers of a lost life are still to be passed. // 2.7
    pub(super) fn passes_lost_numbers(&self) -> bool {
        let continuity = Continuity::Broken;
        let passes = |entry: &BatchEntry| matches!(entry, BatchEntry::Own(Entry::Resumed { continuity: found, .. }) if *found == continuity);
        self.entries().take(2).any(passes)
    }

    /// What is in flight, and then what waits for a batch.
    fn entries(&self) -> impl DoubleEndedIterator<Item = &BatchEntry> {
        let proposed = self.proposed.iter().map(|(_, entry)| entry);
        self.in_flight.iter().chain(proposed)
    }

    /// The calls that wait for a batch or are in flight, latest first.
    pub(super) fn calls(&self) -> impl Iterator<Item = Ticket> {
        let call = |entry: &BatchEntry| match entry {
            BatchEntry::Call(ticket) => Some(*ticket),
            BatchEntry::Own(_) => None,
        };
        self.entries().rev().filter_map(call)
    }

    /// The time until a call that needs the journal may retry; `None` if it can be accepted now.
    pub(super) fn closed_for(&self, at: Time) -> Option<Span> {
        let pause = self.paused.filter(|(_, until)| at < *until);
        let pause = pause.map(|(_, until)| until.since(at));
        pause.or(self.is_halted.then_some(LONGEST_PAUSE))
    }

    /// Forms a batch, whose append begins. The entries that it must hold are in flight now, except
    /// ticks. Returns the index of the first of them.
    pub(super) fn form(&mut self, at: Time, max_batch: usize) -> usize {
        let first = self.in_flight.len();
        if first > 0 || self.closed_for(at).is_some() {
            return first;
        }
        let moves_deadlines = matches!(
            self.proposed.front(),
            Some((
                _,
                BatchEntry::Own(Entry::Started { .. } | Entry::Resumed { .. } | Entry::Stepped)
            ))
        );
        if self.stepped_at.take().is_some() && !moves_deadlines {
            let stepped = BatchEntry::Own(Entry::Stepped); // 2.8
            self.proposed.push_front((at, stepped));
        }
        let calls = self.proposed.len().min(max_batch);
        let calls = self.proposed.drain(..calls).map(|(_, entry)| entry);
        self.in_flight.extend(calls);
        let give = |user, implied| {
            let entry = Entry::Implied { user, implied };
            self.in_flight.push_back(BatchEntry::Own(entry));
        };
        self.reads.take(max_batch, give);
        first
    }

    /// One entry was committed; returns the next entry of the batch in flight.
    pub(super) fn committed(&mut self, at: Time) -> Option<BatchEntry> {
        self.is_halted = false;
        self.paused = None;
        let entry = self.in_flight.pop_front();
        if self.in_flight.is_empty() {
            self.free_since = at;
        }
        entry
    }

    /// The append failed: returns the calls of the batch, and the pause. What reads imply arises
    /// again. The server's other entries are queued again, before all others.
    pub(super) fn failed(&mut self, at: Time) -> (Vec<Ticket>, Span) {
        let longer = |(pause, _): (Span, Time)| pause.times(2).min(LONGEST_PAUSE);
        let pause = self.paused.map_or(FIRST_PAUSE, longer);
        self.paused = Some((pause, at + pause));
        self.is_halted = false;
        self.free_since = at;
        let mut calls = Vec::new();
        let mut queued = Vec::new();
        for entry in self.in_flight.drain(..) {
            match entry {
                BatchEntry::Call(ticket) => calls.push(ticket),
                BatchEntry::Own(Entry::Implied {
                    user,
                    implied: Implied::Seen { waiting: None },
                }) => {
                    self.reads.record_sign_of_life(at, user);
                }
                BatchEntry::Own(Entry::Implied {
                    user,
                    implied: Implied::Read { .. },
                }) => {
                    self.reads.note(at, user, |state| state.has_read = true);
                }
                BatchEntry::Own(_) => queued.push((at, entry)),
            }
        }
        calls.reverse();
        for entry in queued.into_iter().rev() {
            self.proposed.push_front(entry);
        }
        (calls, pause)
    }

    /// A record that is no batch is on its way into the log, or has arrived.
    pub(super) const fn set_busy(&mut self, at: Time, busy: bool) {
        self.is_busy = busy;
        self.free_since = at;
    }

    /// When a batch must be formed at the latest, given the next deadline of the state, and the
    /// entry that waits longest. `None` while no batch can be formed.
    pub(super) fn due(&self, deadline: Option<Time>) -> Option<(Time, Option<&BatchEntry>)> {
        let free_since = self.free_since().filter(|_| self.is_up)?;
        let paused_until = self.paused.map_or(Time(0), |(_, until)| until);
        let first = self.proposed.front();
        let since = first.map(|(since, _)| *since);
        // A server that stops does not wait for further entries.
        let read = self.reads.due(self.is_stopping);
        let since = since.into_iter().chain(self.stepped_at);
        let since = since.chain(deadline).chain(read);
        let since = since.min()?;
        let since = since.max(free_since).max(paused_until);
        Some((since, first.map(|(_, entry)| entry)))
    }

    /// Since when an entry waits that a batch could have held, if none is in flight, and the entry.
    pub(super) fn waited(&self, deadline: Option<Time>) -> Option<(Time, Option<&BatchEntry>)> {
        let (due, first) = self.due(deadline)?;
        let is_paused = matches!(self.paused, Some((_, until)) if until >= self.free_since);
        let since = self.proposed.front().map(|(since, _)| *since);
        Some((since.filter(|_| !is_paused).unwrap_or(due), first))
    }

    /// Since when no append is in flight; none while one is.
    pub(super) fn free_since(&self) -> Option<Time> {
        let is_free = self.in_flight.is_empty() && !self.is_busy && !self.is_halted;
        is_free.then_some(self.free_since)
    }

    /// An entry that a finished server has not written.
    pub(super) fn unfinished(&self) -> Option<BatchEntry> {
        let proposed = self.proposed.front().map(|(_, entry)| entry);
        let taken = proposed.or(self.in_flight.front()).cloned();
        taken.or_else(|| {
            let (user, implied) = self.reads.first()?;
            Some(BatchEntry::Own(Entry::Implied { user, implied }))
        })
    }
}

/// Whether the entry is the expected one. The version and the seed in the server's own entries are not
/// compared.
pub(super) fn is_owed(owed: Option<&BatchEntry>, seen: &BatchEntry) -> bool {
    let (Some(BatchEntry::Own(owed)), BatchEntry::Own(seen)) = (owed, seen) else {
        return owed == Some(seen);
    };
    match (owed, seen) {
        (Entry::Started { config: owed, .. }, Entry::Started { config, .. }) => owed == config,
        (
            Entry::Resumed {
                config: owed,
                continuity: lost,
                ..
            },
            Entry::Resumed {
                config, continuity, ..
            },
        ) => (owed, lost) == (config, continuity),
        _ => owed == seen,
    }
}

/// The longest time that entries implied by reads may wait for other entries.
const DELAY: Span = Span::millis(250);

/// How far one participant has read since the server started.
#[derive(Clone, Copy, Debug, Default)]
struct ReadState {
    acknowledged: u64,
    delivered: u64,
    /// Whether an acknowledgement is not in a batch yet.
    has_read: bool,
    /// Whether a *seen* entry is not in a batch yet.
    is_seen: bool,
}

impl ReadState {
    const fn read(&self) -> Implied {
        Implied::Read {
            acknowledged: Seq(self.acknowledged),
            delivered: Seq(self.delivered),
        }
    }
}

/// How far all participants have read since the server started.
#[derive(Clone, Debug, Default)]
pub(super) struct Acknowledgements {
    states: FxHashMap<User, ReadState>,
    /// Participants with implied entries that are not in a batch, in the order in which they arose.
    waiting: VecDeque<User>,
    /// Since when the first of these waits.
    since: Option<Time>,
}

impl Acknowledgements {
    /// The position after which a check without a cursor reads; `committed` is the inbox's own.
    pub(super) fn delivered(&self, user: User, committed: u64) -> u64 {
        let state = self.states.get(&user);
        state.map_or(committed, |state| state.delivered.max(committed))
    }

    /// The participant made a sign of life.
    pub(super) fn record_sign_of_life(&mut self, at: Time, user: User) {
        self.note(at, user, |state| state.is_seen = true);
    }

    /// The participant acknowledges everything up to `after`.
    pub(super) fn acknowledge(&mut self, at: Time, user: User, after: u64) {
        self.note(at, user, |state| {
            state.has_read |= after > state.acknowledged;
            state.acknowledged = state.acknowledged.max(after);
            state.delivered = state.delivered.max(after);
        });
    }

    /// An answer with events up to `cursor` left for the participant.
    pub(super) fn deliver(&mut self, at: Time, user: User, cursor: u64) {
        self.note(at, user, |state| {
            state.has_read |= cursor > state.delivered;
            state.delivered = state.delivered.max(cursor);
        });
    }

    fn note(&mut self, at: Time, user: User, change: impl FnOnce(&mut ReadState)) {
        let state = self.states.entry(user).or_default();
        let waited = state.has_read || state.is_seen;
        change(state);
        if !waited && (state.has_read || state.is_seen) {
            self.waiting.push_back(user);
            self.since.get_or_insert(at);
        }
    }

    pub(super) fn forget(&mut self, user: User) {
        self.states.remove(&user);
        self.waiting.retain(|waiting| *waiting != user);
        self.since.take_if(|_| self.waiting.is_empty());
    }

    /// The instant by which a batch must include the implied entries.
    pub(super) fn due(&self, at_once: bool) -> Option<Time> {
        let delay = if at_once { Span::ZERO } else { DELAY };
        self.since.map(|since| since + delay)
    }

    /// The implied entry that waits longest.
    pub(super) fn first(&self) -> Option<(User, Implied)> {
        let user = *self.waiting.front()?;
        let state = self.states.get(&user)?;
        let implied = match state.is_seen {
            true => Implied::Seen { waiting: None },
            false => state.read(),
        };
        Some((user, implied))
    }

    /// Passes the implied entries of at most `participants` participants to `give`.
    pub(super) fn take(&mut self, participants: usize, mut give: impl FnMut(User, Implied)) {
        for _ in 0..participants.min(self.waiting.len()) {
            let user = self.waiting.pop_front().unwrap_or_default();
            let state = self.states.entry(user).or_default();
            if std::mem::take(&mut state.is_seen) {
                give(user, Implied::Seen { waiting: None });
            }
            if std::mem::take(&mut state.has_read) {
                give(user, state.read());
            }
        }
        self.since.take_if(|_| self.waiting.is_empty());
    }
}
