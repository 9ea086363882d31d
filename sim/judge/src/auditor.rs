//! The auditor: feeds the reference model with the committed entries, and compares the expected
//! with the server's decisions and with everything that left the server.
//!
//! The comparison is exact: an answer, a page and a push show the committed state at the instant at
//! which they leave. So the auditor needs no guesses. It stops at the first difference, so that
//! consequences of one bug are not reported as violations of other rules.

mod admission;
mod answers;
mod in_flight;
mod log_waits;
mod long_polls;
mod pipeline;

use std::collections::BTreeMap;
use std::sync::Arc;

use chat_types::{Config, Continuity, Time};
use rustc_hash::FxHashMap;
use sim_model::listing::Listed;
use sim_model::plan::Plan;
use sim_model::protocol::{Code, Decided, Refusal, Reply, Response, Room, User};
use sim_model::server::{BatchEntry, Call, Entry, Implied, ServerRecord, Ticket};

use crate::comparison::{Comparison, ComparisonCounts};
use crate::difference::{BatchItem, Decision, Difference, EventPosition};
use crate::findings::Finding;
use crate::model::{Deadline, Event, Model};
use crate::properties;

use self::admission::Admission;
use self::in_flight::{InFlight, NEVER, Pending, Stage};
use self::log_waits::LogWaits;
use self::long_polls::{LongPolls, WaitEvent};
use self::pipeline::{Pipeline, is_owed};

/// Audits the records of one server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Auditor {
    pub(crate) model: Model,
    in_flight: InFlight,
    long_polls: LongPolls,
    pipeline: Pipeline,
    log_waits: LogWaits,
    admission: Admission,
    pub(crate) tally: ComparisonCounts,
    /// The `room_seq` up to which each room's order was shown to any of its members.
    shown: FxHashMap<Room, u64>,
    /// The highest limit of each collection so far.
    limits: BTreeMap<&'static str, u64>,
    /// The instant at which a difference is found: that of the record that is processed, or of a
    /// committed entry its own.
    at: Time,
    /// The participants whose inboxes the last entry made grow.
    pub(crate) grown: Vec<User>,
    /// The instant up to which nothing was late.
    looked_at: Time,
    /// When the server's clock last jumped ahead, from which deadlines in the skipped time are due.
    excused_at: Time,
    /// Whether the server was restarted.
    recovered: bool,
    /// Whether an operator acted since the lists were last read.
    has_acted: bool,
    /// Whether no other server can own the chat.
    has_lease: bool,
    /// The first difference, if there was one. Almost always absent, and large.
    pub(crate) found: Option<Box<Finding>>,
}

