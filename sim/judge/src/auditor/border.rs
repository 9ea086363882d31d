//! The calls and streams between the server and its clients, and what is due on each.

use std::collections::{BTreeMap, BTreeSet};

use chat_types::Time;
use sim_model::protocol::{Op, Outcome, User};
use sim_model::server::{Ask, Handle, Ticket};

use crate::difference::Due;

/// One call that is not answered.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) ask: Ask,
    /// The participant, if the handle is registered.
    pub(super) user: Option<User>,
    pub(super) asked_at: Time,
    pub(super) stage: Stage,
    /// Whether its client is gone.
    is_gone: bool,
}

/// How far a call is.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    /// It waits for the journal.
    Proposed,
    /// It would be refused, but for an earlier attempt that waits for the journal.
    Joining,
    /// Its answer is due from this instant on.
    Owed(Outcome, Time),
    /// Its answer is held back until this instant, and then shows the figures of the moment.
    Held(Outcome, Time),
    /// It reads the inbox from behind `start`, and is to be answered from `due_from` on; none while
    /// it waits.
    Reading { start: u64, due_from: Option<Time> },
}

impl Call {
    pub(super) const fn new(ask: Ask, user: Option<User>, asked_at: Time, stage: Stage) -> Self {
        Self {
            ask,
            user,
            asked_at,
            stage,
            is_gone: false,
        }
    }

    pub(super) const fn op(&self) -> Option<&Op> {
        match &self.ask {
            Ask::Call { op, .. } => Some(op),
            Ask::OpenStream { .. } | Ask::Operate(_) => None,
        }
    }

    fn name(&self) -> Option<(Handle, u128)> {
        name_of(&self.ask)
    }

    fn verb(&self) -> &'static str {
        match &self.ask {
            Ask::Call { op, .. } => op.verb(),
            Ask::OpenStream { .. } => "open stream",
            Ask::Operate(_) => "an operator's act",
        }
    }
}

/// By what the attempts of one call are known.
const fn name_of(ask: &Ask) -> Option<(Handle, u128)> {
    match ask {
        Ask::Call {
            caller,
            key: Some(key),
            ..
        } => Some((caller.handle(), *key)),
        Ask::Call { .. } | Ask::OpenStream { .. } | Ask::Operate(_) => None,
    }
}

/// One open stream.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub(super) user: User,
    pub(super) cursor: u64,
    is_writable: bool,
    is_behind: bool,
}

impl Stream {
    pub(super) const fn new(user: User, cursor: u64) -> Self {
        Self {
            user,
            cursor,
            is_writable: true,
            is_behind: false,
        }
    }
}

/// All calls and streams of one server's life.
#[derive(Clone, Debug, Default)]
pub(super) struct Border {
    calls: BTreeMap<Ticket, Call>,
    streams: BTreeMap<Ticket, Stream>,
    streams_of: BTreeMap<User, Vec<Ticket>>,
    /// The waiting check of each participant.
    waiting: BTreeMap<User, Ticket>,
    /// What is to be served before time moves on.
    due: Vec<(Time, Ticket)>,
    /// Waiting checks and held answers, by the instant at which they end.
    ends: BTreeSet<(Time, Ticket)>,
    /// Calls that wait for the journal.
    proposed: BTreeSet<(Time, Ticket)>,
    /// What was decided under each request key since the last batch was put together.
    batch: Vec<((Handle, u128), Outcome)>,
}

impl Border {
    /// The server went down.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// How many calls wait for the journal.
    pub(super) fn proposed(&self) -> u64 {
        self.proposed.len() as u64
    }

    /// How many answers to breaks are held back, or may have to be.
    pub(super) fn held(&self) -> usize {
        let is_break = |call: &&Call| matches!(call.op(), Some(Op::Break { .. }));
        self.calls.values().filter(is_break).count()
    }

    /// Whether an earlier attempt of the call waits for the journal.
    pub(super) fn waits_already(&self, ask: &Ask) -> bool {
        let name = name_of(ask);
        let is_same = |call: &Call| name.is_some() && call.name() == name;
        let waiting = self
            .proposed
            .iter()
            .filter_map(|(_, ticket)| self.calls.get(ticket));
        waiting.into_iter().any(is_same)
    }

