//! The calls and streams between the server and its clients, and what is due on each.

use std::collections::VecDeque;
use std::sync::Arc;

use chat_types::Time;
use rustc_hash::FxHashMap;
use sim_model::protocol::{Command, Notice, Outcome, Refusal, Reply, Response, Room, User};
use sim_model::server::{Call, Caller, Reader, RequestKey, SecretHash, Ticket};

use crate::difference::{CallSummary, Due};

/// When the answer to a call that waits is due.
pub(super) const NEVER: Time = Time::MAX;

/// One unanswered call.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) ask: Arc<Call>,
    /// The address of the caller.
    pub(super) from: u64,
    /// The participant, if the handle is registered.
    pub(super) user: Option<User>,
    pub(super) stage: Stage,
    /// Whether its answer waits for the shared log, or has waited.
    pub(super) has_waited: bool,
    /// Whether its client has disconnected.
    pub(super) is_gone: bool,
    /// The end of the inbox when the call was admitted, which a cursor is not beyond (2.7); of the
    /// opening of a stream without a cursor, before it was applied.
    pub(super) end: u64,
}

/// The stage of a call.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    /// The call waits for the journal.
    Proposed,
    /// The call waits for the outcome of an earlier attempt.
    Joined(Ticket),
    /// The call is admitted when the shared log has a later record.
    Unadmitted,
    /// The answer is due at this instant: [`NEVER`] while it waits for the shared log.
    Owed(Outcome, Time),
    /// The answer is delayed until this instant, and then shows the current figures.
    Held(Outcome, Time),
    /// The call reads the inbox after `start`. The answer is due at `due_at`: [`NEVER`] while it
    /// waits.
    Reading { start: u64, due_at: Time },
}

/// The first stage of a call, or its refusal before the journal.
pub(super) type Staged = Result<Stage, Refusal>;

impl Pending {
    /// The call, for differences.
    pub(super) fn summary(&self) -> CallSummary {
        CallSummary {
            ask: Arc::clone(&self.ask),
            caller: self.user,
        }
    }
}

/// The key that identifies all attempts of one call.
pub(super) fn name_of(ask: &Call) -> Option<(SecretHash, RequestKey)> {
    let (caller, key, _) = command_of(ask)?;
    Some((caller.handle(), key?))
}

/// The command of a call, with its caller and its request key.
pub(super) const fn command_of(ask: &Call) -> Option<(Caller, Option<RequestKey>, &Command)> {
    match ask {
        Call::Command {
            caller,
            key,
            command,
        } => Some((*caller, *key, command)),
        Call::Read { .. } | Call::OpenStream { .. } | Call::Operate { .. } => None,
    }
}

pub(super) const fn is_break(ask: &Call) -> bool {
    matches!(command_of(ask), Some((_, _, Command::TakeBreak { .. })))
}

/// Whether the call opens a stream by reader id, which needs no entry of the journal.
pub(super) const fn is_peeking(ask: &Call) -> bool {
    matches!(
        ask,
        Call::OpenStream {
            reader: Reader::ReaderId(_),
            ..
        }
    )
}

/// The instant before which the answer does not leave. // 10.3
pub(super) fn held_until(outcome: &Outcome) -> Time {
    if let Ok(Response::Done(Reply::OnBreak { answer_at, .. })) = outcome {
        return *answer_at;
    }
    Time(0)
}

/// One open stream.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub(super) user: User,
    pub(super) cursor: u64,
    /// Who opened it.
    pub(super) reader: Reader,
    pub(super) is_writable: bool,
    pub(super) is_behind: bool,
    /// Whether its participant is forgotten, so that the stream must end.
    pub(super) is_over: bool,
}

/// A notice for a stream of a participant, and the instant since when it is due.
type Noticed = (Time, Ticket, User, (Room, Notice));

/// All calls and streams since the server's start.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlight {
    calls: FxHashMap<Ticket, Pending>,
    pub(super) streams: FxHashMap<Ticket, Stream>,
    streams_of: FxHashMap<User, Vec<Ticket>>,
    /// What must be served before time advances; some of it may be served already.
    due: VecDeque<(Time, Ticket)>,
    /// Delayed answers, in the order of the instants at which they leave.
    held: VecDeque<(Time, Ticket)>,
    /// Notices for open streams, in their order.
    noticed: VecDeque<Noticed>,
    /// The number of calls that joined others.
    pub(super) joined: usize,
    /// Whether the server has finished its accepted calls, and stops.
    pub(super) is_finished: bool,
}