impl Auditor {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            model: Model::new(&plan.server),
            pipeline: Pipeline::started(&plan.server, Time(0), true, Continuity::Whole),
            log_waits: LogWaits::new(plan),
            admission: Admission::new(&plan.server),
            has_lease: true,
            ..Self::default()
        }
    }

    /// An auditor of entries alone. Calls are not in the journal, so what a running server owes by
    /// when is not judged.
    pub(crate) fn of_journal(plan: &Plan) -> Self {
        let mut auditor = Self::new(plan);
        auditor.pipeline.handle_crash();
        auditor
    }

    /// Compares the size of a collection with its limit.
    pub(crate) fn size(&mut self, at: Time, what: &'static str, size: u64, limit: u64) {
        self.at = at;
        self.tally.add(Comparison::Size);
        // A restart with a lower limit removes no entries.
        let highest = self.limits.entry(what).or_default();
        *highest = limit.max(*highest);
        if size > *highest {
            self.differ(Difference::Size { what, size, limit });
        }
        if let Some(owed) = self.model.size_of(what)
            && owed != size
        {
            self.differ(Difference::Kept { what, owed, size });
        }
    }

    #[cold]
    fn differ(&mut self, difference: Difference) {
        self.found.get_or_insert_with(|| {
            let property = properties::owner(&difference, &self.model);
            Box::new(Finding::of(property, self.at, difference))
        });
    }

    /// Processes one record.
    pub(crate) fn record(&mut self, at: Time, record: &ServerRecord<'_>) {
        if !matches!(record, ServerRecord::Excused) {
            self.look_for_late(at);
        }
        match *record {
            ServerRecord::Asked { ticket, from, ask } => self.handle_call(ticket, from, ask),
            ServerRecord::Committed {
                position,
                at: written_at,
                entry,
                ticket,
                said,
                posted,
            } => {
                self.committed((position, written_at), at, (entry, ticket, said));
                self.compare_posted(posted);
            }
            ServerRecord::LogBusy { busy } => self.log_busy(busy),
            ServerRecord::LogHas => self.log_has(),
            ServerRecord::Admitted { ticket } => self.admitted(ticket),
            ServerRecord::GivenBack { ticket } => self.given_back(ticket),
            ServerRecord::Lease { held } => self.has_lease = held,
            ServerRecord::Answered { ticket, outcome } => self.answered(ticket, outcome),
            ServerRecord::StreamOpened { ticket, cursor } => self.opened(ticket, cursor),
            ServerRecord::Pushed { ticket, page } => self.handle_push(ticket, page),
            ServerRecord::Noticed { ticket, notice } => self.handle_notice(ticket, notice),
            ServerRecord::StreamWritable { ticket, writable } => {
                self.in_flight.writable(at, ticket, writable);
            }
            ServerRecord::StreamEnded { ticket } => self.stream_ended(ticket),
            ServerRecord::Gone { ticket } => self.gone(ticket),
            ServerRecord::Appending { batch } => self.handle_append(batch),
            ServerRecord::AppendFailed => self.append_failed(),
            ServerRecord::AppendUnknown => self.pipeline.is_halted = true,
            ServerRecord::Woken => self.woken(),
            ServerRecord::Excused => self.excused_at = at,
            ServerRecord::ClockStepped => {
                self.pipeline.stepped_at.get_or_insert(at);
            }
            ServerRecord::Crashed => self.handle_crash(),
            ServerRecord::Redecided {
                position,
                before,
                after,
            } => {
                let [before, after] = [before, after].map(|said| said.cloned());
                let difference = Difference::Redecided {
                    position,
                    before,
                    after,
                };
                self.differ(difference);
            }
            ServerRecord::RecoveredDamaged { .. } | ServerRecord::StartRefused { .. } => {
                self.handle_damage(record);
            }
            ServerRecord::Stopping => self.pipeline.is_stopping = true,
            ServerRecord::Finished => self.handle_finish(),
            ServerRecord::Restarted { config, continuity } => {
                self.handle_restart(config, continuity);
            }
        }
    }

    /// An operator read all lists; if they are `archived`, with the rooms as an archive takes them.
    pub(crate) fn listed(&mut self, at: Time, seen: &[Listed], archived: bool) {
        self.at = at;
        self.tally.add(Comparison::Listed);
        let owed = self.model.listed(archived);
        if let Some(place) = first_difference(&owed, seen) {
            let (owed, seen) = (owed.get(place).cloned(), seen.get(place).cloned());
            let difference = Difference::Listed {
                owed,
                seen,
                after_act: self.has_acted,
            };
            self.differ(difference);
        }
        self.has_acted = false;
    }

    /// The server looked at its timers.
    fn woken(&mut self) {
        self.in_flight.release(self.at);
        while let Some(ripe) = self.long_polls.pop(&self.model.config, self.at) {
            match ripe {
                WaitEvent::Over(ticket) => self.in_flight.end_wait(self.at, ticket),
                WaitEvent::Beat(user, waiting) => self.pipeline.beat(self.at, user, waiting),
            }
        }
    }

    /// The server stops: waiting answers leave now, and streams end.
    fn handle_finish(&mut self) {
        if let Some(owed) = self.pipeline.unfinished() {
            self.differ(self.batch_differs(Some(&owed), None));
        }
        for check in self.long_polls.end_all() {
            self.in_flight.end_wait(self.at, check);
        }
        self.in_flight.finish(self.at);
    }

    /// A batch was formed: it holds all waiting entries in their order, up to the limit.
    fn handle_append(&mut self, batch: &[BatchEntry]) {
        self.log_waits.cover();
        let max_batch = self.model.config.max_batch as usize;
        let first = self.pipeline.form(self.at, max_batch);
        for (place, seen) in (first..).zip(batch) {
            let owed = self.pipeline.in_flight.get(place);
            if is_owed(owed, seen) {
                continue;
            }
            // A tick may occur at any time.
            if *seen == BatchEntry::Own(Entry::Tick) {
                self.pipeline.in_flight.insert(place, seen.clone());
                continue;
            }
            // A call that should have been refused.
            if let BatchEntry::Call(ticket) = seen
                && let Some(call) = self.in_flight.call(*ticket)
                && let Stage::Owed(Err(owed), _) = call.stage
            {
                let call = call.summary();
                return self.differ(Difference::Taken { call, owed });
            }
            return self.differ(self.batch_differs(owed, Some(seen)));
        }
        let left_out = self.pipeline.in_flight.get(first + batch.len());
        if left_out.is_some() {
            self.differ(self.batch_differs(left_out, None));
        }
    }

    /// The difference between two entries of a batch.
    fn batch_differs(&self, owed: Option<&BatchEntry>, seen: Option<&BatchEntry>) -> Difference {
        let [owed, seen] = [owed, seen].map(|entry| entry.map(|entry| self.item(entry)));
        Difference::Batch { owed, seen }
    }

    fn item(&self, entry: &BatchEntry) -> BatchItem {
        match entry {
            BatchEntry::Call(id) => BatchItem::Call(self.in_flight.call(*id).map(Pending::summary)),
            BatchEntry::Own(entry) => BatchItem::Own(entry.clone()),
        }
    }

    /// Processes one entry of the instant `at`, which has effect from `since` on. A difference from the
    /// batch is found when the entry takes effect, every other one at the instant of the entry.
    pub(crate) fn committed(
        &mut self,
        (position, at): (u64, Time),
        since: Time,
        (entry, ticket, said): (&Entry, Option<Ticket>, Result<&Reply, Refusal>),
    ) {
        self.at = at;
        let next = self.model.position + 1;
        if position != next {
            let (owed, seen) = (next, position);
            self.differ(Difference::Position { owed, seen });
        }
        if *entry != Entry::Stepped {
            self.count_deadlines();
        }
        if self.pipeline.is_up {
            self.at = since;
            self.follows_batch(entry, ticket);
            self.at = at;
        }
        if let (Some((user, Implied::OpenStream)), Some(ticket)) = (entry.implied(), ticket) {
            let end = self.model.inbox_end(user); // 14, before what the opening causes
            self.in_flight.begins_behind(ticket, end);
        }
        let owed = self.model.commit(position, at, entry);
        self.count_decision(entry, &owed.outcome, owed.repeated);
        self.has_acted |= matches!(entry, Entry::Operate { .. });
        if has_outcome(entry) && owed.outcome.as_ref().map_err(|refusal| *refusal) != said {
            let decision = Decision {
                position,
                entry: entry.clone(),
                caller: owed.caller,
                repeated: owed.repeated,
                owed: owed.outcome.clone(),
                said: said.cloned(),
            };
            self.differ(Difference::Decision(decision));
        }
        if let Some(ticket) = ticket {
            let outcome = owed.outcome.map(Response::Done);
            let closed = self.in_flight.decided(ticket, owed.caller, outcome, since);
            if let Some(user) = closed {
                self.pipeline.imply(since, user, Implied::CloseStream);
            }
        }
        for user in std::mem::take(&mut self.model.forgotten) {
            let refusal = Err(Refusal::of(Code::UnknownHandle));
            self.in_flight.forgotten(since, user, &refusal);
            self.long_polls.end(user);
            self.pipeline.reads.forget(user);
            self.admission.forget(user);
        }
        self.model.take_grown(&mut self.grown);
        for &user in &self.grown {
            if let Some(check) = self.long_polls.end(user) {
                self.in_flight.end_wait(since, check);
            }
            self.in_flight.handle_growth(since, user);
        }
        if self.pipeline.in_flight.is_empty() {
            self.notices_leave(since);
        }
    }

    /// The whole batch is applied: each room's notices go to the streams that are open now, of its
    /// current members, however long the batch waited for the log.
    fn notices_leave(&mut self, at: Time) {
        for (room, notice) in std::mem::take(&mut self.model.noticed) {
            for (member, _) in self.model.members(room) {
                let mut kept = self.model.notices(room, member, notice.at);
                if kept.any(|kept| *kept == notice) {
                    self.in_flight.notice(at, member, (room, &notice));
                }
            }
        }
    }

    /// Compares the events that the entry caused in all rooms, which an archive takes before any
    /// reader, if they are known.
    fn compare_posted(&mut self, seen: Option<&[Arc<Event>]>) {
        let Some(seen) = seen else { return };
        let owed = &*self.model.posted;
        if let Some(place) = first_difference(owed, seen) {
            let seen = seen.get(place).map(|event| Event::clone(event));
            let difference = EventPosition::of_entry(self.model.position, place, owed, seen);
            self.differ(Difference::Event(difference));
        }
    }

    /// Compares the committed entry with the batch, and with its call.
    fn follows_batch(&mut self, entry: &Entry, ticket: Option<Ticket>) {
        let owed = self.pipeline.committed(self.at);
        let own = || BatchEntry::Own(entry.clone());
        let seen = ticket.map_or_else(own, BatchEntry::Call);
        if !is_owed(owed.as_ref(), &seen) {
            self.differ(self.batch_differs(owed.as_ref(), Some(&seen)));
        }
        if let Some(call) = ticket.and_then(|ticket| self.in_flight.call(ticket))
            && !asks_for(&call.ask, call.user, entry)
        {
            let (call, entry) = (call.summary(), entry.clone());
            self.differ(Difference::Entry { call, entry });
        }
    }

    /// Counts the deadlines that fire before an entry.
    fn count_deadlines(&mut self) {
        if let Some((due, deadline)) = self.model.next_deadline()
            && due <= self.at
        {
            self.tally.add(match deadline {
                Deadline::Presence(_) => Comparison::PresenceDeadline,
                Deadline::Lease(_) => Comparison::Lease,
                Deadline::Patience(_) => Comparison::Patience,
            });
        }
    }

    fn count_decision(&mut self, entry: &Entry, owed: &Decided, repeated: bool) {
        match entry {
            Entry::Call { command, .. } => {
                self.tally.add(Comparison::decision(command));
                if repeated {
                    self.tally.add(Comparison::Repeat);
                }
                if owed.is_err() {
                    self.tally.add(Comparison::Refusal);
                }
            }
            Entry::Operate { .. } => self.tally.add(Comparison::Moderation),
            Entry::Implied {
                implied: Implied::Read { .. },
                ..
            }
            | Entry::Tick
            | Entry::Started { .. }
            | Entry::Resumed { .. }
            | Entry::Stepped => {}
            Entry::Implied { .. } => self.tally.add(Comparison::Presence),
        }
    }

    fn handle_call(&mut self, ticket: Ticket, from: u64, ask: &Arc<Call>) {
        let user = self.model.caller_of(ask);
        let waits_for_log = self.log_waits.is_strict;
        let mut stage = match waits_for_log && self.is_admitted_later(ask, user) {
            true => Stage::Unadmitted,
            false => self.admit((ticket, from), ask, user),
        };
        let is_waiting = waits_for_log && matches!(stage, Stage::Unadmitted | Stage::Owed(..));
        if is_waiting {
            self.log_waits.add(self.at, ticket);
            if let Stage::Owed(_, from) = &mut stage {
                *from = NEVER;
            }
        }
        let call = Pending {
            ask: Arc::clone(ask),
            from,
            user,
            stage,
            has_waited: is_waiting,
            is_gone: false,
            end: user.map_or(0, |user| self.model.inbox_end(user)),
        };
        self.in_flight.ask(ticket, call);
    }

    /// The participant reads: this implies a *seen* entry if its presence needs one.
    fn record_sign_of_life(&mut self, user: User) {
        if self.model.wants_seen(user, self.at) {
            self.pipeline.reads.record_sign_of_life(self.at, user);
        }
    }

    /// The server went down, and every call and stream with it.
    fn handle_crash(&mut self) {
        if let Some(due) = self.in_flight.unfinished() {
            let since = self.at;
            self.differ(Difference::Late { due, since });
        }
        self.in_flight = InFlight::default();
        self.long_polls = LongPolls::default();
        self.pipeline.handle_crash();
        self.log_waits.clear();
    }

    /// The server has restarted. The journaled entries of a batch in flight are committed by now.
    fn handle_restart(&mut self, config: &Config, continuity: Continuity) {
        self.recovered = true;
        let is_empty = self.model.position == 0;
        if is_empty {
            // The journal is empty, so there was no earlier configuration.
            self.model = Model::new(config);
        }
        self.admission = Admission::new(config);
        self.pipeline = Pipeline::started(config, self.at, is_empty, continuity);
        self.has_lease = true;
    }

    /// A recovery read a damaged journal, or refused it.
    fn handle_damage(&mut self, record: &ServerRecord<'_>) {
        self.tally.add(Comparison::Damaged);
        // A damaged journal gives the state of the whole one, or is refused. Of the last entries it
        // may have lost those to which no answer has left.
        if let ServerRecord::RecoveredDamaged {
            damage,
            owed,
            state: Some(seen),
        } = *record
            && !owed.contains(&seen)
        {
            let (damage, [_, owed]) = (damage.into(), owed);
            self.differ(Difference::Damaged { damage, owed, seen });
        }
        // After an accepted loss, all before the first lost entry is there.
        if let ServerRecord::StartRefused {
            damage,
            whole: owed,
            accepted: seen,
            next,
        } = *record
        {
            if seen != Some(owed) {
                let damage = damage.into();
                self.differ(Difference::AcceptedLoss { damage, owed, seen });
            }
            // And no number is given again. // 2.7
            let next = next.and_then(|next| self.model.given_beyond(owed.position, next));
            if let Some(given) = next {
                self.differ(Difference::GivenAgain(given));
            }
        }
    }
}

/// The first place at which two lists differ.
fn first_difference<T: PartialEq>(owed: &[T], seen: &[T]) -> Option<usize> {
    (0..owed.len().max(seen.len())).find(|place| owed.get(*place) != seen.get(*place))
}

/// Whether the entry matches the call.
fn asks_for(ask: &Call, caller: Option<User>, entry: &Entry) -> bool {
    match (ask, entry) {
        (
            Call::Command {
                caller,
                key,
                command,
            },
            Entry::Call {
                caller: by,
                key: under,
                command: what,
            },
        ) => (caller, key, command) == (by, under, what),
        (Call::OpenStream { .. }, Entry::Implied { user, implied }) => {
            *implied == Implied::OpenStream && caller == Some(*user)
        }
        (Call::Operate { act: asked, .. }, Entry::Operate { act, .. }) => asked == act,
        _ => false,
    }
}

/// Whether the entry has an outcome that its caller sees.
const fn has_outcome(entry: &Entry) -> bool {
    matches!(entry, Entry::Call { .. } | Entry::Operate { .. })
        || matches!(entry.implied(), Some((_, Implied::OpenStream)))
}
