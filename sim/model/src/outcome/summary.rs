//! What is known of a run before it is judged, and of several seeds together, besides the result: users,
//! arrivals, faults, and the charts of a report, which merge over seeds like the metrics.

use std::sync::Arc;

use chat_types::{Span, Time};
use serde::Serialize;

use super::{RunResult, Tally};
use crate::protocol::User;
use crate::user_name::UserName;

/// The instant at which every run begins; reports count from it.
pub const START: Time = Time(0);

/// A finished run of one seed, without its judgement.
#[derive(Clone, Debug, Default)]
pub struct WorldOutcome {
    /// The seed.
    pub seed: u64,
    /// The hash of every step.
    pub trace_hash: u64,
    /// When it ended.
    pub ended_at: Time,
    /// All users, in the order of their arrival.
    pub users: Vec<UserOutcome>,
    /// The number of users of each persona, in the order of the scenario; empty for the steps form,
    /// whose users have no personas.
    pub by_persona: Vec<u64>,
    /// Calls, of any kind, that were skipped because the user had no handle.
    pub skipped: u64,
    /// The number of steps.
    pub steps: u64,
    /// `sometimes` points and coverage.
    pub tally: Tally,
    /// Arrivals and faults over time.
    pub timeline: Timeline,
}

impl WorldOutcome {
    /// The virtual time from the first to the last event.
    #[must_use]
    pub fn span(&self) -> Span {
        self.ended_at.since(START)
    }
}

/// One user of a finished run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserOutcome {
    /// Its name in the scenario, such as `penpal#12`.
    pub name: Arc<str>,
    /// Its last id on the server.
    pub user: Option<User>,
    /// What it still waits for; `None` if it is done or disconnected permanently.
    pub waiting: Option<Waiting>,
}

impl UserOutcome {
    /// The name by which it is shown.
    #[must_use]
    pub fn shown(&self) -> UserName {
        UserName::new(self.user, &self.name)
    }
}

/// What a user waits for, at which step, and since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The step of its flow, such as `flow[1] await`.
    pub at: String,
    /// What it waits for, in the protocol's terms: `message.received`, `the answer to push`.
    pub waiting_for: String,
    /// The beginning of the wait.
    pub since: Time,
}

/// Arrivals and faults of a run, in spans since its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// The length of a bucket.
    pub bucket: Span,
    /// The number of arrivals in each bucket.
    pub arrivals: Vec<u64>,
    /// Faults, ordered by time.
    pub marks: Vec<Mark>,
    /// When all faults ended.
    pub healed_at: Option<Span>,
    /// When all users had come to their end; none if the run ended before.
    pub quiet_at: Option<Span>,
    /// When the run ended.
    pub ended_at: Span,
}

/// A labelled event of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its time.
    pub at: Span,
    /// Its label: `crash`, `partition`.
    pub label: String,
    /// The index of the fault that began then, in the plan of its seed. None for other events, and in
    /// a live run, which leaves faults of the plan out.
    pub fault: Option<usize>,
}

impl Timeline {
    /// A timeline with buckets of this length.
    #[must_use]
    pub fn new(bucket: Span) -> Self {
        Self {
            bucket,
            ..Self::default()
        }
    }

    /// Adds an arrival.
    pub fn arrive(&mut self, at: Span) {
        let index = usize::try_from(at.0 / self.bucket.0.max(1)).unwrap_or(usize::MAX);
        // In a very long run, all later arrivals count in the last bucket.
        let index = index.min(9_999);
        if self.arrivals.len() <= index {
            self.arrivals.resize(index + 1, 0);
        }
        self.arrivals[index] += 1;
    }

    /// Adds a labelled event; `fault` is the index of the fault that begins.
    pub fn mark(&mut self, at: Span, label: &str, fault: Option<usize>) {
        self.marks.push(Mark {
            at,
            label: label.to_owned(),
            fault,
        });
    }

    /// Adds another seed's timeline of the plan: arrivals are summed, the faults are those of the
    /// first, and the latest end counts.
    pub fn merge(&mut self, other: Self) {
        if self.bucket == Span::ZERO {
            *self = other;
            return;
        }
        if self.arrivals.len() < other.arrivals.len() {
            self.arrivals.resize(other.arrivals.len(), 0);
        }
        for (mine, theirs) in self.arrivals.iter_mut().zip(other.arrivals) {
            *mine += theirs;
        }
        self.healed_at = self.healed_at.max(other.healed_at);
        let quiet_at = self.quiet_at.zip(other.quiet_at);
        self.quiet_at = quiet_at.map(|(mine, theirs)| mine.max(theirs));
        self.ended_at = self.ended_at.max(other.ended_at);
    }
}

/// The number of users whose waits are kept, the longest first. The worst of many seeds are among
/// the worst of each, so merging is exact.
const WORST: usize = 240;