    pub(super) fn ask(&mut self, ticket: Ticket, call: Call) {
        match call.stage {
            Stage::Proposed | Stage::Joining => {
                self.proposed.insert((call.asked_at, ticket));
            }
            Stage::Owed(_, from) => self.due.push((from, ticket)),
            Stage::Held(_, until) => {
                self.ends.insert((until, ticket));
            }
            Stage::Reading { due_from, .. } => {
                if let Some(from) = due_from {
                    self.due.push((from, ticket));
                }
            }
        }
        self.calls.insert(ticket, call);
    }

    /// A check of the participant waits until then.
    pub(super) fn park(&mut self, user: User, ticket: Ticket, until: Time) {
        self.waiting.insert(user, ticket);
        self.ends.insert((until, ticket));
    }

    /// The participant's waiting check is to be answered now. Whether there is one.
    pub(super) fn end_wait(&mut self, at: Time, user: User) -> bool {
        let Some(ticket) = self.waiting.remove(&user) else {
            return false;
        };
        if let Some(Call {
            stage: Stage::Reading { due_from, .. },
            ..
        }) = self.calls.get_mut(&ticket)
        {
            *due_from = Some(at);
            self.due.push((at, ticket));
        }
        true
    }

    /// The participant's inbox grew.
    pub(super) fn grew(&mut self, at: Time, user: User) {
        self.end_wait(at, user);
        for ticket in self.streams_of.get(&user).into_iter().flatten() {
            if let Some(stream) = self.streams.get_mut(ticket) {
                stream.is_behind = true;
                self.due.push((at, *ticket));
            }
        }
    }

    /// A batch is put together.
    pub(super) fn formed(&mut self) {
        self.batch.clear();
    }

    /// What was decided under a request key in the batch that was just committed.
    pub(super) fn of_batch(&self, call: (Handle, u128)) -> Option<&Outcome> {
        let decided = self.batch.iter().rev().find(|decided| decided.0 == call);
        decided.map(|decided| &decided.1)
    }

    /// An entry with a request key is decided: an answer that is held back is so for all attempts.
    pub(super) fn repeated(
        &mut self,
        name: (Handle, u128),
        outcome: &Outcome,
        (at, answer_at): (Time, Time),
    ) {
        self.batch.push((name, outcome.clone()));
        if answer_at <= at {
            return;
        }
        let proposed: Vec<(Time, Ticket)> = self.proposed.iter().copied().collect();
        for (asked_at, ticket) in proposed {
            if let Some(call) = self.calls.get_mut(&ticket)
                && call.name() == Some(name)
            {
                call.stage = Stage::Held(outcome.clone(), answer_at);
                self.proposed.remove(&(asked_at, ticket));
                self.ends.insert((answer_at, ticket));
            }
        }
    }

    /// A call is decided. The participant whose stream is to be closed again, since its client is
    /// gone.
    pub(super) fn decided(
        &mut self,
        ticket: Ticket,
        caller: Option<User>,
        outcome: Outcome,
        (at, answer_at): (Time, Time),
    ) -> Option<User> {
        let call = self.calls.get_mut(&ticket)?;
        self.proposed.remove(&(call.asked_at, ticket));
        call.user = caller.or(call.user);
        if call.is_gone {
            let opens = matches!(call.ask, Ask::OpenStream { .. }) && outcome.is_ok();
            if opens || answer_at > at {
                let user = call.user.filter(|_| opens);
                self.calls.remove(&ticket);
                return user;
            }
        }
        if answer_at > at {
            call.stage = Stage::Held(outcome, answer_at);
            self.ends.insert((answer_at, ticket));
        } else {
            call.stage = Stage::Owed(outcome, at);
            self.due.push((at, ticket));
        }
        None
    }

    /// An answer leaves.
    pub(super) fn take(&mut self, ticket: Ticket) -> Option<Call> {
        let call = self.calls.remove(&ticket)?;
        match call.stage {
            Stage::Proposed | Stage::Joining => {
                self.proposed.remove(&(call.asked_at, ticket));
            }
            Stage::Held(_, until) => {
                self.ends.remove(&(until, ticket));
            }
            Stage::Reading { .. } => {
                let user = call.user.unwrap_or_default();
                if self.waiting.get(&user) == Some(&ticket) {
                    self.waiting.remove(&user);
                }
                self.ends.retain(|entry| entry.1 != ticket);
            }
            Stage::Owed(..) => {}
        }
        Some(call)
    }

