//! What should have happened by now, and has not.

use std::sync::Arc;

use chat_types::Time;
use sim_model::server::{BatchEntry, Entry, Implied};

use super::Auditor;
use super::in_flight::Pending;
use crate::difference::{Difference, Due, EventPosition};

impl Auditor {
    /// Reports what was due before `at` and has not happened.
    pub(super) fn look_for_late(&mut self, at: Time) {
        // Most records have the instant of the one before.
        if at != self.looked_at && self.pipeline.is_up() {
            self.looked_at = at;
            self.report_late(at);
        }
    }

    #[inline(never)]
    fn report_late(&mut self, at: Time) {
        let is_past = |since: Time| since.max(self.excused_at) < at;
        if let Some((since, due)) = self.in_flight.overdue(at, self.excused_at) {
            let late = self
                .missing(&due)
                .unwrap_or(Difference::Late { due, since });
            self.differ(at, late);
        } else if let Some((since, user)) = self.long_polls.next()
            && is_past(since)
        {
            let after = self.model.inbox_end(user);
            let due = Due::Check { user, after };
            self.differ(at, Difference::Late { due, since });
        } else if let Some((since, first)) = self.batch_due()
            && is_past(since)
        {
            let due = self.batch_of(since, first);
            self.differ(at, Difference::Late { due, since });
        } else if let Some((since, due)) = self.append_due()
            && is_past(since)
        {
            self.differ(at, Difference::Late { due, since });
        }
    }

    /// What a batch that is due since an instant holds first.
    pub(super) fn batch_of(&self, since: Time, first: Option<&BatchEntry>) -> Due {
        match first {
            Some(BatchEntry::Call(ticket)) => {
                Due::Commit(self.in_flight.call(*ticket).map(Pending::summary))
            }
            Some(BatchEntry::Own(Entry::Implied { user, implied })) => match implied {
                Implied::CloseStream => Due::Close(*user),
                Implied::Seen { .. } => Due::Seen(*user),
                Implied::OpenStream | Implied::Read { .. } => Due::Restart,
            },
            Some(BatchEntry::Own(_)) => Due::Restart,
            None => self.reading_or_deadline(since),
        }
    }

    /// The event that a page lacks, if it was shown to no member of its room: then it is missing,
    /// not late.
    fn missing(&self, due: &Due) -> Option<Difference> {
        let (&Due::Check { user, after } | &Due::Push { user, after }) = due else {
            return None;
        };
        let owed = self.model.inbox(user)?.event(after + 1)?;
        if self.shown.get(owed.room.0) >= owed.room_seq.0 {
            return None;
        }
        let owed = Some(Arc::clone(owed));
        let place = EventPosition::alone(user, after + 1, owed, None);
        Some(Difference::Event(place))
    }

    fn batch_due(&self) -> Option<(Time, Option<&BatchEntry>)> {
        self.pipeline
            .due(|| self.model.next_deadline().map(|(at, _)| at))
    }

    /// What is due while no entry waits.
    fn reading_or_deadline(&self, since: Time) -> Due {
        match (self.model.next_deadline(), self.pipeline.oldest_reader()) {
            (Some((at, deadline)), reader) if at <= since || reader.is_none() => {
                Due::Deadline(deadline)
            }
            (_, Some((user, false))) => Due::Read(user),
            (_, heard) => Due::Seen(heard.unwrap_or_default().0),
        }
    }
}
