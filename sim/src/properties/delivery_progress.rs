//! Faults healed, every inbox drains within 10 s, except of users gone for good.

use chat_core::{Span, Time};

use super::findings::{Findings, Property, name};
use super::ledger::Ledger;

/// How long an inbox may take.
const PATIENCE: Span = Span::secs(10);

/// The property.
#[derive(Debug, Default)]
pub(crate) struct DeliveryProgress {
    pub(crate) checks: u64,
}

impl DeliveryProgress {
    /// The run is over: who drained, and when, counted from the later of the heal and the end of
    /// the user's flow.
    pub(crate) fn finish(&mut self, l: &Ledger, now: Time, f: &mut Findings) {
        let Some(healed) = l.clock.healed_at else {
            return;
        };
        for client in &l.clients {
            let Some((user, person)) = client.current else {
                continue;
            };
            if client.vanished || l.people[person].gone {
                continue;
            }
            self.checks += 1;
            let due = client.finished_at.map_or(healed, |at| at.max(healed)) + PATIENCE;
            match client.drained_at {
                None => f.blame(Property::DeliveryProgress, now, &[user], || {
                    format!("{}'s inbox was not drained by the end", name(user))
                }),
                Some(drained_at) if client.finished_at.is_some() && drained_at > due => {
                    let late = drained_at.since(due) + PATIENCE;
                    f.blame(Property::DeliveryProgress, drained_at, &[user], || {
                        format!("{}'s inbox took {late} to drain", name(user))
                    });
                }
                Some(_) => {}
            }
        }
    }
}
