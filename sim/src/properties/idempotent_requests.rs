//! A repeated key has one effect and one answer.

use super::findings::{Findings, Property, name};
use super::ledger::Ledger;
use super::ledger::client::{Call, Key, Settled, Unexplained};
use crate::protocol::{Answer, CallId, Outcome, User};

/// The property.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdempotentRequests {
    pub(crate) checks: u64,
}

impl IdempotentRequests {
    /// A call was answered: a repeated one could have had two effects.
    pub(crate) fn answered(&mut self, call: &Call) {
        if call.key == Key::Keyed && call.attempts > 1 {
            self.checks += 1;
        }
    }

    /// A second answer to one call arrived.
    pub(crate) fn answered_again(
        &mut self,
        l: &Ledger,
        settled: &Settled,
        outcome: &Outcome,
        f: &mut Findings,
    ) {
        let exempt = |outcome: &Outcome| match outcome {
            Ok(answer) => matches!(answer, Answer::Read { .. }),
            Err(refusal) => refusal.is_retryable() || refusal.code == "unknown_handle",
        };
        if settled.call.key == Key::Unkeyed || exempt(&settled.outcome) || exempt(outcome) {
            return;
        }
        // Keys are remembered for participants: a refused mint made none.
        if settled.call.mints && (settled.outcome.is_err() || outcome.is_err()) {
            return;
        }
        self.checks += 1;
        if settled.outcome != *outcome {
            let users: Vec<User> = settled.call.by.into_iter().collect();
            f.blame(Property::IdempotentRequests, l.clock.now, &users, || {
                format!(
                    "one request was answered {:?}, then {outcome:?}",
                    settled.outcome
                )
            });
        }
    }

    /// A message stands twice in its room, made by one request.
    pub(crate) fn sent_twice(
        &mut self,
        l: &Ledger,
        message: &Unexplained,
        call: CallId,
        f: &mut Findings,
    ) {
        f.blame(
            Property::IdempotentRequests,
            l.clock.now,
            &[message.sender],
            || {
                format!(
                    "{}'s call {} made a second message, {} of room_{}",
                    name(message.sender),
                    call.0,
                    message.room_seq,
                    message.room.0
                )
            },
        );
    }

    /// A repeated append left the draft longer than one append does.
    pub(crate) fn draft_longer(
        &mut self,
        l: &Ledger,
        user: User,
        (length, expected): (u32, u32),
        f: &mut Findings,
    ) {
        f.blame(Property::IdempotentRequests, l.clock.now, &[user], || {
            format!(
                "{}'s draft has {length} characters after a repeated request, not {expected}",
                name(user)
            )
        });
    }
}