impl InFlight {
    pub(super) fn call(&self, ticket: Ticket) -> Option<&Pending> {
        self.calls.get(&ticket)
    }

    /// These calls, in the order in which they came.
    fn calls_that(&self, are_meant: impl Fn(&Pending) -> bool) -> Vec<Ticket> {
        let meant = self.calls.iter().filter(|(_, call)| are_meant(call));
        let mut tickets: Vec<Ticket> = meant.map(|(ticket, _)| *ticket).collect();
        tickets.sort_unstable();
        tickets
    }

    /// The breaks whose answers are delayed, or may be.
    pub(super) fn held(&self) -> impl Iterator<Item = &Pending> {
        let may_be_held = |call: &&Pending| {
            let is_held = !matches!(call.stage, Stage::Owed(..) | Stage::Unadmitted);
            is_held && is_break(&call.ask)
        };
        let calls = self.calls.values();
        calls.filter(may_be_held)
    }

    pub(super) fn ask(&mut self, ticket: Ticket, call: Pending) {
        match call.stage {
            Stage::Proposed | Stage::Unadmitted => {}
            Stage::Owed(_, NEVER) | Stage::Reading { due_at: NEVER, .. } => {}
            Stage::Joined(_) => self.joined += 1,
            Stage::Owed(_, at) | Stage::Reading { due_at: at, .. } => {
                self.due.push_back((at, ticket));
            }
            Stage::Held(_, until) => self.hold(until, ticket),
        }
        self.calls.insert(ticket, call);
    }

    fn hold(&mut self, until: Time, ticket: Ticket) {
        let place = self.held.partition_point(|one| *one < (until, ticket));
        self.held.insert(place, (until, ticket));
    }

    fn hold_no_more(&mut self, until: Time, ticket: Ticket) {
        if let Ok(place) = self.held.binary_search(&(until, ticket)) {
            self.held.remove(place);
        }
    }

    /// The check that waited, or the answer that waited for the log, leaves now.
    pub(super) fn end_wait(&mut self, at: Time, ticket: Ticket) {
        if let Some(call) = self.calls.get_mut(&ticket)
            && let Stage::Owed(_, due_at) | Stage::Reading { due_at, .. } = &mut call.stage
        {
            *due_at = at;
            self.due.push_back((at, ticket));
        }
    }

    /// The participant's streams have new events to carry.
    pub(super) fn handle_growth(&mut self, at: Time, user: User) {
        for ticket in self.streams_of.get(&user).into_iter().flatten() {
            if let Some(stream) = self.streams.get_mut(ticket)
                && !std::mem::replace(&mut stream.is_behind, true)
            {
                self.due.push_back((at, *ticket));
            }
        }
    }

    /// The participant's streams have a notice to carry: those that are open, and those whose
    /// opening is decided.
    pub(super) fn notice(&mut self, at: Time, user: User, (room, notice): (Room, &Notice)) {
        let opens = |ticket: &Ticket| {
            self.calls.get(ticket).is_some_and(|call| {
                call.user == Some(user)
                    && matches!(*call.ask, Call::OpenStream { .. })
                    && matches!(call.stage, Stage::Owed(Ok(_), _))
            })
        };
        let opening = self.due.iter().map(|(_, ticket)| *ticket).filter(opens);
        let open = self.streams_of.get(&user).into_iter().flatten().copied();
        for ticket in open.chain(opening) {
            let noticed = (room, notice.clone());
            self.noticed.push_back((at, ticket, user, noticed));
        }
    }

    /// The next notice of a stream, and the stream's participant.
    pub(super) fn take_notice(&mut self, ticket: Ticket) -> (User, Option<(Room, Notice)>) {
        let reader = self.streams.get(&ticket).map(|stream| stream.user);
        let next = self.noticed.iter().position(|(_, of, ..)| *of == ticket);
        let next = next.and_then(|place| self.noticed.remove(place));
        (reader.unwrap_or_default(), next.map(|(.., notice)| notice))
    }

    /// The opening of a stream is about to be applied, and the inbox ends at `end`.
    pub(super) fn begins_behind(&mut self, ticket: Ticket, end: u64) {
        if let Some(call) = self.calls.get_mut(&ticket)
            && let Call::OpenStream { after: None, .. } = *call.ask
        {
            call.end = end;
        }
    }

