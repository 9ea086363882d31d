//! The result of a run. The terminal, the JSON file and the exit code derive from it.

use std::collections::BTreeMap;

use chat_types::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Counts, Coverage, GroupResults, PropertyResult, Violation};
use crate::plan::limited;
use crate::user_name::UserName;

/// The result of a run of one scenario, over one or more seeds.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// The scenario's name.
    pub scenario: String,
    /// A hash of all that the scenario says, apart from its seed, as 16 hexadecimal digits.
    #[schemars(regex(pattern = "^[0-9a-f]{16}$"))]
    pub scenario_hash: String,
    /// The first seed.
    pub seed: u64,
    /// The number of seeds, upward from `seed`.
    pub seeds: u64,
    /// Whether the run was interrupted before it had run all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("const" = true))]
    pub interrupted: bool,
    /// The verdict.
    pub verdict: Verdict,
    /// Its exit code.
    #[schemars(extend("enum" = [0, 1, 3, 4, 99, 130]))]
    pub exit_code: u8,
    /// The hash of every step, as 16 hexadecimal digits; over several seeds, of their hashes.
    #[schemars(regex(pattern = "^[0-9a-f]{16}$"))]
    pub trace_hash: String,
    /// Virtual time from the first to the last event, in milliseconds, over all seeds.
    pub virtual_ms: f64,
    /// Real time, in milliseconds.
    pub wall_ms: f64,
    /// The number of virtual users, over all seeds.
    pub users: u64,
    /// The number of steps, over all seeds.
    pub steps: u64,
    /// The number of calls of any kind, without retries.
    #[serde(default)]
    pub calls: u64,
    /// Those that had no answer when their client gave them up, or when the run ended.
    #[serde(default)]
    pub unanswered: u64,
    /// Counts of messages.
    pub counts: Counts,
    /// Each property by name.
    pub properties: BTreeMap<String, PropertyResult>,
    /// The count of each `sometimes` point; 0 for those never reached.
    pub sometimes: BTreeMap<String, u64>,
    /// Each metric by name.
    pub metrics: BTreeMap<String, MetricResult>,
    /// Figures by persona, phase and room.
    #[serde(default)]
    pub groups: GroupResults,
    /// Fairness metrics by name.
    pub fairness: BTreeMap<String, FairnessResult>,
    /// Each threshold, and whether it was met.
    pub thresholds: Vec<ThresholdResult>,
    /// Refusals by code.
    pub refusals: BTreeMap<String, u64>,
    /// Coverage of the core's behaviour; 0 for what was never reached.
    #[serde(default)]
    pub coverage: Coverage,
    /// Whether users were at rest when the run ended.
    #[serde(default)]
    pub rest: RestResult,
    /// The users that never got in.
    pub left_out: LeftOutResult,
    /// The users that did not do all of their flow, and are neither stuck nor left out.
    #[serde(default)]
    pub let_off: LetOffResult,
    /// Users whose `await` timed out, or that did not finish.
    pub stuck: Vec<Stuck>,
    /// The number of stuck users that `stuck` does not list.
    pub stuck_left_out: u64,
    /// The violations, the first first.
    pub violations: Vec<Violation>,
    /// The number of violations that `violations` does not list.
    pub violations_left_out: u64,
    /// The command that repeats the run.
    #[schemars(with = "Repro")]
    pub repro: Option<Repro>,
    /// The shrunk scenario, if shrinking was requested and succeeded.
    pub shrunk: Option<ShrunkResult>,
    /// The results specific to a live run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LiveResult")]
    pub live: Option<LiveResult>,
}

/// The results specific to a run against a live server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LiveResult {
    /// The server, as the command line named it.
    pub target: String,
    /// The protocol.
    pub protocol: String,
    /// The factor for arrivals.
    pub rate_scale: f64,
    /// The suffix of this run's names of rooms and users.
    pub suffix: String,
    /// The number of entries in the server's journal, if the run was judged by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal_entries: Option<u64>,
    /// The number of users that were planned, that started, that started late, and that never
    /// started.
    pub starts: Starts,
    /// The number of requests that were sent, that were answered, and that failed, including
    /// retries and reads.
    pub requests: Requests,
    /// The rate of calls that users intended, per second until the heal.
    pub offered_per_second: f64,
    /// The rate of answered calls, per second until the heal.
    pub achieved_per_second: f64,
    /// The driver's own delay, in milliseconds: from the intended time of an action, or from the
    /// answer before it, to the action.
    pub scheduling_delay: MetricResult,
    /// Latencies from when calls left, instead of their intended times.
    pub uncorrected: BTreeMap<String, MetricResult>,
    /// Parts of the scenario that concern the simulated server only.
    pub ignored: Vec<String>,
    /// Tools that the scenario uses and the server lacks.
    pub lacking: Vec<String>,
    /// Personas that did not run because of that.
    pub left_out: Vec<String>,
    /// The share of the time for which the driver's busiest thread worked while it was late; 0 if it
    /// never was.
    pub driver_busy: f64,
    /// The loss of the target, if that ended the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<LostTarget>,
    /// The nemesis, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nemesis: Option<NemesisResult>,
    /// Remarks, such as that the driver was the bottleneck.
    pub remarks: Vec<String>,
    /// The stages of the search for the highest rate, in the order of their runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageResult>,
}

