//! Batches: proposed, appended by the shell, and applied after the commit, or not at all.

use std::sync::Arc;

use chat_types::{
    Continuity, Entry, Event, Implied, Position, Response, Seq, Ticket, Time, UserId,
};

use super::streams::Opener;
use super::{FIRST_PAUSE, Failing, MAX_PAUSE, Node, Origin, Output};
use crate::reject::{Outcome, Reject};

impl Node {
    /// The next batch to append; none while one is in flight, or if nothing is proposed.
    pub fn poll_batch(&mut self, now: Time) -> Option<&[Entry]> {
        let is_paused = self.failing.is_some_and(|failing| now < failing.retry_at);
        if !self.entries.is_empty() || self.is_fate_unknown || is_paused {
            return None;
        }
        self.propose_step();
        // Any entry advances the clock. A tick is needed only if there is no other entry.
        if self.proposed.is_empty() && self.hub.next_timer(now).is_some() {
            self.proposed.push_back((Origin::Node, Entry::Tick));
        }
        let room = self.hub.config().max_batch as usize;
        for (origin, entry) in self.proposed.drain(..self.proposed.len().min(room)) {
            self.origins.push(origin);
            self.entries.push(entry);
        }
        // The consequences of reads join a batch that is sent anyway. After a while they form a
        // batch of their own.
        if !self.entries.is_empty()
            || self.acknowledgements.due().is_some_and(|due| due <= now)
            || self.is_stopping
        {
            for (user, implied) in self.acknowledgements.take(room) {
                self.origins.push(Origin::Node);
                self.entries.push(Entry::Implied { user, implied });
            }
        }
        (!self.entries.is_empty()).then_some(&self.entries[..])
    }

    /// The clock goes forward by a step that nobody lived through, as after a sleep of the machine. As
    /// after downtime, deadlines move by it; open streams stay open. The next batch has the new time.
    pub fn clock_stepped(&mut self) {
        self.has_stepped = true;
    }

    /// Proposes the entry of a step before all others, which would let deadlines fire first. A batch
    /// that was in flight at the step is not before it any more.
    fn propose_step(&mut self) {
        let moves_deadlines = matches!(
            self.proposed.front(),
            Some((
                _,
                Entry::Started { .. } | Entry::Resumed { .. } | Entry::Stepped
            ))
        );
        if std::mem::take(&mut self.has_stepped) && !moves_deadlines {
            self.proposed.push_front((Origin::Node, Entry::Stepped));
        }
    }

    /// The batch in flight: each entry, with the call that it decides, if any.
    pub fn batch(&self) -> impl Iterator<Item = (&Entry, Option<Ticket>)> {
        let calls = self.origins.iter().map(|origin| origin.ticket());
        self.entries.iter().zip(calls)
    }

    /// Applies the batch in flight: the journal contains it from position `first` on, all of it at
    /// `at`. The answers leave `now`.
    ///
    /// # Panics
    /// If the positions of the journal and the Hub differ: entries are missing or doubled.
    pub fn committed(&mut self, first: Position, at: Time, now: Time) {
        self.committed_and(first, (at, now), |_, _, _, _| {});
    }

    /// Applies the batch like [`Node::committed`]. After each entry, calls `look` with the entry,
    /// the call that it decides, if any, the outcome, and the events that it posted; none without
    /// [`Node::collect_posted`].
    ///
    /// # Panics
    /// If the positions of the journal and the Hub differ.
    pub fn committed_and(
        &mut self,
        first: Position,
        (at, now): (Time, Time),
        mut look: impl FnMut(&Entry, Option<Ticket>, &Outcome, &[Arc<Event>]),
    ) {
        assert_eq!(
            first,
            self.hub.position().next(),
            "the journal has other entries"
        );
        self.is_fate_unknown = false;
        self.failing = None;
        let mut entries = std::mem::take(&mut self.entries);
        let mut origins = std::mem::take(&mut self.origins);
        for (entry, origin) in entries.iter().zip(&mut origins) {
            // A stream shows what its own opening causes, such as a pair room.
            if let Origin::Open { user, after, .. } = origin
                && after.is_none()
            {
                *after = self.hub.inbox_cursors(*user).map(|(end, _)| end);
            }
            let outcome = self.hub.handle(at, entry);
            look(entry, origin.ticket(), &outcome, &self.hub.take_posted());
            self.retries.settle(*origin, entry);
            if let Entry::Resumed { .. } = entry {
                self.continuity = Continuity::Whole;
            }
            match *origin {
                Origin::Call(ticket) => self.answer_call(now, ticket, outcome),
                Origin::Open {
                    ticket,
                    user,
                    after,
                } => self.opened(ticket, user, after, outcome),
                Origin::Node => {}
            }
        }
        if self.proposed.is_empty() {
            self.retries.rest();
        }
        entries.clear();
        origins.clear();
        (self.entries, self.origins) = (entries, origins);
        // Once for the whole batch, so that a waiting reader receives all of it in one answer.
        while let Some(effect) = self.hub.poll_effect() {
            self.carry_out(now, effect);
        }
    }

