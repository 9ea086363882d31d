//! The witness: finds contradictions in the clients' histories alone.
//!
//! A live server without a journal shows only answers and events. The witness compares them with
//! each other, not with a model of the server. It reports only certain violations: two facts that
//! no correct server can show together. If a fact is missing (an answer that did not arrive, an
//! inbox with a gap, a participant whose client is not observed, or whose handle may be another's by
//! now), the witness counts the comparison as not judged.
//!
//! It makes no comparison whose facts a live driver cannot observe. The driver cancels an attempt
//! before the next, so that no call has two answers; therefore `idempotent_requests` is only judged
//! by the positions of messages with keys.
//!
//! `observations.rs` collects the facts. The other files hold the rules, each a function over
//! facts.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a rule names the events that it is about; no other concerns it"
)]

mod arrivals;
mod lost;
mod observations;
mod pairs;
mod sent;
mod stick;
#[cfg(test)]
pub(crate) mod tests;

use sim_model::history::{ClientEvent, DeliveryPath, Record};
use sim_model::protocol::{Answer, Body, Op, OpKind, Read, Reply, Response, User};

use crate::comparison::Comparison;
use crate::difference::Fact;
use crate::findings::{Findings, Property};

pub(crate) use observations::Witness;

impl Witness {
    /// Processes what a client did or observed.
    pub(crate) fn record(&mut self, record: &Record<'_>, findings: &mut Findings) {
        if let ClientEvent::Called { call, op, key, .. } = record.what {
            self.call((record.agent, call), record.user, op, key.is_some());
            if op.kind() == OpKind::EnterQueue {
                findings.leave_unjudged(Property::QueueProgress, 1);
            }
            if let OpKind::TalkingStick | OpKind::Speak = op.kind() {
                findings.leave_unjudged(Property::StickProgress, 1);
            }
        }
        if let ClientEvent::Called { .. } | ClientEvent::Retried { .. } = record.what
            && record.user.is_none()
        {
            self.register(record.at, record.agent);
        }
        if let Some(user) = record.user {
            if self.may_be_another(record.at, record.agent) {
                leave_unknown(record, findings);
            } else {
                self.record_of(user, record, findings);
            }
        }
    }

    fn record_of(&mut self, user: User, record: &Record<'_>, findings: &mut Findings) {
        let at = record.at;
        self.participants.entry(user).or_default();
        if let ClientEvent::Answered {
            call,
            op,
            called_at,
            outcome,
            ..
        } = record.what
        {
            findings.leave_unjudged(Property::Outcomes, 1);
            self.answer((record.agent, call), user, outcome, at);
            let answered = Fact::Answered(user, op.verb(), outcome.clone());
            if let (Op::Read { read, .. }, Ok(Response::Read(Answer::Page { page, .. }))) =
                (op, outcome)
                && let Read::Check { after, .. } = read
                && let Some(after) = after
            {
                // A page after a cursor begins directly after it: all of it arrived before the
                // answer of the check.
                findings.exercise(Property::NoLostMessages, 1);
                let participant = self.participants.entry(user).or_default();
                if participant.complete >= page.cursor.0 {
                    let left_at = (page.unread == 0).then_some(called_at);
                    participant.drained = participant.drained.max(left_at);
                } else if participant.complete >= after.0 {
                    let vacant = Fact::Vacant(user, participant.complete.saturating_add(1));
                    findings.contradict(Property::NoLostMessages, at, [answered, vacant]);
                }
            } else if let Ok(
                Response::Done(Reply::OnBreak {
                    stress, boss_alert, ..
                })
                | Response::Read(Answer::Mood { stress, boss_alert }),
            ) = outcome
            {
                let rule = Fact::Rule("stress is at most 100, the boss's alert at most 5");
                let holds = *stress <= 100 && *boss_alert <= 5;
                findings.compare(Property::BreaksRules, holds, at, || [rule, answered]);
            }
        } else if let ClientEvent::Received {
            seq,
            sent_at,
            event,
            path,
            ..
        } = record.what
        {
            if path == DeliveryPath::Stream {
                findings.leave_unjudged(Property::StreamContinuity, 1);
            }
            self.arrive((at, sent_at), (user, seq), event, findings);
        }
    }

    /// The run is over: makes the comparisons that need the whole run.
    pub(crate) fn finish(&self, findings: &mut Findings) {
        arrivals::judge(self, findings);
        sent::judge(self, findings);
        lost::judge(self, findings);
        stick::judge(self, findings);
        pairs::judge(self, findings);
        self.leave_unjudged(findings);
    }

    /// Counts what only the server's own records could decide.
    fn leave_unjudged(&self, findings: &mut Findings) {
        for seen in self.events() {
            let property = match Comparison::of_event(&seen.event.body) {
                Comparison::Found => Property::FifoMatching,
                Comparison::Moderated => Property::Moderation,
                Comparison::There | Comparison::Member => Property::Presence,
                Comparison::Message => Property::DeliveryProgress,
                _ => continue,
            };
            findings.leave_unjudged(property, 1);
        }
    }
}

/// Counts what a client received that may be another participant than it knows.
fn leave_unknown(record: &Record<'_>, findings: &mut Findings) {
    let property = if let ClientEvent::Answered { .. } = record.what {
        Property::Outcomes
    } else if let ClientEvent::Received { event, .. } = record.what {
        if let Some(Body::Found(_)) = event.body() {
            Property::SingleMatch
        } else {
            Property::NoLostMessages
        }
    } else {
        return;
    };
    findings.leave_unjudged(property, 1);
}
