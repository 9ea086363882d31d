//! The auditor: feeds the reference model with what was committed, and compares what is owed with
//! what the server decided and with what crossed its border.
//!
//! Everything is exact: an answer, a page and a push show the committed state at the instant at
//! which they leave. So the auditor needs no guess, and stops at the first difference: what follows
//! from one bug is not blamed on other rules.

mod admission;
mod answers;
mod border;
mod by_number;
mod pages;
mod pipeline;
mod reads;
mod waits;

use std::collections::BTreeMap;
use std::sync::Arc;

use chat_types::Time;
use sim_model::plan::Plan;
use sim_model::protocol::{Answer, Earlier, Outcome, Refusal, User};
use sim_model::server::{Ask, Batched, Decided, Entry, ServerRecord, Ticket};

use crate::compared::{Compared, Tally};
use crate::difference::{Difference, Due};
use crate::findings::{Finding, Findings};
use crate::model::{Deadline, Inbox, Model};
use crate::properties;

use self::admission::Admission;
use self::border::{Border, Call, Stage};
use self::by_number::ByNumber;
use self::pipeline::Pipeline;
use self::waits::{Ripe, Waits};

/// Audits the records of one server.
#[derive(Clone, Debug)]
pub(crate) struct Auditor {
    model: Model,
    border: Border,
    waits: Waits,
    pipeline: Pipeline,
    admission: Admission,
    tally: Tally,
    /// How far the order of each room was shown to any of its members.
    shown: ByNumber<u64>,
    /// The highest limit of each collection so far.
    limits: BTreeMap<&'static str, u64>,
    /// The position of the last entry.
    position: u64,
    /// Up to when nothing is late.
    looked_at: Time,
    /// When the server's clock was set ahead last: what it passed over is due from then on.
    jumped_at: Time,
    /// Whether the server was restarted.
    recovered: bool,
    /// The first difference, if there was one.
    found: Option<Finding>,
}

