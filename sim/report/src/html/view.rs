//! The data of the page, as its programs read it: figures as on the terminal, and plain numbers for
//! charts.

use std::collections::BTreeMap;

use chat_types::Span;
use serde::Serialize;

use super::fault_marks::{FaultMark, fault_marks};
use crate::checked::rest;
use crate::checks::{Standing, in_order, standing};
use crate::diagram::Diagram;
use crate::failure::{failing_seed, sentences, what_failed};
use crate::figures::{least_served, measured, of_metric, title};
use crate::header::{network, server};
use crate::numbers::{count, figure, milliseconds};
use crate::shell::repeat_command;
use crate::verdict_lines::speed;
use crate::{FinishedRun, Rerun, UserLanes, live};
use sim_model::names::Property;
use sim_model::outcome::{
    Charts, Class, Point, RunResult, Series, StageResult, Stuck, ThresholdResult, Verdict,
    Violation,
};
use sim_model::plan::Metric as Measured;
use sim_model::plan::{self, Figure, Workload};

/// The most listed violations and stuck users; further ones are counted.
const LISTED: usize = 50;

#[derive(Serialize)]
pub(super) struct Page<'a> {
    version: &'a str,
    runs: Vec<Run<'a>>,
}

#[derive(Serialize)]
struct Run<'a> {
    name: &'a str,
    file: &'a str,
    about: &'a str,
    verdict: Verdict,
    exit_code: u8,
    /// The property, metric or word that failed.
    what: String,
    sentences: Vec<String>,
    seeds: String,
    several_seeds: bool,
    users: String,
    personas: Vec<(String, String)>,
    server: Vec<String>,
    network: Vec<String>,
    virtual_time: String,
    steps: String,
    /// Everything on the page that depends on the machine.
    wall: String,
    trace_hash: &'a str,
    /// For a live run, in place of the parts about the simulated server.
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<Live<'a>>,
    rerun: Option<String>,
    properties: Vec<PropertyRow<'a>>,
    thresholds: Vec<Threshold<'a>>,
    metrics: Vec<Metric<'a>>,
    shares: Vec<Share>,
    charts: &'a Charts,
    titles: BTreeMap<&'static str, &'static str>,
    /// The metrics of charts; a place in this list is a colour.
    durations: Vec<&'static str>,
    timeline: Timeline,
    counts: Vec<(&'static str, String, &'static str)>,
    refusals: Vec<(&'a str, String)>,
    reached: Vec<Reached<'a>>,
    rest: String,
    stuck: Vec<&'a Stuck>,
    stuck_in_all: u64,
    violations: Vec<&'a Violation>,
    violations_in_all: u64,
    failing_seeds: Vec<String>,
    /// Commands to paste, each with its purpose.
    commands: Vec<(&'static str, &'a str)>,
    diagrams: &'a [Diagram],
    series: Option<&'a Series>,
    lanes: Option<&'a UserLanes>,
    /// The command that draws one user, whose name is to be added.
    follow: Option<String>,
}

#[derive(Serialize)]
struct Live<'a> {
    facts: Vec<(&'static str, String)>,
    /// By what the run was judged, and what that leaves out.
    judged: &'static str,
    stages: &'a [StageResult],
}

#[derive(Serialize)]
struct PropertyRow<'a> {
    name: &'a str,
    meaning: &'static str,
    class: Class,
    standing: &'static str,
    checks: String,
    unjudged: String,
}

#[derive(Serialize)]
struct Threshold<'a> {
    metric: String,
    /// The metric's name alone.
    of: &'a str,
    /// For a quantile, its percentage and the bound in milliseconds.
    place: Option<(f64, f64)>,
    expression: &'a str,
    measured: String,
    met: Option<bool>,
    seed: Option<String>,
}

#[derive(Serialize)]
struct Metric<'a> {
    name: &'a str,
    title: String,
    count: String,
    /// p50, p90, p95, p99, p99.9, max, mean.
    figures: [String; 7],
    unfinished: u64,
}

#[derive(Serialize)]
struct Share {
    title: String,
    jain: String,
    min: Option<String>,
    max: String,
    mean: String,
    overtaken: Option<String>,
    least: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Timeline {
    pub(super) bucket_ms: f64,
    pub(super) arrivals: Vec<u64>,
    pub(super) faults: Vec<FaultMark>,
    pub(super) violations_ms: Vec<f64>,
    pub(super) healed_ms: Option<f64>,
    pub(super) quiet_ms: Option<f64>,
    pub(super) ended_ms: f64,
}

#[derive(Serialize)]
struct Reached<'a> {
    name: &'a str,
    times: u64,
    expected: bool,
}

/// The whole page.
pub(super) fn page<'a>(runs: &'a [FinishedRun], version: &'a str) -> Page<'a> {
    Page {
        version,
        runs: runs.iter().map(run).collect(),
    }
}

