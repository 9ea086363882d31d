//! The judge of a cluster's history: facts in their real order, and rules over them.
//!
//! It shares no code with the members. It reads the log's records by its own parser, finds the
//! writes in them by their texts, and never asks a member what it believes.

mod append_times;
mod record;

use std::fmt;

use chat_types::{Span, Time};
use rustc_hash::{FxHashMap, FxHashSet};
pub use sim_model::cluster::{ClusterFact, LogOwner};
use sim_model::names::Property;
use sim_model::plan::Plan;

use append_times::AppendTimes;
use record::{LogRecord, RecordKind};

/// The text of a write: what a client says, and what is searched for in the log.
#[must_use]
pub fn text_of(write: u64) -> String {
    format!("{}{write:06}", record::MARK)
}

/// The write with this text.
#[must_use]
pub fn write_of(text: &str) -> Option<u64> {
    text.strip_prefix(record::MARK)?.parse().ok()
}

chat_types::listed! {
    /// The rules.
    ClusterRule {
        /// Only its claimant writes under an epoch, and nobody does after a later claim or a resignation.
        /// Members name the owner of the last record that they have applied. A member that
        /// resigned does not claim the log again for a while.
        OneOwner "cluster_one_owner",
        /// At most one member takes calls at an instant, and none whose resignation is in the log.
        OneLease "cluster_one_lease",
        /// Members agree at equal sequences.
        Agreement "cluster_agreement",
        /// What was accepted is in the log, and is shown once.
        Acknowledged "cluster_acknowledged",
        /// What was refused as not done is not done.
        Refused "cluster_refused",
        /// A read shows all that was accepted before it began: who answers a call owned the log when it
        /// arrived.
        FreshReads "cluster_fresh_reads",
        /// What a member appends is in the log in time, or is known not to be. This needs the
        /// plan of a scenario.
        LogProgress "cluster_log_progress",
        /// A member that departs leaves no call open. After the faults, clients are served, members
        /// follow, one of them owns the log, calls are answered.
        Progress "cluster_progress",
    }
}

impl ClusterRule {
    /// The property of scenarios that the rule belongs to.
    #[must_use]
    pub const fn property(self) -> Property {
        match self {
            Self::OneOwner | Self::OneLease => Property::OneOwner,
            Self::Agreement => Property::NodesAgree,
            Self::Acknowledged | Self::Refused => Property::Durability,
            Self::FreshReads => Property::Outcomes,
            Self::LogProgress => Property::LogProgress,
            Self::Progress => Property::DeliveryProgress,
        }
    }
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterViolation {
    /// The rule.
    pub rule: ClusterRule,
    /// The facts against it, in words.
    pub detail: String,
}

impl fmt::Display for ClusterViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule.name(), self.detail)
    }
}

/// How long a member that resigned leaves the log to others: six seconds by its own clock, which is
/// half too fast at most.
const HAND_OVER: Span = Span::secs(4);

/// Judges one history.
#[derive(Clone, Debug, Default)]
pub struct ClusterJudge {
    /// The instant of the latest fact, if it is known.
    now: Option<Time>,
    last: u64,
    /// The epoch of the latest claim.
    pub epoch: u64,
    /// The owner from each claim on, and none from a resignation on.
    owners: Vec<(u64, Option<LogOwner>)>,
    /// The owner that resigned last, with the instant if it is known; none after the next claim.
    resigned: Option<(LogOwner, Option<Time>)>,
    /// The writes of the log, with their order in it.
    written: FxHashMap<u64, usize>,
    /// The members that take calls.
    leases: Vec<u64>,
    /// The first member that said its state after a record, or at a position, and that state.
    states: FxHashMap<u64, (u64, (u64, u64))>,
    digests: FxHashMap<u64, (u64, (u64, u64))>,
    /// The writes that were accepted.
    pub accepted: Vec<u64>,
    not_done: FxHashSet<u64>,
    /// How many writes were accepted when a read began.
    reads: FxHashMap<u64, usize>,
    /// The calls of members: the member, and the owner of the log when the call arrived.
    asked: FxHashMap<u64, (u64, Option<u64>)>,
    appends: AppendTimes,
    /// How often each rule was checked.
    checks: [u64; ClusterRule::ALL.len()],
    /// The violations so far.
    pub violations: Vec<ClusterViolation>,
}

