//! What a run came to: the one object that the terminal, the JSON file and the exit code show.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Counts, Coverage, PropertyResult, Violation};
use crate::plan::Figure;

/// Everything there is to say of one run (of one scenario, over one or more seeds).
#[derive(Clone, Debug, Serialize)]
pub struct RunResult {
    /// The scenario's name.
    pub scenario: String,
    /// The first seed.
    pub seed: u64,
    /// How many seeds were run, upward from `seed`.
    pub seeds: u64,
    /// What it comes to.
    pub verdict: Verdict,
    /// The exit code that says so.
    pub exit_code: u8,
    /// The hash of every step, as 16 hexadecimal digits; over several seeds, of their hashes.
    pub trace_hash: String,
    /// Virtual time from first to last, in milliseconds, over all seeds.
    pub virtual_ms: f64,
    /// Real time, in milliseconds.
    pub wall_ms: f64,
    /// Virtual users who came, over all seeds.
    pub users: u64,
    /// Events of the virtual world handled, over all seeds.
    pub steps: u64,
    /// Messages.
    pub counts: Counts,
    /// Each property by name.
    pub properties: BTreeMap<String, PropertyResult>,
    /// Each `sometimes` point, and how often it was reached; 0 for those never reached.
    pub sometimes: BTreeMap<String, u64>,
    /// Each metric by name.
    pub metrics: BTreeMap<String, MetricResult>,
    /// Fairness metrics by name.
    pub fairness: BTreeMap<String, FairnessResult>,
    /// Each threshold, and whether it was met.
    pub thresholds: Vec<ThresholdResult>,
    /// Refusals by code.
    pub refusals: BTreeMap<String, u64>,
    /// What of the core's behaviour was reached, and how often; 0 for what never was.
    pub coverage: Coverage,
    /// Whether users were at rest when the run ended.
    pub rest: RestResult,
    /// Users whose `await` ran out, or who never came to an end.
    pub stuck: Vec<Stuck>,
    /// How many more were stuck than `stuck` lists.
    pub stuck_left_out: u64,
    /// What was violated, the first first.
    pub violations: Vec<Violation>,
    /// How many more violations there were than `violations` lists.
    pub violations_left_out: u64,
    /// How to run the same again.
    pub repro: Option<Repro>,
    /// The smallest scenario that fails in the same way, if one was looked for and found.
    pub shrunk: Option<ShrunkResult>,
    /// What there is to say of a run against a live server besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveResult>,
}

/// What is only said of a run against a live server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveResult {
    /// The server, as the command line named it.
    pub target: String,
    /// The protocol that it was spoken to in.
    pub protocol: &'static str,
    /// By what arrivals were multiplied.
    pub rate_scale: f64,
    /// What names of rooms and users of this run end in.
    pub suffix: String,
    /// Users who were to come, who came, who came later than planned, and who never did.
    pub starts: Starts,
    /// Requests that were sent, answered, and came to nothing; retries and reads included.
    pub requests: Requests,
    /// Calls a second until the heal: those that users meant to make, and those answered.
    pub offered_per_second: f64,
    /// See `offered_per_second`.
    pub achieved_per_second: f64,
    /// How late the driver itself was, in milliseconds: from when it meant to act, or had an
    /// answer before it, to when it did.
    pub scheduling_delay: MetricResult,
    /// Latencies from when calls left, not from when they were meant to.
    pub uncorrected: BTreeMap<&'static str, MetricResult>,
    /// What of the scenario is about the simulated server alone.
    pub ignored: Vec<String>,
    /// What the scenario asks for and the server lacks.
    pub lacking: Vec<String>,
    /// Personas that did not come because of that.
    pub left_out: Vec<String>,
    /// What else there is to know, such as that the driver was the bottleneck.
    pub remarks: Vec<String>,
    /// Every stage that was run to find the highest rate, in the order of their runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageResult>,
}

