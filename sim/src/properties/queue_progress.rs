//! Faults healed and two compatible users waiting: a match within 5 s.
//!
//! Two are known to wait as long as an inbox read to its end shows no match, and nothing happened
//! that may have put one out of the line unseen. Who waited since before the heal counts only if
//! the plan has no fault that makes the server take a user for gone. A plan without any fault needs
//! no heal: there, a match is owed from the start.

use chat_core::config::Matching;
use chat_core::{Span, Time};

use super::findings::{Findings, Property, name};
use super::ledger::Ledger;
use super::line::{Line, Standing, share_interest};
use crate::plan::{FaultKind, Plan};
use crate::protocol::User;

/// How long two may wait.
const PATIENCE: Span = Span::secs(5);

/// Whether a fault may put somebody out of the line without a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Faults {
    None,
    Harmless,
    MayEvict,
}

/// The property.
#[derive(Clone, Debug)]
pub(crate) struct QueueProgress {
    pub(crate) checks: u64,
    faults: Faults,
    blamed: Vec<(User, User)>,
}

impl QueueProgress {
    pub(crate) fn new(plan: &Plan) -> Self {
        let evicts = plan.network.stream_break.is_possible()
            || plan.faults.iter().any(|fault| match fault.kind {
                FaultKind::Crash { .. }
                | FaultKind::Partition { .. }
                | FaultKind::SlowReaders { .. }
                | FaultKind::FailDisk { .. }
                | FaultKind::Suspend { .. }
                | FaultKind::ClockJump { .. }
                | FaultKind::Operator(_) => true,
                FaultKind::SlowDisk { .. } | FaultKind::LoseReplies => false,
            });
        Self {
            checks: 0,
            faults: match (evicts, plan.faults.is_empty()) {
                (true, _) => Faults::MayEvict,
                (false, false) => Faults::Harmless,
                (false, true) => Faults::None,
            },
            blamed: Vec::new(),
        }
    }

    /// Somebody's inbox is empty as of `empty_at`: no match has come until then.
    pub(crate) fn emptied(&mut self, l: &Ledger, line: &Line, person: usize, f: &mut Findings) {
        let until = l.people[person].empty_at;
        self.look(l, line, person, until, None, f);
    }

    /// Somebody who waited was matched, at this time by the server's clock.
    pub(crate) fn matched(
        &mut self,
        l: &Ledger,
        line: &Line,
        (person, partner): (usize, User),
        matched_at: Time,
        f: &mut Findings,
    ) {
        let until = Time(matched_at.0.saturating_sub(l.clock.jumped.0));
        if self.owed_from(l).is_some_and(|from| until > from) {
            self.checks += 1;
            self.look(l, line, person, until, Some(partner), f);
        }
    }

    fn look(
        &mut self,
        l: &Ledger,
        line: &Line,
        person: usize,
        until: Time,
        partner: Option<User>,
        f: &mut Findings,
    ) {
        let Some(from) = self.owed_from(l) else {
            return;
        };
        let Some(me) = line.standing.iter().find(|s| s.person == person) else {
            return;
        };
        for other in &line.standing {
            if other.person == person || !self.counts(me, from) || !self.counts(other, from) {
                continue;
            }
            let until = if partner == Some(other.user) {
                until
            } else {
                until.min(l.people[other.person].empty_at)
            };
            let Some(since) = compatible_since(l, me, other) else {
                continue;
            };
            if until <= since.max(from) + PATIENCE {
                continue;
            }
            let pair = (me.user.min(other.user), me.user.max(other.user));
            if !self.blamed.contains(&pair) {
                self.blamed.push(pair);
                self.checks += 1;
                f.blame(Property::QueueProgress, l.clock.now, &[pair.0, pair.1], || {
                    format!(
                        "{} and {} could have been matched, and both waited more than {PATIENCE}",
                        name(pair.0),
                        name(pair.1)
                    )
                });
            }
        }
    }

    /// From when on two who wait are owed a match.
    fn owed_from(&self, l: &Ledger) -> Option<Time> {
        match self.faults {
            Faults::None => Some(Time(0)),
            Faults::Harmless | Faults::MayEvict => l.clock.healed_at,
        }
    }

    fn counts(&self, standing: &Standing, from: Time) -> bool {
        standing.steady && (standing.answered_at >= from || self.faults != Faults::MayEvict)
    }
}

/// From when on two who wait could have been matched.
fn compatible_since(l: &Ledger, a: &Standing, b: &Standing) -> Option<Time> {
    let (first, second) = (&l.people[a.person], &l.people[b.person]);
    let lost = first.is_lost() || second.is_lost();
    if lost || first.shuns(b.user) || second.shuns(a.user) {
        return None;
    }
    let both = a.answered_at.max(b.answered_at);
    let alike = l.config.matching != Matching::Interests || share_interest(first, second);
    Some(if alike {
        both
    } else {
        both + l.config.interest_patience
    })
}