/// The loss of a target: it went away during the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LostTarget {
    /// When its last answer or event came.
    #[serde(rename = "at_ms", with = "super::milliseconds")]
    #[schemars(with = "f64")]
    pub at: Span,
    /// Why a later attempt failed.
    pub why: String,
}

/// What the nemesis of a live run did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NemesisResult {
    /// Its command line.
    pub command: String,
    /// Its faults, in the order of their beginnings.
    pub faults: Vec<NemesisFault>,
    /// Its own failure, which ended the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<NemesisFailure>,
}

/// A fault of the nemesis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NemesisFault {
    /// Its name.
    pub fault: String,
    /// When it was made.
    #[serde(rename = "at_ms", with = "super::milliseconds")]
    #[schemars(with = "f64")]
    pub at: Span,
    /// When it was mended, in milliseconds; none if the nemesis failed before.
    pub mended_ms: Option<f64>,
}

/// The failure of a nemesis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NemesisFailure {
    /// When it was noticed.
    #[serde(rename = "at_ms", with = "super::milliseconds")]
    #[schemars(with = "f64")]
    pub at: Span,
    /// What it did, after `the nemesis`.
    pub why: String,
}

impl RunResult {
    /// The run was interrupted. What was found before weighs more.
    pub fn interrupt(&mut self) {
        self.interrupted = true;
        if self.verdict == Verdict::Pass {
            self.verdict = Verdict::Interrupted;
            self.exit_code = self.verdict.exit_code();
        }
    }
}

impl LiveResult {
    /// When the run ended before it could be judged: the target was lost, or the nemesis failed.
    #[must_use]
    pub fn ended_early(&self) -> Option<Span> {
        let lost = self.lost.as_ref().map(|lost| lost.at);
        let failed = self
            .nemesis
            .iter()
            .filter_map(|nemesis| nemesis.failed.as_ref());
        lost.into_iter().chain(failed.map(|failed| failed.at)).min()
    }
}

impl NemesisResult {
    /// How often each fault was made, by name.
    #[must_use]
    pub fn times(&self) -> BTreeMap<&str, u64> {
        let mut times = BTreeMap::new();
        for fault in &self.faults {
            *times.entry(&*fault.fault).or_default() += 1;
        }
        times
    }
}

/// A run at one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageResult {
    /// The factor for arrivals.
    pub rate_scale: f64,
    /// The number of users.
    pub users: u64,
    /// The rate of calls that users intended, per second.
    pub offered_per_second: f64,
    /// The rate of answered calls, per second.
    pub achieved_per_second: f64,
    /// The 99th percentile of message latencies, in milliseconds.
    pub message_p99: f64,
    /// The 99th percentile of request latencies, in milliseconds.
    pub request_p99: f64,
    /// The 99th percentile of the driver's own delay, in milliseconds.
    pub delay_p99: f64,
    /// The verdict.
    pub verdict: Verdict,
}

/// The numbers of users that were planned and that started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Starts {
    pub planned: u64,
    pub started: u64,
    pub late: u64,
    pub dropped: u64,
}

/// Requests to a live server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Requests {
    pub sent: u64,
    pub answered: u64,
    pub failed: u64,
}

/// The size of a shrunk scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShrunkResult {
    /// Its users.
    pub users: u64,
    /// Its steps.
    pub steps: u64,
    /// Its faults.
    pub faults: u64,
    /// Its file.
    pub file: String,
    /// The duration of shrinking, in milliseconds of real time.
    pub wall_ms: f64,
}

chat_types::listed! {
    /// The verdict of a run.
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    Verdict {
        /// A property was exercised and all held, all thresholds were met, and all expected points were
        /// reached: exit 0.
        Pass "pass",
        /// A safety property was violated: exit 1.
        Safety "safety",
        /// A liveness property was violated, or more users were stuck than allowed: exit 3.
        Liveness "liveness",
        /// The run could not be judged: no property was exercised, an `expect_sometimes` point was not
        /// reached, a threshold had no values, or users never got in. Exit 4.
        #[default]
        Unjudged "unjudged",
        /// Only a threshold was crossed: exit 99.
        Threshold "threshold",
        /// The run was interrupted, and what was done of it held: exit 130.
        Interrupted "interrupted",
    }
}