/// A run at one rate, among several.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageResult {
    /// By what arrivals were multiplied.
    pub rate_scale: f64,
    /// Users who came.
    pub users: u64,
    /// Calls a second that users meant to make.
    pub offered_per_second: f64,
    /// Calls a second that were answered.
    pub achieved_per_second: f64,
    /// The 99th percentiles, in milliseconds.
    pub message_p99: f64,
    /// See `message_p99`.
    pub request_p99: f64,
    /// How late the driver itself was, the 99th percentile in milliseconds.
    pub delay_p99: f64,
    /// What it came to.
    pub verdict: Verdict,
}

/// Users who came, or did not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Starts {
    pub planned: u64,
    pub started: u64,
    pub late: u64,
    pub dropped: u64,
}

/// Requests to a live server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Requests {
    pub sent: u64,
    pub answered: u64,
    pub failed: u64,
}

/// What a failure was shrunk to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShrunkResult {
    /// Its users.
    pub users: u64,
    /// Its steps.
    pub steps: u64,
    /// Its faults.
    pub faults: u64,
    /// The file it is in.
    pub file: String,
    /// How long it took, in milliseconds of real time.
    pub wall_ms: f64,
}

/// What a run comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Something was judged, and held; all thresholds were met, all points reached: exit 0.
    Pass,
    /// A safety property was violated: exit 1.
    Safety,
    /// A liveness property was violated, or more users were stuck than allowed: exit 3.
    Liveness,
    /// It could not be judged (no property was exercised, an `expect_sometimes` was not reached,
    /// nothing was measured for a threshold): exit 4.
    Unjudged,
    /// Only a threshold was crossed: exit 99.
    Threshold,
}

/// One metric, in milliseconds (`bytes_per_message`: in bytes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "quantiles are named as everywhere")]
pub struct MetricResult {
    pub count: u64,
    pub p50: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
    pub mean: f64,
    /// Waits that were open when the run ended. They count in all figures above, each with the
    /// length that it had reached.
    pub unfinished: u64,
}

/// How evenly something was shared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FairnessResult {
    /// Jain's index over those who asked equally often (1 is even); none with fewer than two.
    pub jain: Option<f64>,
    /// The most that anyone had.
    pub max: f64,
    /// The mean.
    pub mean: f64,
    /// The most times that anyone was overtaken.
    pub overtaken: u64,
}

/// One threshold of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThresholdResult {
    /// The metric's name.
    pub metric: String,
    /// Which figure of the metric.
    #[serde(skip)]
    pub figure: Figure,
    /// The expression as the scenario has it, such as `p(95)<2s`.
    pub expression: String,
    /// What was measured; none if nothing was.
    pub measured: Option<f64>,
    /// Whether it was met, in each seed; none if nothing was measured.
    pub met: Option<bool>,
    /// Of several seeds, the first in which it was crossed, and whose figure this is.
    pub seed: Option<u64>,
}

/// Whether users were at rest when the run ended: at most the allowed share of them was stuck.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RestResult {
    /// Whether each seed kept to what is allowed.
    pub held: bool,
    /// Stuck users, over all seeds.
    pub stuck: u64,
    /// The share of users that the scenario allows to be stuck, as it writes it; none if it allows
    /// no one.
    pub allowed: Option<String>,
    /// Of several seeds, the one that had the largest share, if that was more than allowed.
    pub seed: Option<u64>,
}

/// A user who did not get on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stuck {
    /// The virtual user, such as `penpal#12`.
    pub user: String,
    /// The step of its flow at which it stopped, such as `flow[1] await`.
    pub at: String,
    /// What it waits for, in words of the protocol: `a partner in the queue`, `the stick of room_3`,
    /// `message.received`, `the answer to push`.
    pub waiting_for: String,
    /// Since when, in milliseconds of virtual time: for a partner or the stick, since it was meant
    /// to ask.
    pub since_ms: u64,
    /// The seed whose run showed it.
    pub seed: u64,
}

/// How to see it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Repro {
    /// The whole command; of a run that was shrunk, that of the smallest scenario.
    pub command: String,
    /// The command that shows all that it was shrunk from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
    /// The scenario file.
    pub file: String,
}
