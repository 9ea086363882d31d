//! Faults healed, every inbox drains within 10 s, except of users gone for good.
//!
//! Counted from the later of the heal and the end of the user's flow. Who is still in the middle
//! of its flow when the run ends, or at the end of it for a shorter time, was not asked to drain:
//! then nothing that was known 10 s before the end may be missing in its inbox. And where somebody
//! has once read all that there was, it did drain, even if what others do goes on filling it.
//!
//! Where nothing goes wrong, whoever waits is told: a check that waits is answered when something
//! comes, and at the latest when its time is up; and what comes while a stream is open comes by it.

use chat_core::{Span, Time};

use super::findings::{Findings, Property, name};
use super::ledger::Ledger;
use super::ledger::checks::Check;
use crate::protocol::User;

/// How long an inbox may take.
const PATIENCE: Span = Span::secs(10);

/// The property.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeliveryProgress {
    pub(crate) checks: u64,
}

impl DeliveryProgress {
    /// An attempt of a check was given up that nothing was heard of.
    pub(crate) fn silent(&mut self, l: &Ledger, person: usize, check: &Check, f: &mut Findings) {
        let Some(calm_since) = l.calm.since(&l.clock) else {
            return;
        };
        let silence = l.clock.now.since(check.left_at);
        if check.left_at < calm_since || silence < check.wait + l.calm.within {
            return;
        }
        self.checks += 1;
        let user = l.people[person].user;
        f.blame(Property::DeliveryProgress, l.clock.now, &[user], || {
            format!(
                "{}'s check was to wait {} and was not answered in {silence}",
                name(user),
                check.wait
            )
        });
    }

    /// An event arrived by a check, `first` if by no other way before: it was not late if nothing
    /// was there to bring it sooner.
    pub(crate) fn read(
        &mut self,
        l: &Ledger,
        person: usize,
        (sent_at, first): (Time, bool),
        f: &mut Findings,
    ) {
        let Some(calm_since) = l.calm.since(&l.clock) else {
            return;
        };
        let sent_at = Time(sent_at.0.saturating_sub(l.clock.jumped.0));
        let someone = &l.people[person];
        let within = l.calm.within;
        let there_since = |since: Time| sent_at >= calm_since.max(since + within);
        let waiting = someone.checks.waiting();
        let waited = waiting.is_some_and(|check| there_since(check.left_at));
        let streamed = first && someone.streaming.is_some_and(there_since);
        if !waited && !streamed {
            return;
        }
        self.checks += 1;
        let took = l.clock.now.since(sent_at);
        if took > within {
            let user = someone.user;
            f.blame(Property::DeliveryProgress, l.clock.now, &[user], || {
                let what = if waited {
                    "waiting check was"
                } else {
                    "open stream was"
                };
                format!("{}'s {what} not told for {took} of what came", name(user))
            });
        }
    }

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
            // Who finished a moment ago was not given the time.
            let due = due.filter(|due| client.drained_at.is_some() || *due <= now);
            // What came after that was read later, and may have come for as long as it liked.
            let read_out = due.is_some_and(|due| client.read_out_at.is_some_and(|at| at <= due));
            match (client.drained_at, due) {
                (_, Some(_)) if read_out => {}
                (None, None) if l.people[person].names_no_cursor => {}
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
