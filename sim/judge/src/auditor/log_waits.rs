//! What should have happened by now, and has not; and calls whose answers wait for the shared log
//! (docs/protocol.md, 13.5): with strict reads, what needs no entry of the journal is answered once the
//! log has a record whose append began after the call arrived.

use std::collections::VecDeque;
use std::sync::Arc;

use chat_types::{Span, Time};
use sim_model::plan::{OwnerReads, Plan};
use sim_model::protocol::{Response, User};
use sim_model::server::{BatchEntry, Call, Entry, Implied, Ticket};

use super::Auditor;
use super::in_flight::{Stage, held_until, is_peeking};
use crate::comparison::Comparison;
use crate::difference::{BatchItem, Difference, Due, EventPosition};

/// The longest pause before an append for them, after the log has refused one: a quarter of a second,
/// by a clock that is half too slow.
const PAUSE: Span = Span::millis(500);

/// The calls that wait, each since an instant, in the order of their arrival.
#[derive(Clone, Debug, Default)]
pub(super) struct LogWaits {
    /// Whether the answer to a call that needs no entry waits for the log.
    pub(super) is_strict: bool,
    queue: VecDeque<(Time, Ticket)>,
    /// The number of the first ones that wait for the append in flight.
    covered: usize,
    /// Calls that are admitted now, each since an instant.
    served: VecDeque<(Time, Ticket)>,
}

impl LogWaits {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            is_strict: plan.reads == OwnerReads::Strict,
            ..Self::default()
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self {
            is_strict: self.is_strict,
            ..Self::default()
        };
    }

    pub(super) fn add(&mut self, since: Time, ticket: Ticket) {
        self.queue.push_back((since, ticket));
    }

    /// Removes a call. Returns whether it waited.
    pub(super) fn remove(&mut self, ticket: Ticket) -> bool {
        self.served.retain(|(_, served)| *served != ticket);
        let place = self.queue.iter().position(|(_, waits)| *waits == ticket);
        if let Some(place) = place {
            self.queue.remove(place);
            self.covered -= usize::from(place < self.covered);
        }
        place.is_some()
    }

    /// An append begins.
    pub(super) fn cover(&mut self) {
        self.covered = self.queue.len();
    }

    /// When an append for the first one must have begun, if none is in flight since `free_since`.
    pub(super) fn due(&self, free_since: Time) -> Option<(Time, Ticket)> {
        let (since, ticket) = *self.queue.front()?;
        Some((since.max(free_since) + PAUSE, ticket))
    }
}

impl Auditor {
    /// Whether the call is admitted when the log has a later record: a read, or a repeated call whose
    /// earlier attempt has no answer yet. A server that stops gives back what arrives. // 13.5
    pub(super) fn is_admitted_later(&self, ask: &Call, user: Option<User>) -> bool {
        let reads = matches!(ask, Call::Read { .. }) || is_peeking(ask);
        if reads || self.pipeline.is_stopping || self.earlier_in_journal(ask).is_some() {
            return true;
        }
        let owed = user.and_then(|user| self.repeated(user, ask));
        owed.is_some_and(|owed| held_until(&owed.outcome.map(Response::Done)) > self.at)
    }

    /// A record that is no batch begins its way into the log, or ends it. What is due for a batch
    /// precedes it. // 13.5
    pub(super) fn log_busy(&mut self, busy: bool) {
        if !busy {
            return self.pipeline.set_busy(self.at, busy);
        }
        self.tally.add(Comparison::LogRecord);
        let due = self.pipeline.waited(self.deadline());
        if let Some((since, first)) = due
            && since.max(self.excused_at) < self.at
        {
            let due = self.batch_of(since, first);
            self.differ(Difference::Overtaken { due, since });
        }
        self.pipeline.set_busy(self.at, busy);
        self.log_waits.cover();
    }

    /// The log has the record that was on its way: what waited for it leaves.
    pub(super) fn log_has(&mut self) {
        let covered = std::mem::take(&mut self.log_waits.covered);
        for (_, ticket) in self.log_waits.queue.drain(..covered) {
            let call = self.in_flight.call(ticket);
            if call.is_some_and(|call| matches!(call.stage, Stage::Unadmitted)) {
                self.log_waits.served.push_back((self.at, ticket));
            } else {
                self.in_flight.end_wait(self.at, ticket);
            }
        }
    }