    /// Answers the call and those that joined it, or delays their answers.
    fn answer_call(&mut self, now: Time, ticket: Ticket, outcome: Outcome) {
        for joined in self.retries.take(ticket) {
            self.answer(now, joined, outcome.clone());
        }
        self.answer(now, ticket, outcome);
    }

    fn opened(&mut self, ticket: Ticket, user: UserId, after: Option<Seq>, outcome: Outcome) {
        let wanted = self.streams.opened(ticket);
        match outcome {
            Err(reject) => self.reply(ticket, Err(reject)),
            Ok(_) if !wanted => self.imply(user, Implied::CloseStream),
            Ok(_) => {
                let (end, _) = self.hub.inbox_cursors(user).unwrap_or_default();
                self.begin_stream(ticket, (user, Opener::Owner), after, end);
            }
        }
    }

    /// Opens a stream from behind `after`, or from the end of the inbox.
    pub(super) fn begin_stream(
        &mut self,
        ticket: Ticket,
        (user, opener): (UserId, Opener),
        after: Option<Seq>,
        end: Seq,
    ) {
        self.reply(ticket, Ok(Response::Streaming));
        let cursor = after.unwrap_or(end);
        self.streams.open(ticket, user, (cursor, opener));
        if cursor < end && self.streams.signal(ticket) {
            self.outputs.push_back(Output::StreamReady(ticket));
        }
    }

    /// Drops the batch in flight, of which the journal contains nothing: its calls are refused.
    pub fn append_failed(&mut self, now: Time) {
        self.is_fate_unknown = false;
        let longer = |failing: Failing| failing.pause.times(2).min(MAX_PAUSE);
        let pause = self.failing.map_or(FIRST_PAUSE, longer);
        let retry_at = now + pause;
        self.failing = Some(Failing { retry_at, pause });
        let reject = Reject::storage_unavailable(pause);
        let entries = std::mem::take(&mut self.entries);
        let origins = std::mem::take(&mut self.origins);
        for (origin, entry) in origins.iter().zip(&entries) {
            self.retries.settle(*origin, entry);
        }
        let mut implied = Vec::new();
        for (origin, entry) in origins.into_iter().zip(entries).rev() {
            match origin {
                Origin::Call(ticket) => {
                    let outcome = self.after_failure(&entry, reject);
                    self.answer_call(now, ticket, outcome);
                }
                Origin::Open { ticket, .. } => {
                    self.streams.opened(ticket);
                    self.reply(ticket, Err(reject));
                }
                Origin::Node => {
                    // Each participant has at most one of these, whatever it reads.
                    if let Entry::Implied {
                        user,
                        implied: read @ (Implied::Read { .. } | Implied::Seen { waiting: None }),
                    } = entry
                    {
                        implied.push((user, read));
                    } else {
                        // In their order, before all others.
                        self.proposed.push_front((Origin::Node, entry));
                    }
                }
            }
        }
        // These join what later reads imply: each participant has one of each kind, however long the
        // journal cannot be written.
        for (user, implied) in implied.into_iter().rev() {
            self.acknowledgements.imply_again(now, user, implied);
        }
        if self.proposed.is_empty() {
            self.retries.rest();
        }
    }

    /// Records that the outcome of the append is unknown. The node halts until `committed` or
    /// `append_failed` is called.
    pub fn append_unknown(&mut self) {
        self.is_fate_unknown = true;
    }
}
