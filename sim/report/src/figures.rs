//! Metrics of the virtual world, with their thresholds.

use std::collections::BTreeMap;

use unicode_width::UnicodeWidthStr as _;

use super::line::{Line, PAGE, Style, fit};
use super::numbers::{count, figure, milliseconds, plural, short, told};
use super::{Detail, FinishedRun};
use sim_model::outcome::{
    BriefResult, FairnessResult, GroupResult, LeastServed, MetricResult, RoomResult, RunResult,
    ThresholdResult,
};
use sim_model::plan::Metric;

/// Metrics shown even without a threshold.
const ALWAYS: [&str; 4] = [
    "message_latency",
    "later_latency",
    "queue_wait",
    "stick_wait",
];
/// The ends of the four columns of figures, and the beginning of the thresholds.
const COLUMNS: [usize; 4] = [25, 33, 41, 49];
const THRESHOLDS: usize = 52;

/// A metric's name as a table shows it.
pub(super) fn title(metric: &str) -> String {
    let known = Metric::named(metric).map(|metric| metric.title().to_owned());
    known.unwrap_or_else(|| metric.replace('_', " "))
}

pub(super) fn amount(metric: &str, value: f64) -> String {
    if Metric::named(metric).is_some_and(Metric::is_duration) {
        milliseconds(value)
    } else if value < 100.0 {
        figure(value)
    } else {
        short(value)
    }
}

/// The measured value for a threshold: a quantile or a mean in the unit of the metric.
pub(super) fn measured(threshold: &ThresholdResult) -> String {
    let expression = threshold.expression.trim_start();
    let is_value = |figure: &str| expression.starts_with(figure);
    match threshold.measured {
        None => "not measured".to_owned(),
        Some(value) if ["p(", "max", "mean"].into_iter().any(is_value) => {
            amount(&threshold.metric, value)
        }
        Some(value) => figure(value),
    }
}

/// The values of a metric: p50, p90, p95, p99, p99.9, max and mean.
pub(super) fn of_metric(name: &str, metric: &MetricResult) -> [String; 7] {
    [
        metric.p50,
        metric.p90,
        metric.p95,
        metric.p99,
        metric.p999,
        metric.max,
        metric.mean,
    ]
    .map(|value| value.map_or_else(|| "–".to_owned(), |value| amount(name, value)))
}

/// The table of metrics.
pub(super) fn figures(run: &FinishedRun, detail: Detail) -> Vec<Line> {
    let result = run.result();
    let names = Metric::ALL.iter().map(|metric| metric.name());
    let mut lines: Vec<Line> = names.flat_map(|name| rows(result, name, detail)).collect();
    if lines.is_empty() {
        return lines;
    }
    let world = result.live.as_ref().map_or(" (virtual)", |_| " (live)");
    let heading = Line::styled(Style::Strong, "FIGURES").text(world);
    let mut heading = heading.cells(Style::Faint, ["p50", "p95", "p99", "max"], COLUMNS);
    if !result.thresholds.is_empty() {
        heading = heading.pad(THRESHOLDS).with(Style::Faint, "threshold");
    }
    lines.insert(0, heading);
    lines
}

/// The rows of a metric, and of those personas that have thresholds on it. Thresholds may need further
/// lines.
fn rows(result: &RunResult, name: &str, detail: Detail) -> Vec<Line> {
    let of_metric = || result.thresholds.iter().filter(|one| one.metric == name);
    let of = |persona: Option<&str>| -> Vec<&ThresholdResult> {
        let limits = |one: &&ThresholdResult| one.persona.as_deref() == persona;
        of_metric().filter(limits).collect()
    };
    let (thresholds, metric) = (of(None), result.metrics.get(name));
    let fairness = result.fairness.get(name);
    let seen = metric.is_some_and(|metric| metric.count + metric.unfinished + metric.unserved > 0)
        || fairness.is_some_and(|fairness| fairness.max > 0.0);
    let wanted = ALWAYS.contains(&name) || detail == Detail::Verbose;
    let mut lines = Vec::new();
    if !thresholds.is_empty() || wanted && seen {
        let label = fit(&title(name), 17);
        lines = row(&label, name, metric, fairness, &thresholds);
        let remarks = remarks(metric, fairness).join(" · ");
        if !remarks.is_empty() {
            lines.push(Line::plain("  ").with(Style::Warn, &remarks));
        }
    }
    // The thresholds of one persona follow one another.
    let mut personas: Vec<&str> = of_metric()
        .filter_map(|one| one.persona.as_deref())
        .collect();
    personas.dedup();
    if lines.is_empty() && !personas.is_empty() {
        lines.push(Line::plain(&title(name)));
    }
    for persona in personas {
        let mut groups = result.groups.personas.iter();
        let group = groups.find(|group| group.name == persona);
        let metric = group.and_then(|group| group.metrics.get(name));
        let label = format!("  {}", fit(persona, 15));
        lines.extend(row(&label, name, metric, None, &of(Some(persona))));
    }
    lines
}