    /// The wait of every check, and the holding of every answer, that ends by now.
    pub(super) fn end_by(&mut self, at: Time) {
        while let Some(&(until, ticket)) = self.ends.first()
            && until <= at
        {
            self.ends.pop_first();
            let Some(call) = self.calls.get_mut(&ticket) else {
                continue;
            };
            if let Stage::Reading { due_from, .. } = &mut call.stage
                && due_from.is_none()
            {
                *due_from = Some(until);
            }
            self.due.push((until, ticket));
        }
    }

    pub(super) fn open(&mut self, at: Time, ticket: Ticket, mut stream: Stream, end: u64) {
        stream.is_behind = stream.cursor < end;
        self.due.push((at, ticket));
        self.streams_of.entry(stream.user).or_default().push(ticket);
        self.streams.insert(ticket, stream);
    }

    pub(super) fn stream(&self, ticket: Ticket) -> Option<&Stream> {
        self.streams.get(&ticket)
    }

    /// A page left on a stream.
    pub(super) fn moved(&mut self, ticket: Ticket, cursor: u64, end: u64) {
        if let Some(stream) = self.streams.get_mut(&ticket) {
            stream.cursor = cursor;
            stream.is_behind = cursor < end;
        }
    }

    pub(super) fn writable(&mut self, at: Time, ticket: Ticket, writable: bool) {
        if let Some(stream) = self.streams.get_mut(&ticket) {
            stream.is_writable = writable;
            self.due.push((at, ticket));
        }
    }

    /// A stream is over: whose it was.
    pub(super) fn end(&mut self, ticket: Ticket) -> Option<User> {
        let user = self.streams.remove(&ticket)?.user;
        if let Some(streams) = self.streams_of.get_mut(&user) {
            streams.retain(|stream| *stream != ticket);
            if streams.is_empty() {
                self.streams_of.remove(&user);
            }
        }
        Some(user)
    }

    /// The client of a call is gone. A check that waits, and an answer held back, go with it; what
    /// waits for the journal is decided all the same. The participant whose check waits no more.
    pub(super) fn gone(&mut self, ticket: Ticket) -> Option<User> {
        let call = self.calls.get_mut(&ticket)?;
        call.is_gone = true;
        let reads = matches!(call.stage, Stage::Reading { .. });
        if reads || matches!(call.stage, Stage::Held(..)) {
            return self.take(ticket)?.user.filter(|_| reads);
        }
        None
    }

    /// The participant is forgotten: its waiting check and its held answers are refused now.
    pub(super) fn forgotten(&mut self, at: Time, user: User, refusal: &Outcome) {
        self.waiting.remove(&user);
        for (ticket, call) in &mut self.calls {
            let is_waiting = matches!(
                call.stage,
                Stage::Reading { due_from: None, .. } | Stage::Held(..)
            );
            if call.user == Some(user) && is_waiting {
                call.stage = Stage::Owed(refusal.clone(), at);
                self.due.push((at, *ticket));
            }
        }
    }

    /// What was due before `at`, and has not happened; since when.
    pub(super) fn overdue(&mut self, at: Time, jumped_at: Time) -> Option<(Time, Due)> {
        self.end_by(Time(at.0.saturating_sub(1)));
        let is_past = |since: Time| since.max(jumped_at) < at;
        let mut past = self.due.iter().filter(|(since, _)| is_past(*since));
        let late = past.find_map(|(since, ticket)| Some((*since, self.still_owed(*ticket)?)));
        self.due.retain(|(since, _)| !is_past(*since));
        late
    }

    fn still_owed(&self, ticket: Ticket) -> Option<Due> {
        if let Some(stream) = self.streams.get(&ticket) {
            return (stream.is_behind && stream.is_writable).then_some(Due::Push(stream.user));
        }
        let call = self.calls.get(&ticket)?;
        match call.stage {
            Stage::Reading { .. } => Some(Due::Check(call.user.unwrap_or_default())),
            Stage::Owed(..) | Stage::Held(..) => Some(Due::Answer(call.verb())),
            Stage::Proposed | Stage::Joining => None,
        }
    }

    /// The call that has waited longest for the journal.
    pub(super) fn oldest_call(&self) -> Option<(Time, Due)> {
        let (since, ticket) = self.proposed.first()?;
        Some((*since, Due::Commit(self.calls.get(ticket)?.verb())))
    }
}