    /// The call that waited for the journal is decided, together with the calls that joined it.
    /// Returns the participant whose stream must be closed again because its client has
    /// disconnected.
    pub(super) fn decided(
        &mut self,
        ticket: Ticket,
        caller: Option<User>,
        outcome: Outcome,
        at: Time,
    ) -> Option<User> {
        if self.joined > 0 {
            let joined = self
                .calls_that(|call| matches!(call.stage, Stage::Joined(first) if first == ticket));
            self.joined -= joined.len();
            for ticket in joined {
                self.settle(ticket, caller, outcome.clone(), at);
            }
        }
        self.settle(ticket, caller, outcome, at)
    }

    fn settle(
        &mut self,
        ticket: Ticket,
        caller: Option<User>,
        outcome: Outcome,
        at: Time,
    ) -> Option<User> {
        let call = self.calls.get_mut(&ticket)?;
        call.user = caller.or(call.user);
        let until = held_until(&outcome);
        let is_held = until > at;
        let opens = matches!(*call.ask, Call::OpenStream { .. }) && outcome.is_ok();
        if call.is_gone && (opens || is_held) {
            let user = call.user.filter(|_| opens);
            self.calls.remove(&ticket);
            return user;
        }
        if is_held {
            call.stage = Stage::Held(outcome, until);
            self.hold(until, ticket);
        } else {
            call.stage = Stage::Owed(outcome, at);
            self.due.push_back((at, ticket));
        }
        None
    }

    /// An answer leaves.
    pub(super) fn take(&mut self, ticket: Ticket) -> Option<Pending> {
        let call = self.calls.remove(&ticket)?;
        match call.stage {
            Stage::Held(_, until) => self.hold_no_more(until, ticket),
            Stage::Joined(_) => self.joined -= 1,
            Stage::Owed(..) | Stage::Reading { .. } => self.served(ticket),
            Stage::Proposed | Stage::Unadmitted => {}
        }
        Some(call)
    }

    /// Removes what was due on a call or a stream. Most is served in the order in which it became
    /// due.
    fn served(&mut self, ticket: Ticket) {
        self.due.pop_front_if(|(_, first)| *first == ticket);
    }

    /// The server looked at its timers: delayed answers up to now leave.
    pub(super) fn release(&mut self, at: Time) {
        while let Some(due) = self.held.pop_front_if(|(until, _)| *until <= at) {
            self.due.push_back(due);
        }
    }

    /// The server stops: delayed answers leave now, and streams end.
    pub(super) fn finish(&mut self, at: Time) {
        self.is_finished = true;
        for (until, ticket) in std::mem::take(&mut self.held) {
            if let Some(call) = self.calls.get_mut(&ticket)
                && let Stage::Held(_, leaves_at) = &mut call.stage
            {
                *leaves_at = until.min(at);
                self.due.push_back((at, ticket));
            }
        }
    }

    /// What a server that stops must not leave undone.
    pub(super) fn unfinished(&self) -> Option<Due> {
        if !self.is_finished {
            return None;
        }
        let first = self.streams.iter().min_by_key(|(ticket, _)| **ticket);
        let stream = first.map(|(_, stream)| Due::StreamEnd(stream.user));
        let mut calls = self.calls_that(|_| true).into_iter();
        stream.or_else(|| calls.find_map(|ticket| self.still_owed(ticket)))
    }

    /// The number of the participant's streams that are open by reader id, or are being opened.
    pub(super) fn peeking(&self, user: User) -> usize {
        let is_its = |call: &&Pending| {
            call.user == Some(user)
                && is_peeking(&call.ask)
                && matches!(call.stage, Stage::Owed(Ok(_), _))
        };
        let open = self.streams_of.get(&user).into_iter().flatten();
        let open = open.filter_map(|ticket| self.streams.get(ticket));
        open.filter(|stream| matches!(stream.reader, Reader::ReaderId(_)))
            .count()
            + self.calls.values().filter(is_its).count()
    }

    pub(super) fn open(&mut self, at: Time, ticket: Ticket, stream: Stream) {
        self.due.push_back((at, ticket));
        let streams = self.streams_of.entry(stream.user).or_default();
        streams.push(ticket);
        self.streams.insert(ticket, stream);
    }