fn run(run: &FinishedRun) -> Run<'_> {
    let result = run.result();
    let charts = &run.summary.charts;
    Run {
        name: &run.plan.name,
        file: &run.file,
        about: &run.plan.about,
        verdict: result.verdict,
        exit_code: result.exit_code,
        what: what_failed(run),
        sentences: sentences(run),
        seeds: failing_seed(run),
        several_seeds: result.seeds > 1,
        users: count(result.users),
        personas: personas(run),
        server: server(&run.plan),
        network: network(&run.plan),
        virtual_time: milliseconds(result.virtual_ms),
        steps: count(result.steps),
        wall: if result.wall_ms > 0.0 {
            speed(result)
        } else {
            String::new()
        },
        trace_hash: &result.trace_hash,
        live: result.live.as_ref().map(|result| Live {
            facts: live::facts(result),
            judged: live::judged(result),
            stages: &result.stages,
        }),
        rerun: rerun(run),
        properties: properties(result),
        thresholds: thresholds(run),
        metrics: metrics(result),
        shares: shares(result),
        titles: Measured::ALL
            .iter()
            .map(|metric| (metric.name(), metric.title()))
            .collect(),
        durations: durations(),
        charts,
        timeline: timeline(run),
        counts: counts(result),
        refusals: result
            .refusals
            .iter()
            .map(|(code, n)| (code.as_str(), count(*n)))
            .collect(),
        reached: reached(run),
        rest: rest(result),
        stuck: result.stuck.iter().take(LISTED).collect(),
        stuck_in_all: result.stuck.len() as u64 + result.stuck_left_out,
        violations: result.violations.iter().take(LISTED).collect(),
        violations_in_all: result.violations.len() as u64 + result.violations_left_out,
        failing_seeds: run
            .summary
            .failing
            .iter()
            .take(LISTED)
            .map(|failing| failing.seed.to_string())
            .collect(),
        commands: commands(result),
        diagrams: &run.diagrams,
        series: run.series.as_ref(),
        lanes: run.lanes.as_ref(),
        follow: run
            .series
            .as_ref()
            .map(|series| follow_command(run, series)),
    }
}

/// What the second run of a violation's seed showed.
fn rerun(run: &FinishedRun) -> Option<String> {
    let excerpt = run.excerpt.as_ref()?;
    Some(match excerpt.rerun {
        Rerun::Same => "run again: same hash".to_owned(),
        Rerun::Different { trace_hash } => {
            format!("run again: another hash, {trace_hash:016x}: not deterministic")
        }
    })
}

fn commands(result: &RunResult) -> Vec<(&'static str, &str)> {
    let Some(repro) = &result.repro else {
        return Vec::new();
    };
    let purpose = match (result.verdict, &result.live) {
        (_, Some(_)) => "Run it once more",
        (Verdict::Pass, None) => "Repeat",
        (_, None) => "See it again",
    };
    let whole = repro.whole.as_deref();
    let whole = whole.map(|command| ("See the whole run again", command));
    [(purpose, repro.command.as_str())]
        .into_iter()
        .chain(whole)
        .collect()
}

fn follow_command(run: &FinishedRun, series: &Series) -> String {
    let output = match &run.result().live {
        Some(_) => "--trace trace.jsonl --follow",
        None => "--report report.html --follow",
    };
    let again = match (&run.result().live, &run.result().repro) {
        (Some(_), Some(repro)) => repro.command.clone(),
        (_, _) => repeat_command(&run.file, series.seed, 1, &run.plan.recipe),
    };
    format!("{again} {output}")
}

fn personas(run: &FinishedRun) -> Vec<(String, String)> {
    match &run.plan.workload {
        Workload::Phases { personas, .. } => personas
            .iter()
            .zip(&run.summary.by_persona)
            .map(|(persona, n)| (persona.name.clone(), count(*n)))
            .collect(),
        Workload::Steps { users, .. } => users
            .iter()
            .map(|user| (user.name.clone(), String::new()))
            .collect(),
    }
}

fn properties(result: &RunResult) -> Vec<PropertyRow<'_>> {
    let property = |(name, property)| PropertyRow {
        name,
        meaning: Property::named(name).map_or("", Property::meaning),
        class: Class::of(name),
        standing: match standing(property) {
            Standing::Held => "held",
            Standing::Broken => "violated",
            Standing::Unjudged => "not judged",
            Standing::NotExercised => "not exercised",
        },
        checks: count(property.checks),
        unjudged: count(property.unjudged),
    };
    in_order(result).into_iter().map(property).collect()
}