/// `jain 0.91 · 5 to 30 · mean 26`
fn shares(fairness: &FairnessResult) -> String {
    let jain = fairness.jain.map_or_else(|| "–".to_owned(), figure);
    let [min, max, mean] =
        [fairness.min, fairness.max, fairness.mean].map(|value| amount("", value));
    let range = if fairness.min < fairness.max {
        format!("{min} to {max} · mean {mean}")
    } else {
        format!("{max} each")
    };
    format!("jain {jain} · {range}")
}

/// `user_1 (slow#0) had 5 of a fair 26.3 (seed 7)`
pub(super) fn least_served(least: &LeastServed) -> String {
    let (had, fair) = (count(least.had), figure(least.fair));
    format!("{} had {had} of a fair {fair}", least.who)
}

/// How much less than its fair share a user had that is named.
const NAMED: f64 = 0.9;

/// What the figures of a row do not say: how few they stand on, which waits are not over, and who had
/// least.
fn remarks(metric: Option<&MetricResult>, fairness: Option<&FairnessResult>) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(metric) = metric {
        // The first of the shown quantiles that is just the largest of so few values.
        let thin = [("p95", 1..20), ("p99", 20..100)].into_iter();
        for (name, _) in thin.filter(|(_, few)| few.contains(&metric.count)) {
            let values = plural(metric.count, "value");
            remarks.push(format!("{name} stands on {values}"));
        }
        if metric.unfinished > 0 {
            let end = "without an end, counted with the length reached";
            remarks.push(format!("{} {end}", count(metric.unfinished)));
        }
        if metric.unserved > 0 {
            let longest = milliseconds(metric.longest_unserved);
            let ended = plural(metric.unserved, "wait");
            remarks.push(format!("{ended} ended otherwise, after at most {longest}"));
        }
    }
    let least = fairness.and_then(|fairness| fairness.least.as_ref());
    if let Some(least) = least.filter(|least| least.relative() < NAMED) {
        remarks.push(least_served(least));
    }
    remarks
}

/// The figures of a metric behind a label, with its thresholds. The measured value is shown beside a
/// missed threshold, and beside every threshold whose row has no figures.
fn row(
    label: &str,
    name: &str,
    metric: Option<&MetricResult>,
    fairness: Option<&FairnessResult>,
    thresholds: &[&ThresholdResult],
) -> Vec<Line> {
    let line = Line::plain(label);
    let mut line = match (metric, fairness) {
        (Some(metric), _) => {
            let [p50, _, p95, p99, _, max, _] = of_metric(name, metric);
            line.cells(Style::Plain, [p50, p95, p99, max], COLUMNS)
        }
        (None, Some(fairness)) => line.right(Style::Plain, &shares(fairness), COLUMNS[3]),
        (None, None) => line,
    };
    let is_bare = metric.is_none() && fairness.is_none();
    let mut lines = Vec::new();
    for threshold in thresholds {
        let expression: String = threshold.expression.split_whitespace().collect();
        let (style, mark) = match threshold.met {
            Some(true) => (Style::Good, "✓"),
            Some(false) => (Style::Bad, "✗"),
            None => (Style::Warn, "–"),
        };
        let is_told = is_bare || threshold.met != Some(true);
        let value = told(" ", is_told.then(|| measured(threshold)), "");
        let value = fit(&value, 14);
        let room = PAGE - THRESHOLDS - 2 - value.width();
        let expression = fit(&expression, room);
        let width = expression.width() + 2 + value.width();
        if line.width() > THRESHOLDS && line.width() + 1 + width > PAGE {
            lines.push(std::mem::take(&mut line));
        }
        line = line.pad(THRESHOLDS).text(&expression).text(" ");
        line = line.with(style, mark).text(&value);
    }
    lines.push(line);
    lines
}

