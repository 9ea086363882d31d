//! How long an append to the shared log may take (docs/protocol.md, 13.5).

use chat_types::{Span, Time};
use rustc_hash::FxHashMap;
use sim_model::cluster::ClusterFact;
use sim_model::plan::{FaultKind, Plan};

/// Packets between machines, and a read of the record that is in the way.
const PACKETS: Span = Span::millis(10);

/// The longest time from the end of all faults to the next attempt of an append, and the reads after
/// that: an attempt or a read without an answer is over after a second, six reads follow one
/// another, and a pause of a quarter of a second follows a read that found nothing. By a clock that
/// is a tenth too slow.
const RECOVERY: Span = Span::secs(10);

/// The appends in flight, one for each member at most.
#[derive(Clone, Debug, Default)]
pub(super) struct AppendTimes {
    /// The longest time of an attempt while nothing is wrong, and with the slowest disk.
    attempt: Span,
    slowest_attempt: Span,
    members: FxHashMap<u64, MemberAppend>,
    /// Whether a replica has lost or changed a record, which the next owner may have to read.
    is_harmed: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct MemberAppend {
    began: Option<Time>,
    is_hindered: bool,
    unhindered_since: Time,
}

impl AppendTimes {
    pub(super) fn of(plan: &Plan) -> Self {
        let attempt = Span(plan.capacity.commit.max());
        let factors = plan.faults.iter().map(|fault| {
            let FaultKind::SlowDisk { factor, .. } = fault.kind else {
                return 1;
            };
            factor
        });
        let factor = factors.max().unwrap_or(1);
        Self {
            attempt: attempt + PACKETS,
            slowest_attempt: attempt.times(u64::from(factor)) + RECOVERY,
            ..Self::default()
        }
    }

    /// Takes a fact. Returns whether an append is over.
    pub(super) fn observe(&mut self, at: Time, fact: &ClusterFact) -> bool {
        if let ClusterFact::AppendBegan(member) = fact {
            self.member(*member).began = Some(at);
        } else if let ClusterFact::AppendEnded(member) = fact {
            return self.member(*member).began.take().is_some();
        } else if let ClusterFact::Hindered(member) = fact {
            self.member(*member).is_hindered = true;
        } else if let ClusterFact::Unhindered(member) = fact {
            let member = self.member(*member);
            member.is_hindered = false;
            member.unhindered_since = at;
        } else if *fact == ClusterFact::Harmed {
            self.is_harmed = true;
        }
        false
    }

    fn member(&mut self, member: u64) -> &mut MemberAppend {
        self.members.entry(member).or_default()
    }

    /// The first append that is not over at this instant, and should be, in words.
    pub(super) fn take_late(&mut self, at: Time) -> Option<String> {
        let late = self.members.iter().filter_map(|(member, append)| {
            let due = self.due(append)?;
            (due < at).then_some((*member, due.since(append.began?)))
        });
        let (member, took) = late.min()?;
        self.member(member).began = None;
        Some(format!(
            "an append of member {member} should be over after {took}, and is not"
        ))
    }

    /// When the append is over at the latest; none while something may hinder it.
    fn due(&self, append: &MemberAppend) -> Option<Time> {
        let began = append.began.filter(|_| !append.is_hindered)?;
        if began > append.unhindered_since && !self.is_harmed {
            return Some(began + self.attempt);
        }
        Some(began.max(append.unhindered_since) + self.slowest_attempt)
    }
}

#[cfg(test)]
mod tests;