fn thresholds(run: &FinishedRun) -> Vec<Threshold<'_>> {
    let threshold = |(threshold, place)| Threshold {
        place,
        measured: measured(threshold),
        metric: ThresholdResult::limited(threshold),
        of: &threshold.metric,
        expression: &threshold.expression,
        met: threshold.met,
        seed: threshold.seed.map(|seed| seed.to_string()),
    };
    let judged = run.result().thresholds.iter();
    let places = run.plan.thresholds.iter().map(place);
    judged.zip(places).map(threshold).collect()
}

/// The percentage and the milliseconds of a threshold on a quantile.
const fn place(threshold: &plan::Threshold) -> Option<(f64, f64)> {
    match threshold.figure {
        Figure::Percentile(percent) => Some((percent, threshold.bound)),
        Figure::Max
        | Figure::Mean
        | Figure::Overtaken
        | Figure::Jain
        | Figure::Count
        | Figure::Rate => None,
    }
}

fn metrics(result: &RunResult) -> Vec<Metric<'_>> {
    let in_order = Measured::ALL
        .iter()
        .filter_map(|metric| result.metrics.get_key_value(metric.name()));
    in_order
        .map(|(name, metric)| Metric {
            title: title(name),
            count: count(metric.count),
            figures: of_metric(name, metric),
            unfinished: metric.unfinished,
            name,
        })
        .collect()
}

fn durations() -> Vec<&'static str> {
    let all = Measured::ALL.iter();
    let durations = all.filter(|metric| metric.is_duration());
    durations.map(|metric| metric.name()).collect()
}

fn shares(result: &RunResult) -> Vec<Share> {
    let all = result.fairness.iter();
    all.map(|(name, share)| {
        let is_wait = ["queue_wait", "stick_wait"].contains(&name.as_str());
        let shown = |value| {
            if is_wait {
                milliseconds(value)
            } else {
                figure(value)
            }
        };
        Share {
            title: title(name),
            jain: share.jain.map_or_else(|| "–".to_owned(), figure),
            min: (!is_wait).then(|| figure(share.min)),
            max: shown(share.max),
            mean: shown(share.mean),
            overtaken: is_wait.then(|| count(share.overtaken)),
            least: share.least.as_ref().map(least_served),
        }
    })
    .collect()
}

fn timeline(run: &FinishedRun) -> Timeline {
    let timeline = &run.summary.timeline;
    let ms = |span: Span| span.0 as f64 / 1_000.0;
    let mut violations: Vec<f64> = run
        .result()
        .violations
        .iter()
        .map(|violation| violation.at.0 as f64 / 1_000.0)
        .collect();
    violations.sort_by(f64::total_cmp);
    violations.dedup();
    violations.truncate(LISTED);
    Timeline {
        bucket_ms: ms(timeline.bucket),
        arrivals: timeline.arrivals.clone(),
        faults: fault_marks(
            &run.plan.faults_of(shown_seed(run)),
            run.plan.workload.users(),
            &timeline.marks,
            run.series.as_ref(),
        ),
        violations_ms: violations,
        healed_ms: timeline.healed_at.map(ms),
        quiet_ms: timeline.quiet_at.map(ms),
        ended_ms: ms(timeline.ended_at),
    }
}

/// The seed whose faults and figures over time are shown.
fn shown_seed(run: &FinishedRun) -> u64 {
    let recorded = run.series.as_ref();
    recorded.map_or(run.result().seed, |series| series.seed)
}

fn counts(result: &RunResult) -> Vec<(&'static str, String, &'static str)> {
    let counts = result.counts;
    [
        (
            "attempted",
            counts.attempted,
            "sends and pushes that clients meant to make",
        ),
        ("accepted", counts.accepted, "answered with success"),
        ("refused", counts.refused, "answered with a refusal"),
        ("unanswered", counts.unanswered, "never answered"),
        (
            "delivered",
            counts.delivered,
            "seen, once for each receiver",
        ),
        (
            "lost",
            counts.lost,
            "accepted, and never seen by a receiver",
        ),
        ("gapped", counts.gapped, "not seen, but named by a gap"),
        (
            "duplicated",
            counts.duplicated,
            "seen again under another number",
        ),
        (
            "reordered",
            counts.reordered,
            "seen out of their room's order",
        ),
        ("phantom", counts.phantom, "seen, but never sent"),
        (
            "skipped",
            counts.skipped,
            "calls that users without a handle passed over",
        ),
    ]
    .into_iter()
    .map(|(name, n, words)| (name, count(n), words))
    .collect()
}

fn reached(run: &FinishedRun) -> Vec<Reached<'_>> {
    let tally = &run.result().sometimes;
    Point::ALL
        .iter()
        .map(|point| Reached {
            name: point.name(),
            times: tally.get(point.name()).copied().unwrap_or(0),
            expected: run.plan.expect_sometimes.contains(&point.name()),
        })
        .collect()
}
