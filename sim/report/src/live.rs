//! The parts of a page about a run against a live server.

use super::FinishedRun;
use super::checks::in_order;
use super::line::{INDENT, Line, Style, listed, paragraph};
use super::numbers::{count, figure, milliseconds, plural, short, told};
use sim_model::outcome::{LiveResult, NemesisResult, RunResult, StageResult, Verdict};

/// The ends of the columns of the stages.
const COLUMNS: [usize; 7] = [8, 16, 26, 37, 47, 57, 66];
const HEADS: [&str; 7] = [
    "scale",
    "users",
    "offered/s",
    "achieved/s",
    "message",
    "request",
    "driver",
];

/// The server's URL, and the parts of the scenario that were ignored.
pub(super) fn about(live: &LiveResult) -> Vec<Line> {
    let mut where_to = format!("live at {} by {}", live.target, live.protocol);
    if (live.rate_scale - 1.0).abs() > f64::EPSILON {
        where_to += &format!(", arrivals × {}", figure(live.rate_scale));
    }
    where_to += &format!("; names end in {}", live.suffix);
    let entries = live.journal_entries.map(count);
    where_to += &told("; judged by ", entries, " entries of its journal");
    let mut lines = paragraph("", &where_to, 0);
    for (label, items) in [
        ("ignored", &live.ignored),
        ("lacks", &live.lacking),
        ("left out", &live.left_out),
    ] {
        if !items.is_empty() {
            lines.extend(paragraph(label, &items.join(", "), INDENT));
        }
    }
    lines
}

/// The facts and the load of a live run, as names and values for the HTML page, which leaves out those
/// without a value.
pub(super) fn facts(live: &LiveResult) -> Vec<(&'static str, String)> {
    let [load, starts, driver] = measured(live).map(|(_, words)| words.join(", "));
    let nemesis = live
        .nemesis
        .as_ref()
        .map(|nemesis| made(nemesis).join(", "));
    let entries = live.journal_entries.map(count);
    vec![
        ("Server", format!("{} by {}", live.target, live.protocol)),
        ("Load", load),
        ("Starts", starts),
        ("Driver", driver),
        ("Ignored", live.ignored.join(", ")),
        ("Lacks", live.lacking.join(", ")),
        ("Journal", told("judged by its ", entries, " entries")),
        ("Nemesis", told("", nemesis, "")),
        ("Notes", live.remarks.join("; ")),
    ]
}

/// The faults of the nemesis: how often each was made.
fn made(nemesis: &NemesisResult) -> Vec<String> {
    let each = nemesis.times().into_iter();
    let made = each.map(|(fault, times)| format!("{fault} {}×", count(times)));
    match nemesis.faults.is_empty() {
        true => vec!["no fault".to_owned()],
        false => made.collect(),
    }
}

/// By what a live run was judged, and what that leaves out.
pub(super) const fn judged(live: &LiveResult) -> &'static str {
    if live.journal_entries.is_some() {
        "Judged by the clients' histories and the server's journal. Only the instants of reads are in \
         neither, and were not judged."
    } else {
        "Judged by the clients' histories alone: a violation is reported only where two facts \
         contradict each other. What clients cannot know was not judged, and is counted as such; \
         with --journal the server's decisions are judged, too."
    }
}