    /// The server admits a call that waited, in the order of their arrival.
    pub(super) fn admitted(&mut self, ticket: Ticket) {
        let waits = &mut self.log_waits.served;
        let served = waits.pop_front_if(|(_, served)| *served == ticket);
        let Some(mut call) = self.in_flight.take(ticket) else {
            return;
        };
        if served.is_none() {
            let call = call.summary();
            return self.differ(Difference::Unserved { call });
        }
        call.user = self.model.caller_of(&call.ask);
        call.stage = self.admit((ticket, call.from), &call.ask, call.user);
        call.end = call.user.map_or(0, |user| self.model.inbox_end(user));
        self.in_flight.ask(ticket, call);
    }

    /// The server gave a call back that waited for the log. It may while another server may own the
    /// chat, or when it stops.
    pub(super) fn given_back(&mut self, ticket: Ticket) {
        let waited = self.log_waits.remove(ticket);
        let Some(call) = self.in_flight.take(ticket) else {
            return;
        };
        let is_owed = !waited || self.has_lease;
        if is_owed && !(self.log_waits.is_strict && self.pipeline.is_stopping) {
            let (due, since) = (Due::Answer(call.summary()), self.at);
            self.differ(Difference::Late { due, since });
        }
    }

    /// What waits for an append that should have begun, or is served and not admitted.
    pub(super) fn append_due(&self) -> Option<(Time, Due)> {
        // The pause is one of the clock that is never set.
        let append = || {
            let free_since = self.pipeline.free_since()?;
            self.log_waits.due(free_since.max(self.excused_at))
        };
        let served = self.log_waits.served.front().copied();
        let (since, ticket) = served.or_else(append)?;
        let call = self.in_flight.call(ticket)?;
        Some((since, Due::Answer(call.summary())))
    }

    /// Reports what was due before `at` and has not happened.
    pub(crate) fn look_for_late(&mut self, at: Time) {
        self.at = at;
        // Most records have the instant of the one before.
        if at != self.looked_at && self.pipeline.is_up {
            self.looked_at = at;
            self.report_late();
        }
    }

    #[inline(never)]
    fn report_late(&mut self) {
        let is_past = |since: Time| since.max(self.excused_at) < self.at;
        if let Some((since, due)) = self.in_flight.overdue(self.at, self.excused_at) {
            let late = self.missing(&due);
            let late = late.unwrap_or(Difference::Late { due, since });
            return self.differ(late);
        }
        let check = || {
            let next = self.long_polls.next();
            let (since, user) = next.filter(|(since, _)| is_past(*since))?;
            let after = self.model.inbox_end(user);
            Some((since, Due::Check { user, after }))
        };
        let batch = || {
            let due = self.pipeline.due(self.deadline());
            let (since, first) = due.filter(|(since, _)| is_past(*since))?;
            Some((since, self.batch_of(since, first)))
        };
        let append = || self.append_due().filter(|(since, _)| is_past(*since));
        if let Some((since, due)) = check().or_else(batch).or_else(append) {
            self.differ(Difference::Late { due, since });
        }
    }

    /// The instant of the state's next deadline.
    fn deadline(&self) -> Option<Time> {
        self.model.next_deadline().map(|(at, _)| at)
    }

    /// What a batch that is due since an instant holds first.
    pub(super) fn batch_of(&self, since: Time, first: Option<&BatchEntry>) -> Due {
        if let Some(entry) = first {
            return Due::Entry(self.item(entry));
        }
        let implied = self.pipeline.reads.first();
        match self.model.next_deadline() {
            Some((at, deadline)) if at <= since || implied.is_none() => Due::Deadline(deadline),
            Some(_) | None => {
                let seen = (User::default(), Implied::Seen { waiting: None });
                let (user, implied) = implied.unwrap_or(seen);
                Due::Entry(BatchItem::Own(Entry::Implied { user, implied }))
            }
        }
    }

    /// The event that a page lacks, if it was shown to no member of its room: then it is missing,
    /// not late.
    fn missing(&self, due: &Due) -> Option<Difference> {
        let (&Due::Check { user, after } | &Due::Push { user, after }) = due else {
            return None;
        };
        let owed = self.model.inbox(user)?.event(after + 1)?;
        let shown = self.shown.get(&owed.room);
        if shown.is_some_and(|shown| *shown >= owed.room_seq.0) {
            return None;
        }
        let owed = Some(Arc::clone(owed));
        let place = EventPosition::alone(user, after + 1, owed, None);
        Some(Difference::Event(place))
    }
}
