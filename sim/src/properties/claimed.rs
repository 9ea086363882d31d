//! What answers tell of messages: which call made which, and which message no call can have made.

use super::Judge;
use super::ledger::client::{Ask, Call, Explanation};
use super::ledger::draft::Said;
use super::ledger::room::{Claim, Patience};
use crate::history::Record;
use crate::protocol::{Agent, Answer, CallId, Op, Outcome, Room};

impl Judge {
    /// A sender was told where its message stands.
    pub(super) fn claimed(
        &mut self,
        agent: Agent,
        person: usize,
        call: &Call,
        (room, seq): (Room, u64),
    ) {
        let (said, floor) = match call.ask {
            // The floor is that of the room that the call meant, for all its sender knew.
            Ask::Speak {
                said,
                floor,
                meant,
                named: _,
            } => (said, if meant == Some(room) { floor } else { 0 }),
            Ask::EnterQueue | Ask::LeaveQueue | Ask::Withdraw(_) | Ask::Other => {
                (Said::Anything, 0)
            }
        };
        let (l, f) = (&mut self.ledger, &mut self.findings);
        let user = l.people[person].user;
        let claim = Claim {
            agent,
            call: call.id,
            called_at: call.at,
            said,
        };
        let claimed = l.claim(room, seq, user, claim);
        let waited = l.client(agent).explained(room, seq);
        self.room_order
            .claimed(l, (user, room, seq, floor), claim, &claimed, f);
        self.no_phantoms
            .claimed(l, (user, room, seq, said), &claimed, waited, f);
        if let Some(slot) = claimed.slot {
            self.room_lifecycle.placed(l, slot, user, seq, f);
            self.in_order(slot, Patience::Stall);
        }
    }

    /// A second answer to a call arrived.
    pub(super) fn answered_again(
        &mut self,
        record: &Record<'_>,
        id: CallId,
        op: &Op,
        outcome: &Outcome,
    ) {
        let person = self.ledger.who(record);
        if matches!(op, Op::Check { .. }) {
            self.ledger.client(record.agent).take_page(record.at);
            return;
        }
        let client = self.ledger.client(record.agent);
        let settled = client.settled.iter().rev().find(|s| s.call.id == id);
        let first = settled.cloned();
        if let Some(settled) = &first {
            self.idempotent_requests.answered_again(
                &self.ledger,
                settled,
                outcome,
                &mut self.findings,
            );
        }
        let client = self.ledger.client(record.agent);
        let unsure = client.unsure.iter_mut().find(|call| call.id == id);
        let call = first.as_ref().map(|s| s.call).or(unsure.map(|call| {
            call.used += u32::from(matches!(outcome, Ok(Answer::Sent { .. })));
            *call
        }));
        if let (Some(person), Some(call), Ok(Answer::Sent { room, room_seq, .. })) =
            (person, call, outcome)
        {
            let same = matches!(
                first.map(|s| s.outcome),
                Some(Ok(Answer::Sent { room: r, room_seq: s, .. })) if r == *room && s == *room_seq
            );
            if !same {
                self.claimed(record.agent, person, &call, (*room, *room_seq));
            }
        }
        self.judge_overdue(record.agent);
    }

    /// Judges the messages of this virtual user that no open call can explain any more.
    pub(super) fn judge_overdue(&mut self, agent: Agent) {
        let copies = self.ledger.copies;
        for message in self.ledger.client(agent).take_overdue() {
            let client = self.ledger.client(agent);
            let explanation = client.explain(&message, copies);
            let (l, f) = (&self.ledger, &mut self.findings);
            match explanation {
                Explanation::Call | Explanation::Uncountable => {}
                Explanation::Again { call, repeated } => {
                    self.no_duplicates.sent_twice(l, &message, f);
                    self.counts.duplicated += 1;
                    if repeated {
                        self.idempotent_requests.sent_twice(l, &message, call, f);
                    }
                }
                Explanation::Refused(code) => self.no_phantoms.unsent(l, &message, Some(code), f),
                Explanation::Nothing => self.no_phantoms.unsent(l, &message, None, f),
            }
        }
    }
}
