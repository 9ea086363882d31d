//! The merged result of several seeds.

use std::collections::BTreeMap;
use std::time::Duration;

use chat_types::Span;
use sim_judge::SeedOutcome;
use sim_judge::metrics::{Metrics, judged_by_thresholds};
use sim_model::draw::Ratio;
use sim_model::outcome::{
    Counts, Evidence, FailingSeed, LeftOutResult, Point, PropertyResult, RunResult, Stuck, Summary,
    Tally, ThresholdResult, Timeline, Violation, expects_refusals_at_the_door, is_silent, judge,
    unreached,
};
use sim_model::plan::Plan;

use super::Seeds;
use super::in_order::Ended;
use super::unlucky::Unlucky;

/// The largest number of violations and stuck users that a result lists. It counts the others.
const LIST_LIMIT: usize = 1_000;

/// The outcomes of seeds, added in order.
#[derive(Clone, Debug, Default)]
pub struct Merged {
    /// The first seed, and the number of them.
    first: u64,
    count: u64,
    /// The number of seeds that were added.
    added: u64,
    hash: u64,
    virtual_span: Span,
    users: u64,
    by_persona: Vec<u64>,
    steps: u64,
    properties: BTreeMap<String, PropertyResult>,
    violations: Listed<Violation>,
    failing: Listed<FailingSeed>,
    counts: Counts,
    metrics: Option<Metrics>,
    /// For each threshold, the first seed that crossed it, otherwise the first that measured it.
    thresholds: Vec<ThresholdResult>,
    tally: Tally,
    stuck: Listed<Stuck>,
    rest: Unlucky,
    left_out: Unlucky,
    timeline: Timeline,
}

/// A list of limited length that counts omitted items.
#[derive(Clone, Debug)]
struct Listed<T> {
    items: Vec<T>,
    left_out: u64,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            left_out: 0,
        }
    }
}

impl<T> Listed<T> {
    fn push(&mut self, item: T) {
        if self.items.len() < LIST_LIMIT {
            self.items.push(item);
        } else {
            self.left_out += 1;
        }
    }
}

impl Merged {
    pub(super) fn new(seeds: Seeds) -> Self {
        Self {
            first: seeds.first,
            count: seeds.count.get(),
            hash: HASH_OFFSET,
            ..Self::default()
        }
    }

    /// Adds the next seed.
    pub(super) fn add(&mut self, seed: u64, ended: Ended<SeedOutcome>) {
        self.added += 1;
        match ended {
            Ok(outcome) => self.add_outcome(seed, outcome),
            Err(words) => {
                self.add_hash(0);
                self.add_failing(seed, None);
                self.violations.push(Violation::of_panic(&words, seed));
            }
        }
    }

    fn add_failing(&mut self, seed: u64, trace_hash: Option<u64>) {
        self.failing.push(FailingSeed { seed, trace_hash });
    }

    fn add_outcome(&mut self, seed: u64, outcome: SeedOutcome) {
        self.add_hash(outcome.trace_hash);
        self.virtual_span = self.virtual_span + outcome.virtual_span;
        self.users += outcome.users;
        self.steps += outcome.steps;
        let personas = self.by_persona.len().max(outcome.by_persona.len());
        self.by_persona.resize(personas, 0);
        for (mine, theirs) in self.by_persona.iter_mut().zip(&outcome.by_persona) {
            *mine += theirs;
        }
        for (name, property) in outcome.properties {
            let known = self.properties.entry(name.to_owned());
            known.or_default().add(&property);
        }
        if !outcome.violations.is_empty() {
            self.add_failing(seed, Some(outcome.trace_hash));
        }
        for violation in outcome.violations {
            self.violations.push(Violation { seed, ..violation });
        }
        let (stuck, users) = (outcome.stuck.len() as u64, outcome.users);
        self.rest.add(seed, stuck, users);
        let left_out = outcome.metrics.left_out.values().sum();
        self.left_out.add(seed, left_out, users);
        for stuck in outcome.stuck {
            self.stuck.push(Stuck { seed, ..stuck });
        }
        self.add_thresholds(seed, outcome.thresholds);
        self.counts = sums(&self.counts, &outcome.counts);
        match &mut self.metrics {
            None => self.metrics = Some(outcome.metrics),
            Some(metrics) => metrics.merge(&outcome.metrics),
        }
        self.tally.add(&outcome.tally);
        self.timeline.merge(outcome.timeline);
    }

    /// A threshold applies to each seed by itself: one seed that crosses it counts.
    fn add_thresholds(&mut self, seed: u64, thresholds: Vec<ThresholdResult>) {
        let several = self.count > 1;
        for (index, theirs) in thresholds.into_iter().enumerate() {
            let crossed = theirs.met == Some(false);
            let theirs = ThresholdResult {
                seed: (crossed && several).then_some(seed),
                ..theirs
            };
            match self.thresholds.get_mut(index) {
                None => self.thresholds.push(theirs),
                Some(mine) if mine.met.is_none() || (crossed && mine.met != Some(false)) => {
                    *mine = theirs;
                }
                Some(_) => {}
            }
        }
    }

