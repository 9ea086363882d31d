//! The merged result of several seeds.

use std::collections::BTreeMap;
use std::time::Duration;

use chat_types::Span;
use sim_judge::SeedOutcome;
use sim_judge::metrics::{Metrics, judged_by_thresholds};
use sim_model::draw::Ratio;
use sim_model::outcome::{
    Counts, FailingSeed, LeftOutResult, Point, RestResult, Stuck, Summary, Tally, ThresholdResult,
    Violation, expects_refusals_at_the_door, judge,
};
use sim_model::plan::Plan;

use super::in_order::Ended;
use super::unlucky::Unlucky;

/// The largest number of violations and stuck users that a result lists. It counts the others.
const LIST_LIMIT: usize = 1_000;

/// The outcomes of seeds, added in order.
#[derive(Clone, Debug, Default)]
pub struct Merged {
    /// The number of seeds to add.
    count: u64,
    hash: u64,
    virtual_span: Span,
    metrics: Option<Metrics>,
    tally: Tally,
    rest: Unlucky,
    left_out: Unlucky,
    /// The lists and sums so far. Of the thresholds, the first seed that crossed one, otherwise the
    /// first that measured it.
    summary: Summary,
}

/// Adds an item to a list of limited length, or to the number of those that it leaves out.
fn list<T>(items: &mut Vec<T>, left_out: &mut u64, item: T) {
    if items.len() < LIST_LIMIT {
        items.push(item);
    } else {
        *left_out += 1;
    }
}

impl Merged {
    pub(super) fn new(first: u64, count: u64) -> Self {
        let mut merged = Self {
            count,
            hash: HASH_OFFSET,
            ..Self::default()
        };
        merged.summary.result.seed = first;
        merged
    }

    /// Adds the next seed.
    pub(super) fn add(&mut self, seed: u64, ended: Ended<SeedOutcome>) {
        self.summary.result.seeds += 1;
        match ended {
            Ok(outcome) => self.add_outcome(seed, outcome),
            Err(words) => {
                self.add_hash(0);
                self.add_violations(seed, None, vec![Violation::of_panic(&words, seed)]);
            }
        }
    }

    fn add_violations(&mut self, seed: u64, trace_hash: Option<u64>, violations: Vec<Violation>) {
        let (result, failing) = (&mut self.summary.result, &mut self.summary.failing);
        if !violations.is_empty() && failing.len() < LIST_LIMIT {
            failing.push(FailingSeed { seed, trace_hash });
        }
        for violation in violations {
            let (all, left_out) = (&mut result.violations, &mut result.violations_left_out);
            list(all, left_out, Violation { seed, ..violation });
        }
    }

    fn add_outcome(&mut self, seed: u64, outcome: SeedOutcome) {
        let ran = outcome.ran;
        self.add_hash(ran.trace_hash);
        self.add_violations(seed, Some(ran.trace_hash), outcome.violations);
        self.virtual_span = self.virtual_span + ran.span();
        let by_persona = &mut self.summary.by_persona;
        by_persona.resize(by_persona.len().max(ran.by_persona.len()), 0);
        for (mine, theirs) in by_persona.iter_mut().zip(&ran.by_persona) {
            *mine += theirs;
        }
        let result = &mut self.summary.result;
        let (stuck, users) = (outcome.stuck.len() as u64, ran.users.len() as u64);
        result.users += users;
        result.steps += ran.steps;
        for (name, property) in outcome.properties {
            let known = result.properties.entry(name.to_owned());
            known.or_default().add(&property);
        }
        self.rest.add(seed, stuck, users);
        let left_out = outcome.metrics.left_out.values().sum();
        self.left_out.add(seed, left_out, users);
        for stuck in outcome.stuck {
            let stuck = Stuck { seed, ..stuck };
            list(&mut result.stuck, &mut result.stuck_left_out, stuck);
        }
        result.counts = sums(&result.counts, &outcome.counts);
        self.add_thresholds(seed, outcome.thresholds);
        match &mut self.metrics {
            None => self.metrics = Some(outcome.metrics),
            Some(metrics) => metrics.merge(&outcome.metrics),
        }
        self.tally.add(&ran.tally);
        self.summary.timeline.merge(ran.timeline);
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
            let known = &mut self.summary.result.thresholds;
            match known.get_mut(index) {
                None => known.push(theirs),
                Some(mine) if mine.met.is_none() || (crossed && mine.met != Some(false)) => {
                    *mine = theirs;
                }
                Some(_) => {}
            }
        }
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
        self.summary.result.seeds
    }

    /// The judged result of all seeds. The caller adds the command that repeats it.
    #[must_use]
    pub fn finish(self, plan: &Plan, wall: Duration) -> Summary {
        let mut summary = self.summary;
        let result = &mut summary.result;
        result.scenario.clone_from(&plan.name);
        result.scenario_hash = scenario_hash(plan);
        result.trace_hash = format!("{:016x}", self.hash);
        result.virtual_ms = self.virtual_span.0 as f64 / 1_000.0;
        result.wall_ms = wall.as_secs_f64() * 1_000.0;
        let points = Point::ALL.iter();
        let reached = points.map(|point| (point.name().to_owned(), self.tally.count(*point)));
        result.sometimes = reached.collect();
        result.coverage = self.tally.coverage;
        let (held, seed) = self.rest.within(plan.allow_stuck, result.seeds);
        result.rest = RestResult {
            held,
            stuck: self.rest.count,
            allowed: (plan.allow_stuck.is_possible()).then(|| plan.allow_stuck.to_string()),
            seed,
        };
        let allowed = match expects_refusals_at_the_door(plan) {
            true => Ratio::new(1, 1).unwrap_or_default(),
            false => plan.allow_stuck,
        };
        let (held, seed) = self.left_out.within(allowed, result.seeds);
        result.left_out = LeftOutResult {
            held,
            users: self.left_out.count,
            why: BTreeMap::new(),
            seed,
        };
        if let Some(metrics) = &self.metrics {
            result.calls = metrics.calls.offered;
            result.unanswered = metrics.unanswered;
            (result.metrics, result.fairness) = metrics.results();
            result.groups = metrics.by_group();
            result.refusals = metrics.refusals();
            result.let_off = metrics.let_off;
            summary.charts = metrics.charts();
            let left_out = metrics.left_out.iter();
            let why = left_out.map(|(why, users)| ((*why).to_owned(), *users));
            result.left_out.why = why.collect();
            // If every seed met a threshold, the common figure is shown where it means the same.
            let stuck = result.stuck.len() as u64 + result.stuck_left_out;
            let together = metrics.thresholds(plan, &result.counts, stuck);
            for (each, all) in result.thresholds.iter_mut().zip(together) {
                if each.met == Some(true) && all.met == Some(true) {
                    each.measured = all.measured;
                }
            }
        }
        for (name, property) in judged_by_thresholds(plan, &result.thresholds) {
            result.properties.insert(name.to_owned(), property);
        }
        result.verdict = judge(plan, result);
        result.exit_code = result.verdict.exit_code();
        if result.seeds < self.count {
            result.interrupt();
        }
        summary
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