/// One metric, in milliseconds (`bytes_per_message`: in bytes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[expect(missing_docs, reason = "quantiles are named as everywhere")]
pub struct MetricResult {
    pub count: u64,
    // Without a value there are no quantiles.
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub p999: Option<f64>,
    pub max: Option<f64>,
    pub mean: Option<f64>,
    /// The number of waits that were open at the end of the run. They count in all figures above
    /// with the length they had reached.
    pub unfinished: u64,
    /// The number of waits that ended without a match or a grant: the user withdrew, went away or
    /// vanished, or an operator ended them. They are in no figure above.
    pub unserved: u64,
    /// The longest of those.
    pub longest_unserved: f64,
}

/// How evenly a resource was shared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FairnessResult {
    /// Jain's index over all users that asked, each by what it had relative to its fair share (1 is
    /// even); none with fewer than two, or if nobody had anything.
    pub jain: Option<f64>,
    /// The number of users that asked; of waits, their number.
    pub users: u64,
    /// The smallest share of a user; 0 of waits.
    pub min: f64,
    /// The largest share of a user.
    pub max: f64,
    /// The mean.
    pub mean: f64,
    /// The largest number of times that a user was bypassed.
    pub overtaken: u64,
    /// The user that had least relative to its fair share.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LeastServed")]
    pub least: Option<LeastServed>,
}

/// The user that had least of what it asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeastServed {
    /// The user.
    #[serde(flatten)]
    pub who: UserName,
    /// The seed of its run.
    pub seed: u64,
    /// What it had.
    pub had: u64,
    /// Its fair share: what all could have had at once, and no more than it asked for.
    pub fair: f64,
}

impl LeastServed {
    /// What it had for each one that it should have had.
    #[must_use]
    pub fn relative(&self) -> f64 {
        self.had as f64 / self.fair
    }
}

/// One threshold of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdResult {
    /// The metric's name.
    pub metric: String,
    /// The persona whose users alone are measured; all users without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub persona: Option<String>,
    /// The expression as the scenario has it, such as `p(95)<2s`.
    pub expression: String,
    /// The measured value; none if there is none.
    pub measured: Option<f64>,
    /// Whether each seed met it; none if nothing was measured.
    pub met: Option<bool>,
    /// With several seeds, the first one that crossed it, whose value this is.
    pub seed: Option<u64>,
}

impl ThresholdResult {
    /// What it limits, as the scenario names it.
    #[must_use]
    pub fn limited(&self) -> String {
        limited(&self.metric, self.persona.as_deref())
    }

    /// What it limits, and how.
    #[must_use]
    pub fn whole(&self) -> String {
        format!("{} {}", self.limited(), self.expression)
    }
}

/// Whether users were at rest when the run ended: at most the allowed share of them was stuck.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RestResult {
    /// Whether each seed stayed within the allowed share.
    pub held: bool,
    /// Stuck users, over all seeds.
    pub stuck: u64,
    /// The share of users that the scenario allows to be stuck, in the scenario's notation; none if it
    /// allows none.
    pub allowed: Option<String>,
    /// With several seeds, the one with the largest share, if that was more than allowed.
    pub seed: Option<u64>,
}

/// Users that called, and never became participants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LeftOutResult {
    /// Whether the scenario expects refusals at the door, or each seed stayed within the share of
    /// users that may be stuck.
    pub held: bool,
    /// Their number, over all seeds.
    pub users: u64,
    /// Their number by the code of the last refusal, or `unanswered`.
    pub why: BTreeMap<String, u64>,
    /// With several seeds, the one with the largest share, if that was more than allowed.
    pub seed: Option<u64>,
}

/// Users that did not do all of their flow, over all seeds, for a reason that is no fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LetOffResult {
    /// Those whose `await` of a match ran out while nobody else was in the queue.
    pub alone: u64,
    /// Those that the heal ended, with rounds of a loop or an `await` left.
    pub cut_short: u64,
}

/// A user that did not finish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stuck {
    /// The user: its id and its name in the scenario.
    #[serde(flatten)]
    pub who: UserName,
    /// The step of its flow at which it stopped, such as `flow[1] await`.
    pub at: String,
    /// What it waits for, in the protocol's terms: `a partner in the queue`, `the stick of room_3`,
    /// `message.received`, `the answer to push`.
    pub waiting_for: String,
    /// The beginning of the wait, in milliseconds of virtual time. For a partner or the stick, the
    /// intended time of the request.
    pub since_ms: u64,
    /// The holder of the stick that it waits for, if that holder is disconnected.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DisconnectedHolder")]
    pub holder: Option<DisconnectedHolder>,
    /// The seed of the run.
    pub seed: u64,
}

/// The holder of a stick whose connection ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DisconnectedHolder {
    /// The user, with the id by which it holds the stick.
    #[serde(flatten)]
    pub who: UserName,
    /// When its connection ended, in milliseconds of virtual time.
    pub since_ms: u64,
}

/// The command that reproduces a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repro {
    /// The whole command. After shrinking, that of the shrunk scenario.
    pub command: String,
    /// The command that reproduces the run before shrinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<String>,
    /// The scenario file.
    pub file: String,
}
