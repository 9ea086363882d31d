//! Faults healed, every inbox drains within 10 s, except of users gone for good.
//!
//! Counted from the later of the heal and the end of the user's flow. Who is still in the middle
//! of its flow when the run ends was not asked to drain: then nothing that was known 10 s before
//! the end may be missing in its inbox.

use chat_core::{Span, Time};

use super::findings::{Findings, Property, name};
use super::ledger::Ledger;
use crate::protocol::User;

/// How long an inbox may take.
const PATIENCE: Span = Span::secs(10);

/// The property.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeliveryProgress {
    pub(crate) checks: u64,
}

impl DeliveryProgress {
    /// The run is over: who drained, and when, counted from the later of the heal and the end of
    /// the user's flow.
    pub(crate) fn finish(&mut self, l: &mut Ledger, now: Time, f: &mut Findings) {
        let Some(healed) = l.clock.healed_at else {
            return;
        };
        for index in 0..l.clients.len() {
            let client = &l.clients[index];
            let Some((user, person)) = client.current else {
                continue;
            };
            if client.vanished || l.people[person].gone {
                continue;
            }
            self.checks += 1;
            let due = client.finished_at.map(|at| at.max(healed) + PATIENCE);
            match (client.drained_at, due) {
                (None, None) => {
                    l.people[person].read_at = Time(now.0.saturating_sub(PATIENCE.0));
                    if !l.take_lacks(person).is_empty() {
                        undrained(user, now, f);
                    }
                }
                (None, Some(_)) => undrained(user, now, f),
                (Some(drained_at), Some(due)) if drained_at > due => {
                    let took = drained_at.since(due) + PATIENCE;
                    f.blame(Property::DeliveryProgress, drained_at, &[user], || {
                        format!("{}'s inbox took {took} to drain", name(user))
                    });
                }
                (Some(_), _) => {}
            }
        }
    }
}

fn undrained(user: User, now: Time, f: &mut Findings) {
    f.blame(Property::DeliveryProgress, now, &[user], || {
        format!("{}'s inbox was not drained by the end", name(user))
    });
}