/// The curves of a run, and its longest waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Charts {
    /// A curve for each metric with values.
    pub curves: Vec<Curve>,
    /// Waits in the queue.
    pub queue: UserWaits,
    /// Waits for a stick.
    pub stick: UserWaits,
}

/// A metric's values by percentile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// The metric's name.
    pub metric: &'static str,
    /// The number of values.
    pub count: u64,
    /// Points of a percentage and the milliseconds that this share of the values does not exceed.
    /// The curve ends with the largest value, at the percentile above which there is only that one.
    pub points: Vec<(f64, f64)>,
}

/// The longest waits of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UserWaits {
    /// The number of users that waited.
    pub users: u64,
    /// The users with the longest waits, the longest first.
    pub worst: Vec<UserWait>,
}

/// The waits of one user.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UserWait {
    /// The user: its id and its name in the scenario.
    #[serde(flatten)]
    pub who: UserName,
    /// The seed of its run.
    pub seed: u64,
    /// The longest of its waits, in milliseconds.
    pub longest_ms: f64,
    /// The number of its waits.
    pub waits: u32,
    /// The largest number of times that it was bypassed during one wait.
    pub overtaken: u64,
    /// Whether the longest wait had not ended at the end of the run.
    pub open: bool,
}

impl UserWaits {
    /// The waits of these users, in the order of their arrival.
    #[must_use]
    pub fn of(all: Vec<UserWait>) -> Self {
        let mut waits = Self {
            users: all.len() as u64,
            worst: all,
        };
        waits.settle();
        waits
    }

    /// Adds another seed's users.
    pub fn merge(&mut self, other: &Self) {
        self.users += other.users;
        self.worst.extend(other.worst.iter().cloned());
        self.settle();
    }

    /// The sort is stable: among equals the earlier seed, and in it the earlier user, comes first.
    fn settle(&mut self) {
        self.worst
            .sort_by(|a, b| b.longest_ms.total_cmp(&a.longest_ms));
        self.worst.truncate(WORST);
    }
}

/// A seed with a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailingSeed {
    /// The seed.
    pub seed: u64,
    /// Its trace hash; none if its run panicked.
    pub trace_hash: Option<u64>,
}

/// The result of a run, with details for reports.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The result.
    pub result: RunResult,
    /// The number of users of each persona, over all seeds, in the order of the scenario.
    pub by_persona: Vec<u64>,
    /// Arrivals and faults over time, over all seeds.
    pub timeline: Timeline,
    /// The first 1,000 seeds with a violation.
    pub failing: Vec<FailingSeed>,
    /// The charts, over all seeds.
    pub charts: Charts,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_merge_into_one_timeline() {
        let mut merged = Timeline::default();
        let mut one = Timeline::new(Span::secs(1));
        one.arrive(Span::ZERO);
        one.quiet_at = Some(Span::secs(5));
        let mut other = Timeline::new(Span::secs(1));
        other.arrive(Span::secs(2));
        other.quiet_at = Some(Span::secs(7));
        merged.merge(one.clone());
        merged.merge(other);
        assert_eq!(merged.arrivals, [1, 0, 1]);
        assert_eq!(merged.quiet_at, Some(Span::secs(7)));
        merged.merge(Timeline {
            quiet_at: None,
            ..one
        });
        assert_eq!(merged.quiet_at, None);
    }

    fn wait(user: u64, seed: u64, longest_ms: f64) -> UserWait {
        UserWait {
            who: UserName::new(None, &format!("penpal#{user}")),
            seed,
            longest_ms,
            waits: 1,
            overtaken: 0,
            open: false,
        }
    }

    #[test]
    fn merging_keeps_the_worst_of_all_whatever_the_grouping() {
        let seed = |seed: u64| {
            let users =
                (0..200).map(|n| wait(n, seed, ((n * 7_919 + seed * 104_729) % 1_000) as f64));
            UserWaits::of(users.collect())
        };
        let mut left = seed(1);
        left.merge(&seed(2));
        left.merge(&seed(3));
        let mut rest = seed(2);
        rest.merge(&seed(3));
        let mut right = seed(1);
        right.merge(&rest);
        assert_eq!(left, right);
        assert_eq!((left.users, left.worst.len()), (600, WORST));
        let ordered = |pair: &[UserWait]| pair[0].longest_ms >= pair[1].longest_ms;
        assert!(left.worst.windows(2).all(ordered));
        let mut all: Vec<f64> = (1..=3)
            .flat_map(|n| seed(n).worst)
            .map(|wait| wait.longest_ms)
            .collect();
        all.sort_by(|a, b| b.total_cmp(a));
        let kept: Vec<f64> = left.worst.iter().map(|wait| wait.longest_ms).collect();
        assert_eq!(kept, all[..WORST]);
    }
}
