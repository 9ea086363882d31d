//! The data of the page, as its programs read it: figures as on the terminal, and plain numbers for
//! charts.

use chat_types::Span;
use serde_json::{Value, json};

use crate::checks::{in_order, standing};
use crate::failure::{failing_seed, rest, sentences, what_failed};
use crate::failure_details::rerun_words;
use crate::figures::{least_served, measured, of_metric, title};
use crate::header::{network, personas, server};
use crate::numbers::{count, figure, milliseconds};
use crate::shell::repeat_command;
use crate::verdict_lines::speed;
use crate::{FinishedRun, live};
use sim_model::names::Property;
use sim_model::outcome::{
    Class, Mark, MetricResult, ObservedFault, Point, RunResult, Series, ThresholdResult, Verdict,
};
use sim_model::plan::{Fault, Figure, Metric, ScriptUser};

/// The most listed violations and stuck users; further ones are counted.
const LISTED: usize = 50;

/// The whole page.
pub(super) fn page(runs: &[FinishedRun], version: &str) -> Value {
    let run = |run: &FinishedRun| {
        let mut page = head(run);
        if let (Some(page), Value::Object(rest)) = (page.as_object_mut(), tables(run)) {
            page.extend(rest);
        }
        page
    };
    let runs: Value = runs.iter().map(run).collect();
    json!({ "version": version, "runs": runs })
}

/// The verdict, the scenario, and the commands to paste.
fn head(run: &FinishedRun) -> Value {
    let result = run.result();
    // In place of the parts about the simulated server.
    let live = result.live.as_ref().map(|live| {
        json!({
            "facts": live::facts(live),
            "judged": live::judged(live),
            "stages": live.stages,
        })
    });
    let rerun = run.excerpt.as_ref().map(rerun_words);
    json!({
        "name": run.plan.name,
        "file": run.file,
        "about": run.plan.about,
        "verdict": result.verdict,
        "exit_code": result.exit_code,
        "what": what_failed(run),
        "sentences": sentences(run),
        "seeds": failing_seed(run),
        "several_seeds": result.seeds > 1,
        "users": count(result.users),
        "personas": personas(run),
        "server": server(&run.plan),
        "network": network(&run.plan),
        // All that depends on the machine is in this text.
        "wall": speed(result),
        "trace_hash": result.trace_hash,
        "live": live,
        "rerun": rerun,
        "commands": commands(result),
        "follow": run.series.as_ref().map(|series| follow_command(run, series)),
    })
}

/// The rows of the tables, and what is drawn.
fn tables(run: &FinishedRun) -> Value {
    let result = run.result();
    let (stuck, violations) = (&result.stuck, &result.violations);
    let failing = run.summary.failing.iter().take(LISTED);
    let titles = Metric::ALL
        .iter()
        .map(|one| (one.name().to_owned(), json!(one.title())));
    // The metrics of charts; a place in this list is a colour.
    let durations = Metric::ALL.iter().filter(|metric| metric.is_duration());
    let refusals = result.refusals.iter();
    json!({
        "charts": run.summary.charts,
        "diagrams": run.diagrams,
        "series": run.series,
        "lanes": run.lanes,
        "properties": properties(result),
        "thresholds": thresholds(run),
        "metrics": metrics(result),
        "shares": shares(result),
        "titles": titles.collect::<Value>(),
        "durations": durations.map(|metric| metric.name()).collect::<Value>(),
        "timeline": timeline(run),
        "counts": counts(result),
        "refusals": refusals.map(|(code, n)| json!([code, count(*n)])).collect::<Value>(),
        "reached": reached(run),
        "rest": rest(result),
        "stuck": stuck[..stuck.len().min(LISTED)],
        "stuck_in_all": stuck.len() as u64 + result.stuck_left_out,
        "violations": violations[..violations.len().min(LISTED)],
        "violations_in_all": violations.len() as u64 + result.violations_left_out,
        "failing_seeds": failing.map(|one| one.seed.to_string()).collect::<Value>(),
    })
}

/// Commands to paste, each with its purpose.
fn commands(result: &RunResult) -> Vec<(&'static str, &str)> {
    let purpose = match (result.verdict, &result.live) {
        (_, Some(_)) => "Run it once more",
        (Verdict::Pass, None) => "Repeat",
        (_, None) => "See it again",
    };
    let commands = result.repro.iter().flat_map(|repro| {
        let whole = repro.whole.as_deref();
        let whole = whole.map(|command| ("See the whole run again", command));
        [(purpose, &*repro.command)].into_iter().chain(whole)
    });
    commands.collect()
}

fn follow_command(run: &FinishedRun, series: &Series) -> String {
    match (&run.result().live, &run.result().repro) {
        (Some(_), Some(repro)) => format!("{} --trace trace.jsonl --follow", repro.command),
        (_, _) => {
            let again = repeat_command(&run.file, series.seed, 1, &run.plan.recipe);
            format!("{again} --report report.html --follow")
        }
    }
}

fn properties(result: &RunResult) -> Value {
    let property = |(name, property)| {
        json!({
            "name": name,
            "meaning": Property::named(name).map_or("", Property::meaning),
            "class": Class::of(name),
            "standing": standing(property).name(),
            "checks": count(property.checks),
            "unjudged": count(property.unjudged),
        })
    };
    in_order(result).into_iter().map(property).collect()
}

fn thresholds(run: &FinishedRun) -> Value {
    let both = run.result().thresholds.iter().zip(&run.plan.thresholds);
    both.map(|(threshold, planned)| {
        // The percentage and the milliseconds of a threshold on a quantile.
        let place = if let Figure::Percentile(percent) = planned.figure {
            Some((percent, planned.bound))
        } else {
            None
        };
        json!({
            "place": place,
            "measured": measured(threshold),
            "metric": ThresholdResult::limited(threshold),
            "of": threshold.metric,
            "expression": threshold.expression,
            "met": threshold.met,
            "seed": threshold.seed.map(|seed| seed.to_string()),
        })
    })
    .collect()
}