impl ClusterJudge {
    /// A judge of the servers of a scenario.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        Self {
            appends: AppendTimes::of(plan),
            ..Self::default()
        }
    }

    /// Looks for what should have happened before this instant.
    pub fn look_for_late(&mut self, at: Time) {
        if let Some(late) = self.appends.take_late(at) {
            self.check(ClusterRule::LogProgress, false, || late);
        }
    }

    /// Takes the next fact, of this instant.
    pub fn observe_at(&mut self, at: Time, fact: &ClusterFact) {
        self.now = Some(at);
        self.look_for_late(at);
        if self.appends.observe(at, fact) {
            self.check(ClusterRule::LogProgress, true, String::new);
        }
        self.observe(fact);
    }

    /// How often the rule was checked.
    #[must_use]
    pub fn checks(&self, rule: ClusterRule) -> u64 {
        self.checks[rule as usize]
    }

    /// The owner after the record with this sequence.
    fn owner_at(&self, sequence: u64) -> Option<LogOwner> {
        let until = self.owners.partition_point(|(from, _)| *from <= sequence);
        self.owners[..until].last()?.1
    }

    fn check(&mut self, rule: ClusterRule, holds: bool, detail: impl FnOnce() -> String) {
        self.checks[rule as usize] += 1;
        if !holds {
            let detail = detail();
            self.violations.push(ClusterViolation { rule, detail });
        }
    }

    /// Takes the next fact, of an unknown instant.
    pub fn observe(&mut self, fact: &ClusterFact) {
        match fact {
            ClusterFact::Appended { sequence, bytes } => self.appended(*sequence, bytes),
            ClusterFact::Applied {
                member,
                sequence,
                state,
                owner,
            } => self.applied(*member, *sequence, *state, *owner),
            ClusterFact::State {
                member,
                position,
                digest,
            } => self.state(*member, *position, *digest),
            ClusterFact::Leases(members) => self.leases(members),
            ClusterFact::Accepted(write) => self.accept(*write),
            ClusterFact::NotDone(write) => {
                self.refuse(*write);
                self.not_done.insert(*write);
            }
            ClusterFact::NotYet(write) => self.refuse(*write),
            ClusterFact::Odd { member, code } => self.check(ClusterRule::FreshReads, false, || {
                format!("member {member} refused a registered client's call as {code}")
            }),
            ClusterFact::Asked { member, call } => {
                let owner = self.owner_at(self.last).map(|owner| owner.author.0);
                self.asked.insert(*call, (*member, owner));
            }
            ClusterFact::GivenBack(call) | ClusterFact::CallerGone(call) => {
                self.asked.remove(call);
            }
            ClusterFact::ProcessEnded(member) => self.asked.retain(|_, (of, _)| of != member),
            ClusterFact::Departed(member) => {
                let is_left = self.asked.values().any(|(of, _)| of == member);
                self.check(ClusterRule::Progress, !is_left, || {
                    format!("member {member} departed, and neither answered nor gave back a call")
                });
            }
            ClusterFact::Answered { member, call } => self.answered(*member, *call),
            ClusterFact::AppendBegan(_)
            | ClusterFact::AppendEnded(_)
            | ClusterFact::Hindered(_)
            | ClusterFact::Unhindered(_)
            | ClusterFact::Harmed
            | ClusterFact::Healed => {}
            ClusterFact::ReadBegan(read) => {
                self.reads.insert(*read, self.accepted.len());
            }
            ClusterFact::Read {
                read,
                member,
                shown,
                more,
            } => self.read(*read, *member, shown, *more),
            ClusterFact::Stranded(member) => self.check(ClusterRule::Agreement, false, || {
                format!("member {member} cannot apply the log, or has another state than its owner")
            }),
            ClusterFact::Ended {
                members,
                due,
                is_calm,
                starved,
                unanswered,
            } => {
                self.followed(members, *due, *is_calm);
                self.served(starved, unanswered);
            }
        }
    }

    fn accept(&mut self, write: u64) {
        let holds = self.written.contains_key(&write);
        self.check(ClusterRule::Acknowledged, holds, || {
            format!("write {write} was accepted, and the log does not have it")
        });
        self.accepted.push(write);
    }

    fn refuse(&mut self, write: u64) {
        let holds = !self.written.contains_key(&write);
        self.check(ClusterRule::Refused, holds, || {
            format!("write {write} was refused as not done, and the log has it")
        });
    }

    fn state(&mut self, member: u64, position: u64, digest: u64) {
        let said = (position, digest);
        let (first, known) = *self.digests.entry(position).or_insert((member, said));
        self.check(ClusterRule::Agreement, known == said, || {
            format!("at position {position} members {first} and {member} differ")
        });
    }

    fn leases(&mut self, members: &[u64]) {
        self.check(ClusterRule::OneLease, members.len() < 2, || {
            format!("members {members:?} take calls at one instant")
        });
        self.leases = members.to_vec();
        self.check_resigned();
    }

    /// A member that has resigned takes no calls: its lease ended before the log received the
    /// resignation.
    fn check_resigned(&mut self) {
        let Some((LogOwner { author, .. }, _)) = self.resigned else {
            return;
        };
        let holds = !self.leases.contains(&author.0);
        self.check(ClusterRule::OneLease, holds, || {
            format!("member {author:?} takes calls, and its resignation is in the log")
        });
    }

    fn appended(&mut self, sequence: u64, bytes: &[u8]) {
        assert_eq!(sequence, self.last + 1, "the log of the world has no holes");
        self.last = sequence;
        let Some(LogRecord {
            epoch,
            author,
            kind,
        }) = LogRecord::parse(bytes)
        else {
            return self.check(ClusterRule::OneOwner, false, || {
                format!("record {sequence} has not the form of a record")
            });
        };
        let (before, author_of) = (self.owner_at(sequence), LogOwner { epoch, author });
        let holds = match kind == RecordKind::Claim {
            true => epoch == self.epoch + 1,
            false => before == Some(author_of),
        };
        self.check(ClusterRule::OneOwner, holds, || {
            format!(
                "record {sequence} is a {kind:?} of member {author:?} under epoch {epoch}, after {before:?}"
            )
        });
        match kind {
            RecordKind::Claim => {
                self.epoch = epoch;
                self.owners.push((sequence, Some(author_of)));
                if let Some((last, resigned_at)) = self.resigned.take() {
                    let leaves = resigned_at.zip(self.now);
                    let has_left = leaves.is_none_or(|(at, now)| now >= at + HAND_OVER);
                    let holds = author != last.author || has_left;
                    self.check(ClusterRule::OneOwner, holds, || {
                        format!("member {author:?} resigned, and claims the log again in record {sequence}")
                    });
                }
            }
            RecordKind::Resigned => {
                self.owners.push((sequence, None));
                self.resigned = Some((author_of, self.now));
                self.check_resigned();
            }
            RecordKind::Batch | RecordKind::Heartbeat | RecordKind::Noop => {}
        }
        for write in record::writes(bytes) {
            let order = self.written.len();
            self.written.entry(write).or_insert(order);
            let holds = !self.not_done.contains(&write);
            self.check(ClusterRule::Refused, holds, || {
                format!("write {write} was refused as not done, and is in record {sequence}")
            });
        }
    }

    fn applied(&mut self, member: u64, sequence: u64, state: (u64, u64), named: Option<LogOwner>) {
        let (first, known) = *self.states.entry(sequence).or_insert((member, state));
        self.check(ClusterRule::Agreement, known == state, || {
            format!("after record {sequence} member {first} is at {known:?}, member {member} at {state:?}")
        });
        let holds = sequence <= self.last;
        self.check(ClusterRule::Agreement, holds, || {
            format!("member {member} has applied record {sequence}, which the log does not have")
        });
        let owner = self.owner_at(sequence);
        self.check(ClusterRule::OneOwner, named == owner, || {
            format!("after record {sequence} the owner is {owner:?}, and member {member} names {named:?}")
        });
    }

    /// Without the ownership at the arrival of a call, its state may have been old.
    fn answered(&mut self, member: u64, call: u64) {
        let Some((_, owner)) = self.asked.remove(&call) else {
            return;
        };
        self.check(ClusterRule::FreshReads, owner == Some(member), || {
            format!("member {member} answered a call, and member {owner:?} owned the log when it arrived")
        });
    }

    fn read(&mut self, read: u64, member: u64, shown: &[u64], more: bool) {
        let mut distinct = FxHashSet::default();
        let twice = shown.iter().find(|write| !distinct.insert(**write));
        distinct.extend(shown);
        self.check(ClusterRule::Acknowledged, twice.is_none(), || {
            format!("member {member} shows write {twice:?} twice")
        });
        let order = |write: &u64| self.written.get(write).copied();
        let phantom = shown.iter().find(|write| order(write).is_none()).copied();
        let oldest = shown.first().and_then(order).filter(|_| more);
        let owed = self.reads.get(&read).copied().unwrap_or_default();
        let missing = self.accepted[..owed]
            .iter()
            .find(|write| !distinct.contains(write) && order(write) >= oldest)
            .copied();
        self.check(ClusterRule::Acknowledged, phantom.is_none(), || {
            format!("member {member} shows write {phantom:?}, which the log does not have")
        });
        self.check(ClusterRule::FreshReads, missing.is_none(), || {
            format!(
                "read {read} at member {member} does not show write {missing:?}, accepted before it began"
            )
        });
    }

    fn followed(&mut self, members: &[(u64, u64)], due: u64, is_calm: bool) {
        // An owner appends a heartbeat every second.
        let holds = !is_calm || self.last > due;
        self.check(ClusterRule::Progress, holds, || {
            format!("nothing hinders the members, and none has appended a record after {due}")
        });
        for (member, sequence) in members {
            self.check(ClusterRule::Progress, *sequence >= due, || {
                format!(
                    "member {member} has applied record {sequence} and none after it, and should have applied record {due}"
                )
            });
        }
    }

    fn served(&mut self, starved: &[u64], unanswered: &[u64]) {
        self.check(ClusterRule::Progress, starved.is_empty(), || {
            format!("clients {starved:?} have had no write accepted since the faults ended")
        });
        self.check(ClusterRule::Progress, unanswered.is_empty(), || {
            format!("calls {unanswered:?} were never answered")
        });
    }
}

#[cfg(test)]
mod tests;