impl Auditor {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            model: Model::new(&plan.server),
            border: Border::default(),
            waits: Waits::default(),
            pipeline: Pipeline::new(&plan.server),
            admission: Admission::new(&plan.server),
            tally: Tally::default(),
            shown: ByNumber::default(),
            limits: BTreeMap::new(),
            position: 0,
            looked_at: Time(0),
            jumped_at: Time(0),
            recovered: false,
            found: None,
        }
    }

    pub(crate) const fn model(&self) -> &Model {
        &self.model
    }

    /// The first difference, once.
    pub(crate) fn take_found(&mut self) -> Option<Finding> {
        self.found.take()
    }

    /// Counts all comparisons towards the properties.
    pub(crate) fn count(&self, findings: &mut Findings) {
        properties::count(&self.tally, findings);
    }

    /// A collection has such a size.
    pub(crate) fn size(&mut self, at: Time, what: &'static str, size: u64, limit: u64) {
        self.tally.add(Compared::Size);
        // A restart with a lower limit puts nobody out.
        let highest = self.limits.entry(what).or_default();
        *highest = limit.max(*highest);
        if size > *highest {
            self.differ(at, Difference::Size { what, size, limit });
        }
        if let Some(owed) = self.model.size_of(what)
            && owed != size
        {
            self.differ(at, Difference::Kept { what, owed, size });
        }
    }

    fn differ(&mut self, at: Time, difference: Difference) {
        self.found.get_or_insert_with(|| Finding {
            property: properties::owner(&difference, &self.model),
            at,
            users: difference.users(),
            difference,
        });
    }

    /// Takes in one record.
    pub(crate) fn record(&mut self, record: &ServerRecord<'_>) {
        let at = record.at();
        if !matches!(record, ServerRecord::ClockJumped { .. }) {
            self.look_for_late(at);
        }
        match *record {
            ServerRecord::Asked {
                at,
                ticket,
                from,
                ask,
            } => self.asked(at, ticket, from, ask),
            ServerRecord::Committed {
                position,
                at,
                entry,
                ticket,
                said,
            } => self.committed((position, at), entry, ticket, said),
            ServerRecord::Answered {
                at,
                ticket,
                outcome,
                page,
            } => self.answered(at, ticket, outcome, page),
            ServerRecord::StreamOpened { at, ticket } => self.stream_opened(at, ticket),
            ServerRecord::Pushed { at, ticket, page } => self.pushed(at, ticket, page),
            ServerRecord::Noticed { at, ticket, notice } => self.noticed(at, ticket, notice),
            ServerRecord::StreamWritable {
                at,
                ticket,
                writable,
            } => self.border.writable(at, ticket, writable),
            ServerRecord::StreamEnded { at, ticket } => self.stream_ended(at, ticket),
            ServerRecord::Gone { at, ticket } => self.gone(at, ticket),
            ServerRecord::Appending { at, batch } => self.appending(at, batch),
            ServerRecord::AppendFailed { at } => self.append_failed(at),
            ServerRecord::AppendUnknown { .. } => self.pipeline.halt(),
            ServerRecord::Woken { at } => self.woken(at),
            ServerRecord::ClockJumped { at, .. } => self.jumped_at = at,
            ServerRecord::Crashed { at } => {
                if let Some(due) = self.border.unfinished() {
                    self.differ(at, Difference::Late { due, since: at });
                }
                self.border = Border::default();
                self.waits = Waits::default();
                self.pipeline.crashed();
            }
            ServerRecord::Stopping { .. } => self.pipeline.stop(),
            ServerRecord::Finished { at } => self.finished(at),
            ServerRecord::Restarted { at, config } => {
                // What the journal kept of a batch in flight is committed by now.
                self.recovered = true;
                self.admission = Admission::new(config);
                self.pipeline = Pipeline::resumed(config, at);
            }
        }
    }

    /// The server looked at its timers.
    fn woken(&mut self, at: Time) {
        self.border.release(at);
        while let Some(ripe) = self.waits.pop(self.model.config(), at) {
            match ripe {
                Ripe::Over(ticket) => self.border.end_wait(at, ticket),
                Ripe::Beat(user, waiting) => self.pipeline.beat(at, user, waiting),
            }
        }
    }

    /// The server stops: what waits leaves now, and streams end.
    fn finished(&mut self, at: Time) {
        let owed = self.pipeline.unfinished();
        if owed.is_some() {
            let seen = None;
            self.differ(at, Difference::Batch { owed, seen });
        }
        for check in self.waits.end_all() {
            self.border.end_wait(at, check);
        }
        self.border.finish(at);
    }

    /// A batch was put together: it holds all that waited, in its order, up to the limit.
    fn appending(&mut self, at: Time, batch: &[Batched]) {
        let max_batch = self.model.config().max_batch as usize;
        let first = self.pipeline.form(at, max_batch);
        for (place, seen) in (first..).zip(batch) {
            let owed = self.pipeline.in_flight(place);
            if owed == Some(seen) {
                continue;
            }
            // An entry that only lets time pass may come at any time.
            if *seen == Batched::Own(Entry::Tick) {
                self.pipeline.tick(place);
                continue;
            }
            let difference = self.taken(seen).unwrap_or_else(|| Difference::Batch {
                owed: owed.cloned(),
                seen: Some(seen.clone()),
            });
            self.differ(at, difference);
            return;
        }
        if let Some(left_out) = self.pipeline.in_flight(first + batch.len()) {
            let owed = Some(left_out.clone());
            self.differ(at, Difference::Batch { owed, seen: None });
        }
    }

    /// What differs if the batch holds a call that was to be refused.
    fn taken(&self, seen: &Batched) -> Option<Difference> {
        let Batched::Call(ticket) = seen else {
            return None;
        };
        let call = self.border.call(*ticket)?;
        let Stage::Owed(Err(owed), _) = &call.stage else {
            return None;
        };
        Some(Difference::Taken {
            op: call.op().cloned(),
            caller: call.user,
            owed: *owed,
        })
    }

    /// The run is over: what was due by now is late.
    pub(crate) fn finish(&mut self, now: Time) {
        self.look_for_late(now);
    }

    /// Whether something was due before `at`, and has not happened.
    fn look_for_late(&mut self, at: Time) {
        if at == self.looked_at || !self.pipeline.is_up() {
            return;
        }
        self.looked_at = at;
        let is_past = |since: Time| since.max(self.jumped_at) < at;
        if let Some((since, due)) = self.border.overdue(at, self.jumped_at) {
            let late = self.missing(due).unwrap_or(Difference::Late { due, since });
            self.differ(at, late);
        } else if let Some((since, user)) = self.waits.next()
            && is_past(since)
        {
            let after = self.model.inbox(user).map_or(0, Inbox::end);
            let due = Due::Check { user, after };
            self.differ(at, Difference::Late { due, since });
        } else if let Some((since, first)) = self.batch_due()
            && is_past(since)
        {
            let due = match first {
                Some(Batched::Call(ticket)) => self.border.proposed(*ticket),
                Some(Batched::Own(Entry::CloseStream { user })) => Due::Close(*user),
                Some(Batched::Own(Entry::Seen { user, .. })) => Due::Seen(*user),
                Some(Batched::Own(_)) => Due::Restart,
                None => self.reading_or_deadline(since),
            };
            self.differ(at, Difference::Late { due, since });
        }
    }

    /// The event that a page lacks, if no member of its room was shown it: then it is missing, and
    /// not late.
    fn missing(&self, due: Due) -> Option<Difference> {
        let (Due::Check { user, after } | Due::Push { user, after }) = due else {
            return None;
        };
        let owed = self.model.inbox(user)?.event(after + 1)?;
        if self.shown.get(owed.room.0) >= owed.room_seq {
            return None;
        }
        Some(Difference::Event {
            reader: user,
            seq: after + 1,
            owed: Some(Arc::clone(owed)),
            seen: None,
            skipped: false,
            repeated: false,
        })
    }

    fn batch_due(&self) -> Option<(Time, Option<&Batched>)> {
        self.pipeline
            .due(|| self.model.next_deadline().map(|(at, _)| at))
    }

    /// What is due where no entry waits.
    fn reading_or_deadline(&self, since: Time) -> Due {
        match (self.model.next_deadline(), self.pipeline.oldest_reader()) {
            (Some((at, deadline)), reader) if at <= since || reader.is_none() => {
                Due::Deadline(deadline)
            }
            (_, Some((user, false))) => Due::Read(user),
            (_, heard) => Due::Seen(heard.unwrap_or_default().0),
        }
    }

    fn committed(
        &mut self,
        (position, at): (u64, Time),
        entry: &Entry,
        ticket: Option<Ticket>,
        said: &Decided,
    ) {
        if position != self.position + 1 {
            let (owed, seen) = (self.position + 1, position);
            self.differ(at, Difference::Position { owed, seen });
        }
        self.position = position;
        self.count_deadlines(at);
        if self.pipeline.is_up() {
            self.follows_batch(at, entry, ticket);
        }
        let owed = self.model.commit(at, entry, said);
        self.count_decision(entry, &owed.outcome, owed.repeated);
        if has_outcome(entry) && owed.outcome != said.outcome {
            self.differ(
                at,
                Difference::Decision {
                    position,
                    entry: entry.clone(),
                    caller: owed.caller,
                    repeated: owed.repeated,
                    owed: owed.outcome.clone(),
                    said: said.outcome.clone(),
                },
            );
        }
        if let (Entry::OpenStream { .. }, Some(ticket), Some(user)) = (entry, ticket, owed.caller) {
            let end = self.model.inbox(user).map_or(0, Inbox::end);
            self.border.begins_behind(ticket, end);
        }
        if let Some(ticket) = ticket
            && let Some(user) =
                self.border
                    .decided(ticket, owed.caller, owed.outcome, (at, owed.answer_at))
        {
            self.pipeline.imply(at, Entry::CloseStream { user });
        }
        for user in self.model.take_forgotten() {
            self.border.forgotten(at, user, &Err(unknown_handle()));
            self.waits.end(user);
            self.pipeline.reads.forget(user);
            self.admission.forget(user);
        }
        for user in self.model.take_grown() {
            if let Some(check) = self.waits.end(user) {
                self.border.end_wait(at, check);
            }
            self.border.grew(at, user);
        }
        if self.pipeline.is_batch_whole() {
            self.notices_leave(at);
        }
    }

    /// The whole batch is applied: the notices that rooms still keep go to the streams that are open
    /// now, of those who are members now.
    fn notices_leave(&mut self, at: Time) {
        for notice in self.model.take_noticed() {
            for (member, _) in self.model.members(notice.room) {
                let mut kept = self.model.notices(notice.room, member, at);
                if kept.any(|kept| *kept == notice) {
                    self.border.notice(at, member, &notice);
                }
            }
        }
    }

    /// What is committed is what was in the batch, and what was asked.
    fn follows_batch(&mut self, at: Time, entry: &Entry, ticket: Option<Ticket>) {
        let owed = self.pipeline.committed(at);
        let is_owed = match (&owed, ticket) {
            (Some(Batched::Own(own)), None) => own == entry,
            (Some(Batched::Call(owed)), Some(ticket)) => *owed == ticket,
            _ => false,
        };
        if !is_owed {
            let seen = Some(match ticket {
                Some(ticket) => Batched::Call(ticket),
                None => Batched::Own(entry.clone()),
            });
            self.differ(at, Difference::Batch { owed, seen });
        }
        if let Some(call) = ticket.and_then(|ticket| self.border.call(ticket))
            && !asks_for(&call.ask, call.user, entry)
        {
            let (ask, entry) = (Arc::clone(&call.ask), entry.clone());
            self.differ(at, Difference::Entry { ask, entry });
        }
    }

    /// Counts the deadlines that fall before an entry.
    fn count_deadlines(&mut self, at: Time) {
        if let Some((due, deadline)) = self.model.next_deadline()
            && due <= at
        {
            self.tally.add(match deadline {
                Deadline::Presence(_) => Compared::PresenceDeadline,
                Deadline::Lease(_) => Compared::Lease,
                Deadline::Patience(_) => Compared::Patience,
            });
        }
    }

    fn count_decision(&mut self, entry: &Entry, owed: &Outcome, repeated: bool) {
        match entry {
            Entry::Call { op, .. } => {
                self.tally.add(Compared::decision(op));
                if repeated {
                    self.tally.add(Compared::Repeat);
                }
                if owed.is_err() {
                    self.tally.add(Compared::Refusal);
                }
            }
            Entry::Operate(_) => self.tally.add(Compared::Moderation),
            Entry::OpenStream { .. } | Entry::CloseStream { .. } | Entry::Seen { .. } => {
                self.tally.add(Compared::Presence);
            }
            Entry::Read { .. } | Entry::Tick | Entry::Started { .. } | Entry::Resumed { .. } => {}
        }
    }

    fn asked(&mut self, at: Time, ticket: Ticket, from: u64, ask: &Arc<Ask>) {
        let handle = match ask.as_ref() {
            Ask::Call { caller, .. } => Some(caller.handle()),
            Ask::OpenStream { handle, .. } => Some(*handle),
            Ask::Operate(_) => None,
        };
        let user = handle.and_then(|handle| self.model.user_of(handle));
        let stage = self.admit(at, (ticket, from), ask, user);
        if matches!(stage, Stage::Proposed) {
            self.pipeline.propose(at, ticket);
        }
        let call = Call {
            ask: Arc::clone(ask),
            user,
            stage,
            is_gone: false,
            end: user
                .and_then(|user| self.model.inbox(user))
                .map_or(0, Inbox::end),
        };
        self.border.ask(ticket, call);
    }

    /// The participant reads: a sign of life, where its presence needs one.
    fn hear(&mut self, at: Time, user: User) {
        if self.model.wants_seen(user, at) {
            self.pipeline.reads.hear(at, user);
        }
    }

    fn mood(&self, user: User, at: Time) -> Outcome {
        let mood = self.model.mood(user, at);
        let owed = mood.map(|(stress, boss_alert)| Answer::Mood { stress, boss_alert });
        owed.ok_or_else(unknown_handle)
    }
}

/// Whether an entry is what a call asks for.
fn asks_for(ask: &Ask, caller: Option<User>, entry: &Entry) -> bool {
    match (ask, entry) {
        (
            Ask::Call { caller, key, op },
            Entry::Call {
                caller: by,
                key: under,
                op: what,
            },
        ) => (caller, key, op) == (by, under, what),
        (Ask::OpenStream { .. }, Entry::OpenStream { user }) => caller == Some(*user),
        (Ask::Operate(asked), Entry::Operate(act)) => asked == act,
        _ => false,
    }
}

/// Whether an entry has an outcome that a caller sees.
const fn has_outcome(entry: &Entry) -> bool {
    matches!(
        entry,
        Entry::Call { .. } | Entry::OpenStream { .. } | Entry::Operate(_)
    )
}

const fn refusal(code: &'static str) -> Refusal {
    Refusal {
        code,
        retry_after: None,
        earlier: Earlier::Unsaid,
    }
}

const fn unknown_handle() -> Refusal {
    refusal("unknown_handle")
}
