//! Answers, and the beginning and end of streams, as they enter and leave the server.

use chat_types::Time;
use sim_model::protocol::{Earlier, Outcome, Read, Refusal, Reply, Response};
use sim_model::server::{Call, Implied, Reader, Ticket};

use super::Auditor;
use super::in_flight::{Pending, Stage};
use crate::comparison::Comparison;
use crate::difference::{Channel, Difference, Unsolicited};

impl Auditor {
    pub(super) fn answered(&mut self, at: Time, ticket: Ticket, outcome: &Outcome) {
        let Some(call) = self.in_flight.take(ticket) else {
            let unasked = Unsolicited::Answer(outcome.clone());
            self.differ(at, Difference::Unsolicited(unasked));
            return;
        };
        self.tally.add(Comparison::Answer);
        if self.recovered {
            self.tally.add(Comparison::Recovered);
        }
        match call.stage {
            Stage::Unadmitted | Stage::Owed(_, Time::MAX) => {
                let call = call.summary();
                self.differ(at, Difference::Unserved { call });
            }
            Stage::Proposed | Stage::Joined(_) => {
                let (call, said) = (call.summary(), outcome.clone());
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
                    Ok(Response::Done(Reply::OnBreak {
                        stress, boss_alert, ..
                    })),
                    Some(mood),
                ) = (&mut owed, user.and_then(|user| self.model.mood(user, at)))
                {
                    (*stress, *boss_alert) = mood;
                }
                self.compare_answer(at, &call, &owed, outcome);
            }
            Stage::Reading { due_at: None, .. } => self.early(at, &call, outcome),
            Stage::Reading { start, .. } => {
                self.tally.add(Comparison::InTime);
                self.check_answered(at, &call, start, outcome);
            }
        }
    }

    fn early(&mut self, at: Time, call: &Pending, said: &Outcome) {
        let (call, said) = (call.summary(), said.clone());
        self.differ(at, Difference::Early { call, said });
    }

    pub(super) fn compare_answer(
        &mut self,
        at: Time,
        call: &Pending,
        owed: &Outcome,
        said: &Outcome,
    ) {
        if matches!(
            &*call.ask,
            Call::Read {
                read: Read::Mood,
                ..
            }
        ) {
            self.tally.add(Comparison::Mood);
        }
        // Another server may own the chat, and may have taken an attempt. // 13.5
        let unsure = match owed {
            Err(refusal) if refusal.earlier == Earlier::None => {
                let earlier = Earlier::Unknown;
                (!self.has_lease && !call.has_waited).then_some(Err(Refusal {
                    earlier,
                    ..*refusal
                }))
            }
            Ok(_) | Err(_) => None,
        };
        let owed = unsure.as_ref().unwrap_or(owed);
        if owed != said {
            let (call, owed, said) = (call.summary(), owed.clone(), said.clone());
            self.differ(at, Difference::Answer { call, owed, said });
        }
    }

    /// A stream is open, behind the place `shown`.
    pub(super) fn opened(&mut self, at: Time, ticket: Ticket, shown: Option<u64>) {
        let Some(call) = self.in_flight.take(ticket) else {
            self.differ(at, Difference::Unsolicited(Unsolicited::Opening));
            return;
        };
        let (Call::OpenStream { after, reader }, Some(user), Stage::Owed(owed, _)) =
            (call.ask.as_ref(), call.user, &call.stage)
        else {
            let (call, said) = (call.summary(), Ok(Response::Streaming));
            self.differ(at, Difference::Uncommitted { call, said });
            return;
        };
        if owed.is_err() {
            self.compare_answer(at, &call, owed, &Ok(Response::Streaming));
            return;
        }
        let end = self.model.inbox_end(user);
        let cursor = after.map_or(call.end, |after| after.0.min(call.end));
        self.in_flight
            .open(at, ticket, (user, *reader), (cursor, end));
        if let Some(shown) = shown.filter(|shown| *shown != cursor) {
            let page = |from: u64| (from, from, from < end);
            let difference = Difference::Reach {
                reader: user,
                channel: Channel::Stream,
                owed: page(cursor),
                seen: page(shown),
            };
            self.differ(at, difference);
        }
    }

    pub(super) fn stream_ended(&mut self, at: Time, ticket: Ticket) {
        if let Some((user, _)) = self.in_flight.end(ticket)
            && self.model.inbox(user).is_some()
            && !self.in_flight.is_finished
        {
            // The server ends a stream only when its participant is forgotten, or when it stops.
            self.differ(at, Difference::Unsolicited(Unsolicited::End(user)));
        }
    }

    pub(super) fn gone(&mut self, at: Time, ticket: Ticket) {
        if let Some((user, reader)) = self.in_flight.end(ticket) {
            if matches!(reader, Reader::Handle(_)) {
                self.pipeline.imply(at, user, Implied::CloseStream);
            }
            return;
        }
        if let Some(user) = self.in_flight.call(ticket).and_then(|call| call.user) {
            self.long_polls.end_call(user, ticket);
        }
        self.log_waits.remove(ticket);
        self.in_flight.gone(ticket);
    }
}
