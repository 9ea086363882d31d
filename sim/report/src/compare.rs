//! Compares two results of `sim --json`: what differs, and whether it is better or worse.
//!
//! Figures in virtual time (verdicts, counts, hashes, properties, latencies, fairness) are the same
//! for one seed on every machine. They are compared exactly: a difference is a difference of the
//! code. Figures in real time are compared with a tolerance.

mod figures;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::figures::Amount;
pub(crate) use self::figures::{CHECKS, REACHED, is_duration};
use self::figures::{Direction, Figure, figures};
use crate::json::SCHEMA_VERSION;
pub use crate::json::Simulator;
use sim_model::outcome::{Class, RunResult, Verdict, worst};

/// Whether a figure is better or worse than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The figure moved in its worse direction.
    Worse,
    /// The figure moved in its better direction.
    Better,
    /// The figure changed, and neither direction is worse.
    Different,
}

/// A figure that differs. One of the two amounts is missing where only one run has the figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The name of the figure, such as `message_latency p95`.
    pub figure: String,
    /// The value before.
    pub before: Option<Amount>,
    /// The value after.
    pub after: Option<Amount>,
    /// How the two compare.
    pub change: Change,
    /// The exit code if it is worse, and regressions count.
    #[serde(skip)]
    exit: u8,
}

/// The exit code of a worse figure that has none of its own, if regressions count.
const WORSE: u8 = Verdict::Threshold.exit_code();

/// The speed in real time, before and after.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Wall {
    /// Steps per second, before.
    pub before: f64,
    /// Steps per second, after.
    pub after: f64,
    /// The change, if it exceeds the noise.
    pub change: Option<Change>,
}

/// One scenario in both results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The scenario's name.
    pub scenario: String,
    /// The seeds of each result: the first, and how many.
    pub seeds: [(u64, u64); 2],
    /// Whether both ran the same scenario. Files of one name can have different contents.
    pub is_same_scenario: bool,
    /// All differing figures that virtual time decides: the worse ones, the better ones and the
    /// others, each in the order of the result's fields.
    pub differences: Vec<Difference>,
    /// The speed; `None` if either result lacks it.
    pub wall: Option<Wall>,
}

/// Two compared results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The simulators that made the results.
    pub simulators: [Simulator; 2],
    /// The tolerance for figures in real time, as a part of the larger one.
    pub noise: f64,
    /// Scenario by scenario, in the order of the first result.
    pub scenarios: Vec<Compared>,
    /// Scenarios of the first result that the second does not have.
    pub only_before: Vec<String>,
    /// Scenarios of the second result that the first does not have.
    pub only_after: Vec<String>,
}

impl Compared {
    /// Whether both ran the same scenario and seeds; otherwise only verdicts and speed can be
    /// compared.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_same_scenario && self.seeds[0] == self.seeds[1]
    }

    /// Whether nothing differs by more than the noise.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.changes().next().is_none()
    }

    /// All changes.
    fn changes(&self) -> impl Iterator<Item = Change> {
        let wall = self.wall.and_then(|wall| wall.change);
        self.differences.iter().map(|one| one.change).chain(wall)
    }

    /// The exit codes of all that is worse.
    fn exits(&self, regressions: Regressions) -> impl Iterator<Item = u8> {
        let worse = self.differences.iter();
        let worse = worse.filter(|one| one.change == Change::Worse);
        let is_slower = self.wall.and_then(|wall| wall.change) == Some(Change::Worse);
        let speed = (is_slower && regressions == Regressions::FailOnSpeed).then_some(WORSE);
        worse.map(|one| one.exit).chain(speed)
    }
}

impl Comparison {
    /// The number of figures with this change.
    #[must_use]
    pub fn count(&self, change: Change) -> u64 {
        let all = self.scenarios.iter().flat_map(Compared::changes);
        all.filter(|one| *one == change).count() as u64
    }

    /// Whether both have the same scenarios, and nothing differs by more than the noise.
    #[must_use]
    pub fn is_same(&self) -> bool {
        !self.is_lacking() && self.scenarios.iter().all(Compared::is_same)
    }

    /// Whether one result lacks a scenario of the other.
    #[must_use]
    pub fn is_lacking(&self) -> bool {
        !(self.only_before.is_empty() && self.only_after.is_empty())
    }

    /// The exit code: 2 if a scenario is missing; if regressions count, 1, 3, 4 or 99.
    #[must_use]
    pub fn exit_code(&self, regressions: Regressions) -> u8 {
        if self.is_lacking() {
            return 2;
        }
        if regressions == Regressions::Pass {
            return 0;
        }
        let exits = self.scenarios.iter().flat_map(|one| one.exits(regressions));
        exits.fold(0, worst)
    }
}

/// Whether a worse figure fails the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regressions {
    /// It is only shown.
    Pass,
    /// It is shown, and sets the exit code, unless it is the speed in real time.
    Fail,
    /// It is shown, and sets the exit code.
    FailOnSpeed,
}

