//! Answers, and the beginning and end of streams, as they enter and leave the server.

use chat_types::Time;
use sim_model::protocol::{Answer, Op, Outcome, ReadBy};
use sim_model::server::{Ask, Entry, Page, Ticket};

use super::Auditor;
use super::border::{Call, Stage};
use crate::compared::Compared;
use crate::difference::{Difference, Unasked};

impl Auditor {
    pub(super) fn answered(
        &mut self,
        at: Time,
        ticket: Ticket,
        outcome: &Outcome,
        page: Option<&Page<'_>>,
    ) {
        let Some(call) = self.border.take(ticket) else {
            let unasked = Unasked::Answer(outcome.clone());
            self.differ(at, Difference::Unasked(unasked));
            return;
        };
        self.tally.add(Compared::Answer);
        if self.recovered {
            self.tally.add(Compared::Recovered);
        }
        match call.stage {
            Stage::Proposed | Stage::Joined(_) => {
                let (call, said) = (call.asked(), outcome.clone());
                self.differ(at, Difference::Uncommitted { call, said });
            }
            Stage::Owed(_, from) | Stage::Held(_, from) if from > at => {
                self.early(at, &call, outcome);
            }
            Stage::Owed(ref owed, _) => self.compare_answer(at, &call, owed, outcome),
            Stage::Held(ref owed, _) => {
                let user = call.user;
                let mut owed = owed.clone();
                if let (
                    Ok(Answer::OnBreak {
                        stress, boss_alert, ..
                    }),
                    Some(mood),
                ) = (&mut owed, user.and_then(|user| self.model.mood(user, at)))
                {
                    (*stress, *boss_alert) = mood;
                }
                self.compare_answer(at, &call, &owed, outcome);
            }
            Stage::Reading { due_at: None, .. } => self.early(at, &call, outcome),
            Stage::Reading { start, .. } => {
                self.tally.add(Compared::InTime);
                self.check_answered(at, &call, start, outcome, page);
            }
        }
    }

    fn early(&mut self, at: Time, call: &Call, said: &Outcome) {
        let (call, said) = (call.asked(), said.clone());
        self.differ(at, Difference::Early { call, said });
    }

    pub(super) fn compare_answer(&mut self, at: Time, call: &Call, owed: &Outcome, said: &Outcome) {
        if matches!(call.op(), Some(Op::Mood)) {
            self.tally.add(Compared::Mood);
        }
        if owed != said {
            self.differ(
                at,
                Difference::Answer {
                    call: call.asked(),
                    owed: owed.clone(),
                    said: said.clone(),
                },
            );
        }
    }

    pub(super) fn stream_opened(&mut self, at: Time, ticket: Ticket) {
        let Some(call) = self.border.take(ticket) else {
            self.differ(at, Difference::Unasked(Unasked::Opening));
            return;
        };
        let (Ask::OpenStream { after, by, .. }, Some(user), Stage::Owed(owed, _)) =
            (call.ask.as_ref(), call.user, &call.stage)
        else {
            let (call, said) = (call.asked(), Ok(Answer::Done));
            self.differ(at, Difference::Uncommitted { call, said });
            return;
        };
        if owed.is_err() {
            self.compare_answer(at, &call, owed, &Ok(Answer::Done));
            return;
        }
        let end = self.model.inbox_end(user);
        let cursor = after.unwrap_or(call.end);
        self.border.open(at, ticket, (user, *by), (cursor, end));
    }

    pub(super) fn stream_ended(&mut self, at: Time, ticket: Ticket) {
        if let Some((user, _)) = self.border.end(ticket)
            && self.model.inbox(user).is_some()
            && !self.border.is_finished
        {
            // The server ends a stream only when its participant is forgotten, or when it stops.
            self.differ(at, Difference::Unasked(Unasked::End(user)));
        }
    }

    pub(super) fn gone(&mut self, at: Time, ticket: Ticket) {
        if let Some((user, by)) = self.border.end(ticket) {
            if by == ReadBy::Handle {
                self.pipeline.imply(at, Entry::CloseStream { user });
            }
            return;
        }
        if let Some(user) = self.border.call(ticket).and_then(|call| call.user) {
            self.long_polls.end_call(user, ticket);
        }
        self.border.gone(ticket);
    }
}