/// What was asked for and done: the load, the starts of users, and the driver's own delay.
fn measured(live: &LiveResult) -> [(&'static str, Vec<String>); 3] {
    let (starts, delay) = (live.starts, &live.scheduling_delay);
    let (on_time, planned) = (count(starts.started - starts.late), count(starts.planned));
    let load = vec![
        format!("{} calls/s offered", short(live.offered_per_second)),
        format!("{} achieved", short(live.achieved_per_second)),
        format!("{} requests", count(live.requests.sent)),
        format!("{} failed", count(live.requests.failed)),
    ];
    let starts = vec![
        format!("{on_time} of {planned} on time"),
        format!("{} late", count(starts.late)),
        format!("{} dropped", count(starts.dropped)),
    ];
    let driver = vec![
        format!("p50 {} late", shown(delay.p50)),
        format!("p99 {}", shown(delay.p99)),
        format!("max {}", shown(delay.max)),
    ];
    [("load", load), ("starts", starts), ("driver", driver)]
}

fn shown(figure: Option<f64>) -> String {
    milliseconds(figure.unwrap_or_default())
}

/// The offered and achieved rates, the driver's own delay, and the stages.
pub(super) fn figures(run: &FinishedRun) -> Vec<Line> {
    let Some(live) = &run.result().live else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    if let Some(nemesis) = &live.nemesis {
        lines.extend(listed("nemesis", &made(nemesis)));
    }
    let measured = measured(live).into_iter();
    lines.extend(measured.flat_map(|(name, words)| listed(name, &words)));
    for (name, metric) in &live.uncorrected {
        if metric.count > 0 {
            let words = [
                format!("{} from when it left", name.trim_end_matches("_latency")),
                format!("p50 {}", shown(metric.p50)),
                format!("p99 {}", shown(metric.p99)),
                format!("max {}", shown(metric.max)),
            ];
            lines.extend(listed("", &words));
        }
    }
    lines.extend(unjudged(run.result()));
    for remark in &live.remarks {
        lines.extend(paragraph("note", remark, INDENT));
    }
    lines
}

/// The properties with comparisons that need the server's own records.
fn unjudged(result: &RunResult) -> Vec<Line> {
    let all = in_order(result).into_iter();
    let some = all.filter(|(_, property)| property.checks > 0 && property.unjudged > 0);
    let words = some.map(|(name, property)| {
        let (checks, unjudged) = (count(property.checks), count(property.unjudged));
        format!("{name} {checks} checks, {unjudged} not judged")
    });
    listed("unjudged", &words.collect::<Vec<_>>())
}

/// The table of stages.
pub(super) fn stages(run: &FinishedRun) -> Vec<Line> {
    let live = run.result().live.as_ref();
    let Some(stages) = live.map(|live| &live.stages).filter(|all| !all.is_empty()) else {
        return Vec::new();
    };
    let heading = Line::styled(Style::Strong, "STAGES").text(" (p99)");
    let columns = Line::new().cells(Style::Faint, HEADS, COLUMNS);
    let mut lines = vec![heading, columns];
    lines.extend(stages.iter().map(row));
    lines.push(Line::plain(&match border(stages) {
        Some((best, times)) => format!(
            "highest that passed {}: × {}, {}, {} calls/s",
            if times > 1 { "twice" } else { "once" },
            figure(best.rate_scale),
            plural(best.users, "user"),
            short(best.achieved_per_second)
        ),
        None => "none passed".to_owned(),
    }));
    lines
}

/// The stage with the highest rate at which all runs passed, and their number.
fn border(stages: &[StageResult]) -> Option<(&StageResult, usize)> {
    let is_at = |rate: f64| move |one: &&StageResult| one.rate_scale.total_cmp(&rate).is_eq();
    let at = |rate: f64| stages.iter().filter(is_at(rate));
    let passed =
        |stage: &&StageResult| at(stage.rate_scale).all(|one| one.verdict == Verdict::Pass);
    let best = stages.iter().filter(passed);
    let best = best.max_by(|a, b| a.rate_scale.total_cmp(&b.rate_scale))?;
    Some((best, at(best.rate_scale).count()))
}

fn row(stage: &StageResult) -> Line {
    let cells = [
        figure(stage.rate_scale),
        count(stage.users),
        short(stage.offered_per_second),
        short(stage.achieved_per_second),
        milliseconds(stage.message_p99),
        milliseconds(stage.request_p99),
        milliseconds(stage.delay_p99),
    ];
    let line = Line::new().cells(Style::Plain, cells, COLUMNS);
    let (style, word) = match stage.verdict {
        Verdict::Pass => (Style::Good, "✓".to_owned()),
        Verdict::Interrupted => (Style::Warn, "– interrupted".to_owned()),
        Verdict::Safety | Verdict::Liveness | Verdict::Unjudged | Verdict::Threshold => {
            (Style::Bad, format!("✗ {}", stage.verdict.name()))
        }
    };
    line.pad(68).with(style, &word)
}