/// Compares the runs of two results, scenario by scenario. `noise` is a part of the larger figure,
/// from 0 to 1.
#[must_use]
pub fn compare(before: &Results, after: &Results, noise: f64) -> Comparison {
    let simulators = [before, after].map(|results| results.simulator.clone());
    let (before, after) = (&before.runs[..], &after.runs[..]);
    let only = |here: &[RunResult], there: &[RunResult]| -> Vec<String> {
        let is_only = |run: &&RunResult| there.iter().all(|other| other.scenario != run.scenario);
        let missing = here.iter().filter(is_only);
        missing.map(|run| run.scenario.clone()).collect()
    };
    let both = before.iter().filter_map(|run| {
        let other = after.iter().find(|other| other.scenario == run.scenario);
        Some((run, other?))
    });
    Comparison {
        simulators,
        noise,
        scenarios: both.map(|(a, b)| compare_runs(a, b, noise)).collect(),
        only_before: only(before, after),
        only_after: only(after, before),
    }
}

fn compare_runs(before: &RunResult, after: &RunResult, noise: f64) -> Compared {
    let mut compared = Compared {
        scenario: before.scenario.clone(),
        seeds: [before, after].map(|run| (run.seed, run.seeds)),
        is_same_scenario: before.scenario_hash == after.scenario_hash,
        differences: Vec::new(),
        wall: wall(before, after, noise),
    };
    let is_whole = compared.is_whole();
    let differences = &mut compared.differences;
    let (old, new) = (figures(before), figures(after));
    // With different seeds, only verdicts can be compared.
    let comparable = |figure: &&Figure| {
        is_whole || matches!(figure.direction, Direction::Held(_) | Direction::Verdict)
    };
    let is_new = |figure: &&Figure| old.iter().all(|other| other.name != figure.name);
    let all = old.iter().chain(new.iter().filter(is_new));
    let all = all.filter(comparable);
    differences.extend(all.filter_map(|figure| difference(figure, &old, &new)));
    differences.sort_by_key(|one| one.change);
    compared
}

fn difference(figure: &Figure, old: &[Figure], new: &[Figure]) -> Option<Difference> {
    let [before, after] = [old, new].map(|run| {
        let same = run.iter().find(|one| one.name == figure.name);
        same.map(|one| &one.amount)
    });
    if before == after {
        return None;
    }
    let rank = |amount: Option<&Amount>| figure.direction.badness(amount?);
    let change = match (rank(before), rank(after)) {
        (Some(old), Some(new)) if new > old => Change::Worse,
        // A point that is newly reached shows another run, and not a better one.
        (Some(old), Some(new)) if new < old && figure.direction != Direction::NoneIsWorse => {
            Change::Better
        }
        (Some(_) | None, Some(_) | None) => Change::Different,
    };
    let exit = match (figure.direction, after) {
        (Direction::Held(Class::Safety), Some(Amount::Held(Some(false)))) => Verdict::Safety,
        (Direction::Held(Class::Liveness), Some(Amount::Held(Some(false)))) => Verdict::Liveness,
        (Direction::Verdict, Some(Amount::Word(word))) if word == "unjudged" => Verdict::Unjudged,
        (_, _) => Verdict::Threshold,
    };
    Some(Difference {
        figure: figure.name.clone(),
        before: before.cloned(),
        after: after.cloned(),
        change,
        exit: exit.exit_code(),
    })
}

/// The speed of both, in steps per second, which does not depend on the amount of work.
fn wall(before: &RunResult, after: &RunResult, noise: f64) -> Option<Wall> {
    let pace =
        |run: &RunResult| (run.wall_ms > 0.0).then(|| run.steps as f64 * 1_000.0 / run.wall_ms);
    let (before, after) = (pace(before)?, pace(after)?);
    let beyond = (after - before).abs() > noise * before.max(after);
    let change = match after < before {
        true => Change::Worse,
        false => Change::Better,
    };
    Some(Wall {
        before,
        after,
        change: beyond.then_some(change),
    })
}

/// A result: one run, or several.
#[derive(Clone, Debug)]
pub struct Results {
    /// The simulator that made it.
    pub simulator: Simulator,
    /// The runs, each of a scenario of its own.
    pub runs: Vec<RunResult>,
}

#[derive(Deserialize)]
struct Head {
    simulator: Simulator,
}

/// Reads a result with one or several scenarios. Unknown fields are ignored: a later version adds
/// some.
///
/// # Errors
/// The text is not a result.
pub fn read(text: &str) -> Result<Results, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    let version = value.get("schema_version").and_then(Value::as_u64);
    // In another version of the schema, figures have another meaning.
    if let Some(other) = version.filter(|version| *version != u64::from(SCHEMA_VERSION)) {
        return Err(format!(
            "its schema_version is {other}, and this `sim` compares version {SCHEMA_VERSION}"
        ));
    }
    let not_a_result = |error: serde_json::Error| format!("not a result of `sim --json`: {error}");
    let Head { simulator } = Head::deserialize(&value).map_err(not_a_result)?;
    let runs = match value.get("runs") {
        Some(runs) => Vec::deserialize(runs),
        None => RunResult::deserialize(&value).map(|run| vec![run]),
    };
    let runs = runs.map_err(not_a_result)?;
    let mut names = BTreeSet::new();
    if let Some(run) = runs.iter().find(|run| !names.insert(&run.scenario)) {
        return Err(format!("the scenario `{}` is in it twice", run.scenario));
    }
    Ok(Results { simulator, runs })
}