fn metrics(result: &RunResult) -> Value {
    let all = Metric::ALL.iter();
    let measured = all.filter_map(|metric| result.metrics.get_key_value(metric.name()));
    let row = |(name, metric): (&String, &MetricResult)| {
        json!({
            "name": name,
            "title": title(name),
            "count": count(metric.count),
            "figures": of_metric(name, metric),
            "unfinished": metric.unfinished,
        })
    };
    measured.map(row).collect()
}

fn shares(result: &RunResult) -> Value {
    let all = result.fairness.iter();
    all.map(|(name, share)| {
        let is_wait = ["queue_wait", "stick_wait"].contains(&name.as_str());
        let shown = match is_wait {
            true => milliseconds,
            false => figure,
        };
        json!({
            "title": title(name),
            "jain": share.jain.map_or_else(|| "–".to_owned(), figure),
            "min": (!is_wait).then(|| figure(share.min)),
            "max": shown(share.max),
            "mean": shown(share.mean),
            "overtaken": is_wait.then(|| count(share.overtaken)),
            "least": share.least.as_ref().map(least_served),
        })
    })
    .collect()
}

fn timeline(run: &FinishedRun) -> Value {
    let timeline = &run.summary.timeline;
    let ms = |span: Span| span.0 as f64 / 1_000.0;
    let violations = run.result().violations.iter();
    let mut violations: Vec<f64> = violations.map(|violation| ms(violation.at)).collect();
    violations.sort_by(f64::total_cmp);
    violations.dedup();
    violations.truncate(LISTED);
    // The seed whose figures over time are shown.
    let recorded = run.series.as_ref();
    let seed = recorded.map_or(run.result().seed, |series| series.seed);
    let faults = run.plan.faults_of(seed);
    let users = run.plan.workload.users();
    json!({
        "bucket_ms": ms(timeline.bucket),
        "arrivals": timeline.arrivals,
        "faults": fault_marks(&faults, users, &timeline.marks, run.series.as_ref()),
        "violations_ms": violations,
        "healed_ms": timeline.healed_at.map(ms),
        "quiet_ms": timeline.quiet_at.map(ms),
        "ended_ms": ms(timeline.ended_at),
    })
}

/// The counts of messages, each with its meaning.
const COUNTS: [(&str, &str); 11] = [
    ("attempted", "sends and pushes that clients meant to make"),
    ("accepted", "answered with success"),
    ("refused", "answered with a refusal"),
    ("unanswered", "never answered"),
    ("delivered", "seen, once for each receiver"),
    ("lost", "accepted, and never seen by a receiver"),
    ("gapped", "not seen, but named by a gap"),
    ("duplicated", "seen again under another number"),
    ("reordered", "seen out of their room's order"),
    ("phantom", "seen, but never sent"),
    ("skipped", "calls that users without a handle passed over"),
];

fn counts(result: &RunResult) -> Value {
    let counts = json!(result.counts);
    let n = |name: &str| count(counts[name].as_u64().unwrap_or_default());
    let row = |(name, words)| json!([name, n(name), words]);
    COUNTS.into_iter().map(row).collect()
}

fn reached(run: &FinishedRun) -> Value {
    let tally = &run.result().sometimes;
    let row = |point: &Point| {
        json!({
            "name": point.name(),
            "times": tally.get(point.name()).copied().unwrap_or(0),
            "expected": run.plan.expect_sometimes.contains(&point.name()),
        })
    };
    Point::ALL.iter().map(row).collect()
}

/// The faults of the plan, and those that were observed beside them, by time. A fault that waits for
/// a milestone is where `marks` say that it began, or nowhere.
fn fault_marks(
    faults: &[Fault],
    users: &[ScriptUser],
    marks: &[Mark],
    series: Option<&Series>,
) -> Vec<ObservedFault> {
    let began = |index| marks.iter().find(|mark| mark.fault == Some(index));
    let planned = faults.iter().enumerate().filter_map(|(index, fault)| {
        let at = match fault.milestone {
            None => fault.at,
            Some(_) => began(index)?.at,
        };
        Some(ObservedFault {
            at,
            length: fault.kind.length(),
            kind: fault.kind.row().label.to_owned(),
            words: fault.words(users),
        })
    });
    let observed = series.iter().flat_map(|series| &series.faults);
    let mut all: Vec<ObservedFault> = planned.chain(observed.cloned()).collect();
    all.sort_by_key(|fault| fault.at);
    all
}

#[cfg(test)]
mod tests {
    use sim_model::outcome::Timeline;
    use sim_model::plan::{FaultKind, Milestone, Reached};

    use super::*;

    #[test]
    fn a_fault_that_waits_is_where_it_began_or_nowhere() {
        let planned = |seconds, milestone| Fault {
            milestone,
            ..Fault::once(Span::secs(seconds), FaultKind::LoseReplies)
        };
        let waits = Some(Milestone {
            reached: Reached::Stick("queued"),
            count: 1,
        });
        let faults = [planned(1, waits), planned(2, waits), planned(3, None)];
        let mut timeline = Timeline::new(Span::secs(1));
        timeline.mark(Span::secs(3), "replies lost", Some(2));
        timeline.mark(Span::secs(7), "replies lost", Some(0));
        let marks = fault_marks(&faults, &[], &timeline.marks, None);
        let times: Vec<Span> = marks.iter().map(|mark| mark.at).collect();
        assert_eq!(times, [3, 7].map(Span::secs));
    }
}