    /// The thresholds over all seeds. If every seed met a threshold, the common figure is shown
    /// where it means the same.
    fn judged_thresholds(&self, plan: &Plan) -> Vec<ThresholdResult> {
        let stuck = self.stuck.items.len() as u64 + self.stuck.left_out;
        let metrics = self.metrics.iter();
        let together = metrics.flat_map(|metrics| metrics.thresholds(plan, &self.counts, stuck));
        let mut judged = self.thresholds.clone();
        for (each, all) in judged.iter_mut().zip(together) {
            if each.met == Some(true) && all.met == Some(true) {
                each.measured = all.measured;
            }
        }
        judged
    }

    /// The hash of a run with one seed is that of the seed. With several seeds, it is FNV-1a over
    /// their hashes in order.
    fn add_hash(&mut self, hash: u64) {
        self.hash = match self.count {
            1 => hash,
            _ => fold(self.hash, &hash.to_le_bytes()),
        };
    }

    /// The number of seeds so far.
    #[must_use]
    pub const fn seeds(&self) -> u64 {
        self.added
    }

    /// The metrics of the seeds so far; none if all of them panicked.
    #[must_use]
    pub const fn metrics(&self) -> Option<&Metrics> {
        self.metrics.as_ref()
    }

    /// The users that never got in.
    fn left_out(&self, plan: &Plan) -> LeftOutResult {
        let why = self
            .metrics()
            .map(|metrics| &metrics.left_out)
            .into_iter()
            .flatten();
        let why = why.map(|(why, users)| ((*why).to_owned(), *users));
        let allowed = match expects_refusals_at_the_door(plan) {
            true => Ratio::new(1, 1).unwrap_or_default(),
            false => plan.allow_stuck,
        };
        self.left_out.left_out(allowed, self.added, why.collect())
    }

    /// The judged result of all seeds. The caller adds the command that repeats it.
    #[must_use]
    pub fn finish(self, plan: &Plan, wall: Duration) -> Summary {
        let points = Point::ALL.iter();
        let sometimes: BTreeMap<String, u64> = points
            .map(|point| (point.name().to_owned(), self.tally.count(*point)))
            .collect();
        let thresholds = self.judged_thresholds(plan);
        let left_out = self.left_out(plan);
        let mut properties = self.properties;
        for (name, property) in judged_by_thresholds(plan, &thresholds) {
            properties.insert(name.to_owned(), property);
        }
        let rest = self.rest.stuck(plan.allow_stuck, self.added);
        let measured = self.metrics.as_ref();
        let verdict = judge(&Evidence {
            rest: &rest,
            left_out: &left_out,
            properties: &properties,
            violations: &self.violations.items,
            thresholds: &thresholds,
            unreached: &unreached(plan, &sometimes),
            silent: is_silent(plan, &self.counts),
        });
        let (metrics, fairness) = measured.map(Metrics::results).unwrap_or_default();
        let mut result = RunResult {
            scenario: plan.name.clone(),
            scenario_hash: scenario_hash(plan),
            seed: self.first,
            seeds: self.added,
            interrupted: false,
            verdict,
            exit_code: verdict.exit_code(),
            trace_hash: format!("{:016x}", self.hash),
            virtual_ms: self.virtual_span.0 as f64 / 1_000.0,
            wall_ms: wall.as_secs_f64() * 1_000.0,
            users: self.users,
            steps: self.steps,
            calls: measured.map_or(0, |metrics| metrics.calls),
            unanswered: measured.map_or(0, |metrics| metrics.unanswered),
            counts: self.counts,
            properties,
            sometimes,
            metrics,
            groups: measured.map(Metrics::by_group).unwrap_or_default(),
            fairness,
            thresholds,
            coverage: self.tally.coverage.clone(),
            refusals: measured.map(Metrics::refusals).unwrap_or_default(),
            rest,
            left_out,
            let_off: measured.map(|metrics| metrics.let_off).unwrap_or_default(),
            stuck: self.stuck.items,
            stuck_left_out: self.stuck.left_out,
            violations: self.violations.items,
            violations_left_out: self.violations.left_out,
            repro: None,
            shrunk: None,
            live: None,
        };
        if self.added < self.count {
            result.interrupt();
        }
        Summary {
            result,
            by_persona: self.by_persona,
            timeline: self.timeline,
            failing: self.failing.items,
            charts: measured.map(Metrics::charts).unwrap_or_default(),
        }
    }
}

/// FNV-1a, 64 bits (draft-eastlake-fnv).
const HASH_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const HASH_PRIME: u64 = 0x0100_0000_01b3;

fn fold(hash: u64, bytes: &[u8]) -> u64 {
    let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(HASH_PRIME);
    bytes.iter().fold(hash, add)
}

/// The hash of all that the scenario says, apart from its seed.
fn scenario_hash(plan: &Plan) -> String {
    let text = sim_scenario::to_yaml(&Plan {
        seed: 0,
        ..plan.clone()
    });
    format!("{:016x}", fold(HASH_OFFSET, text.as_bytes()))
}

/// The sums of all counts. Every field is named, so that a new count cannot be forgotten here.
const fn sums(one: &Counts, other: &Counts) -> Counts {
    Counts {
        attempted: one.attempted + other.attempted,
        accepted: one.accepted + other.accepted,
        refused: one.refused + other.refused,
        unanswered: one.unanswered + other.unanswered,
        delivered: one.delivered + other.delivered,
        lost: one.lost + other.lost,
        gapped: one.gapped + other.gapped,
        duplicated: one.duplicated + other.duplicated,
        reordered: one.reordered + other.reordered,
        phantom: one.phantom + other.phantom,
        skipped: one.skipped + other.skipped,
    }
}
