//! Entries of the journal, reported to the judges.

use std::sync::Arc;

use chat_core::{Entry, Event, Position, Reject, Reply, Ticket};
use chat_types::Time;
use sim_model::history::Observer as _;
use sim_model::server::ServerRecord;

use crate::disk::Decisions;
use crate::observers::Observers;
use crate::translate;

/// Reports entries to the judges, one after another.
pub(crate) struct EntryReporter<'w, 'o> {
    pub(crate) observers: &'w mut Observers<'o>,
}

impl EntryReporter<'_, '_> {
    pub(crate) fn entry(
        &mut self,
        (Position(position), at): (Position, Time),
        since: Time,
        entry: &Entry,
        (ticket, outcome): (Option<Ticket>, &Result<Reply, Reject>),
        posted: Option<&[Arc<Event>]>,
    ) {
        self.observers.observe_server(&ServerRecord::Committed {
            position,
            at,
            since,
            entry,
            ticket,
            said: &translate::decided(at, outcome),
            posted,
        });
    }

    /// A recorded entry is decided again, at `now`.
    pub(crate) fn entry_again(
        &mut self,
        now: Time,
        (Position(position), at): (Position, Time),
        decisions: Decisions<'_>,
    ) {
        let Some(before) = decisions.before.filter(|before| *before != decisions.now) else {
            return;
        };
        self.observers.observe_server(&ServerRecord::Redecided {
            at: now,
            position,
            before: &translate::decided(at, before),
            after: &translate::decided(at, decisions.now),
        });
    }
}