    /// A page left on a stream.
    pub(super) fn moved(&mut self, ticket: Ticket, cursor: u64, end: u64) {
        if let Some(stream) = self.streams.get_mut(&ticket) {
            stream.cursor = cursor;
            stream.is_behind = cursor < end;
            if !stream.is_behind {
                self.served(ticket);
            }
        }
    }

    pub(super) fn writable(&mut self, at: Time, ticket: Ticket, writable: bool) {
        if let Some(stream) = self.streams.get_mut(&ticket) {
            stream.is_writable = writable;
            self.due.push_back((at, ticket));
        }
    }

    /// Ends a stream; returns its participant and who opened it.
    pub(super) fn end(&mut self, ticket: Ticket) -> Option<(User, Reader)> {
        let Stream { user, reader, .. } = self.streams.remove(&ticket)?;
        self.noticed.retain(|(_, of, ..)| *of != ticket);
        let streams = self.streams_of.entry(user).or_default();
        streams.retain(|stream| *stream != ticket);
        Some((user, reader))
    }

    /// The client of a call has disconnected. A waiting check and a delayed answer are dropped; a
    /// call that waits for the journal is still decided.
    pub(super) fn gone(&mut self, ticket: Ticket) {
        if let Some(call) = self.calls.get_mut(&ticket) {
            call.is_gone = true;
            let is_dropped = matches!(
                call.stage,
                Stage::Unadmitted | Stage::Owed(_, NEVER) | Stage::Reading { .. } | Stage::Held(..)
            );
            if is_dropped {
                self.take(ticket);
            }
        }
    }

    /// The participant is forgotten: its waiting check and its delayed answers are refused now, and
    /// its streams end.
    pub(super) fn forgotten(&mut self, at: Time, user: User, refusal: &Outcome) {
        for ticket in self.streams_of.get(&user).into_iter().flatten() {
            if let Some(stream) = self.streams.get_mut(ticket) {
                stream.is_over = true;
                self.due.push_back((at, *ticket));
            }
        }
        let waiting = self.calls_that(|call| {
            let is_waiting = matches!(
                call.stage,
                Stage::Reading { due_at: NEVER, .. } | Stage::Held(..)
            );
            is_waiting && call.user == Some(user)
        });
        for ticket in waiting {
            if let Some(call) = self.calls.get_mut(&ticket) {
                let refused = Stage::Owed(refusal.clone(), at);
                if let Stage::Held(_, until) = std::mem::replace(&mut call.stage, refused) {
                    self.hold_no_more(until, ticket);
                }
                self.due.push_back((at, ticket));
            }
        }
    }

    /// What was due before `at` and has not happened, and since when it was due.
    pub(super) fn overdue(&mut self, at: Time, excused_at: Time) -> Option<(Time, Due)> {
        let is_past = |since: Time| since.max(excused_at) < at;
        if let Some(&(until, ticket)) = self.held.front()
            && is_past(until)
        {
            return Some((until, self.still_owed(ticket)?));
        }
        let notices = self.noticed.iter();
        if let Some((since, _, user, _)) = notices.min_by_key(|(since, of, ..)| (*since, *of))
            && is_past(*since)
        {
            return Some((*since, Due::Notice(*user)));
        }
        if self.due.is_empty() {
            return None;
        }
        let mut past = self.due.iter().filter(|(since, _)| is_past(*since));
        let late = past.find_map(|(since, ticket)| Some((*since, self.still_owed(*ticket)?)));
        self.due.retain(|(since, _)| !is_past(*since));
        late
    }

    fn still_owed(&self, ticket: Ticket) -> Option<Due> {
        if let Some(stream) = self.streams.get(&ticket) {
            let (user, after) = (stream.user, stream.cursor);
            if stream.is_over {
                return Some(Due::StreamEnd(user));
            }
            return (stream.is_behind && stream.is_writable).then_some(Due::Push { user, after });
        }
        let call = self.calls.get(&ticket)?;
        match call.stage {
            Stage::Reading { start: after, .. } => {
                let user = call.user.unwrap_or_default();
                Some(Due::Check { user, after })
            }
            Stage::Owed(..) | Stage::Held(..) => Some(Due::Answer(call.summary())),
            Stage::Proposed | Stage::Unadmitted | Stage::Joined(_) => None,
        }
    }
}