/// With `--verbose`: all values of every metric.
pub(super) fn all_metrics(result: &RunResult, detail: Detail) -> Vec<Line> {
    if detail != Detail::Verbose || result.metrics.is_empty() {
        return Vec::new();
    }
    let columns = || (0..8).map(|i| 24 + 8 * i);
    let names = ["count", "p50", "p90", "p95", "p99", "p99.9", "max", "mean"];
    let heading = Line::styled(Style::Strong, "METRICS");
    let rows = result.metrics.iter().map(|(name, metric)| {
        let values = of_metric(name, metric);
        let cells = [short_count(metric.count)].into_iter().chain(values);
        Line::plain(&fit(&title(name), 16)).cells(Style::Plain, cells, columns())
    });
    [heading.cells(Style::Faint, names, columns())]
        .into_iter()
        .chain(rows)
        .collect()
}

fn short_count(n: u64) -> String {
    if n < 1_000_000 {
        count(n)
    } else {
        short(n as f64)
    }
}

/// The beginning of a metric's name in the tables of groups, and the ends of their columns of figures.
const METRIC: usize = 22;
const OF_GROUP: [usize; 5] = [41, 49, 57, 65, 73];

/// A row: the metric's name, and its figures.
type Row = (String, Vec<String>);

/// The tables of all groups.
pub(super) fn grouped(result: &RunResult, detail: Detail) -> Vec<Line> {
    if detail != Detail::Verbose {
        return Vec::new();
    }
    let group = |one: &GroupResult| rows_of(&one.name, &one.metrics, one.refused, of_group);
    let room = |one: &RoomResult| rows_of(&one.name, &one.metrics, one.refused, brief);
    let groups = &result.groups;
    let quantiles = ["count", "p50", "p95", "p99", "max"];
    let (personas, phases) = (&groups.personas, &groups.phases);
    let rooms = groups.rooms.iter().map(room);
    [
        table("BY PERSONA", &quantiles, personas.iter().map(group)),
        table("BY PHASE", &quantiles, phases.iter().map(group)),
        table("BY ROOM", &["count", "mean", "max"], rooms),
    ]
    .concat()
}

fn rows_of<M>(
    group: &str,
    metrics: &BTreeMap<String, M>,
    refused: u64,
    values: fn(&str, &M) -> Vec<String>,
) -> (String, Vec<Row>) {
    let metrics = metrics.iter();
    let metrics = metrics.map(|(name, metric)| (title(name), values(name, metric)));
    let refused = (refused > 0).then(|| ("refused".to_owned(), vec![count(refused)]));
    (group.to_owned(), metrics.chain(refused).collect())
}

fn of_group(name: &str, metric: &MetricResult) -> Vec<String> {
    let values = [metric.p50, metric.p95, metric.p99, metric.max];
    let values = values.map(|value| amount(name, value.unwrap_or_default()));
    [count(metric.count)].into_iter().chain(values).collect()
}

fn brief(name: &str, metric: &BriefResult) -> Vec<String> {
    let (mean, max) = (amount(name, metric.mean), amount(name, metric.max));
    vec![count(metric.count), mean, max]
}

fn table(
    name: &str,
    heads: &[&str],
    groups: impl Iterator<Item = (String, Vec<Row>)>,
) -> Vec<Line> {
    let mut lines = Vec::new();
    for (group, rows) in groups {
        for (index, (metric, values)) in rows.iter().enumerate() {
            let first = if index == 0 { group.as_str() } else { "" };
            let line = Line::plain(&fit(first, METRIC - 2)).pad(METRIC);
            lines.push(line.text(metric).cells(Style::Plain, values, OF_GROUP));
        }
    }
    if !lines.is_empty() {
        let heading = Line::styled(Style::Strong, name);
        lines.insert(0, heading.cells(Style::Faint, heads, OF_GROUP));
    }
    lines
}
