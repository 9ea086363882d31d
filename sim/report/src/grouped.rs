//! With `--verbose`: figures by persona, phase and room.

use super::Detail;
use super::figures::{amount, title};
use super::line::{Line, Style, fit};
use super::numbers::count;
use sim_model::outcome::{BriefResult, GroupResult, MetricResult, RoomResult, RunResult};

/// The beginning of the metric's name, and the ends of the columns of figures.
const METRIC: usize = 22;
const COLUMNS: [usize; 5] = [41, 49, 57, 65, 73];

/// A row: the metric's name, and its figures.
type Row = (String, Vec<String>);

/// The tables of all groups.
pub(super) fn grouped(result: &RunResult, detail: Detail) -> Vec<Line> {
    if detail != Detail::Verbose {
        return Vec::new();
    }
    let of_group = |group: &GroupResult| {
        let metrics = group.metrics.iter();
        let metrics = metrics.map(|(name, metric)| (title(name), figures(name, metric)));
        (group.name.clone(), with_refused(metrics, group.refused))
    };
    let of_room = |room: &RoomResult| {
        let metrics = room.metrics.iter();
        let metrics = metrics.map(|(name, metric)| (title(name), brief(name, *metric)));
        (room.name.clone(), with_refused(metrics, room.refused))
    };
    let groups = &result.groups;
    let quantiles = ["count", "p50", "p95", "p99", "max"];
    let (personas, phases) = (&groups.personas, &groups.phases);
    let rooms = groups.rooms.iter().map(of_room);
    [
        table("BY PERSONA", &quantiles, personas.iter().map(of_group)),
        table("BY PHASE", &quantiles, phases.iter().map(of_group)),
        table("BY ROOM", &["count", "mean", "max"], rooms),
    ]
    .concat()
}

fn with_refused(metrics: impl Iterator<Item = Row>, refused: u64) -> Vec<Row> {
    let refused = (refused > 0).then(|| ("refused".to_owned(), vec![count(refused)]));
    metrics.chain(refused).collect()
}

fn figures(name: &str, metric: &MetricResult) -> Vec<String> {
    let values = [metric.p50, metric.p95, metric.p99, metric.max];
    let values = values.map(|value| amount(name, value));
    [count(metric.count)].into_iter().chain(values).collect()
}

fn brief(name: &str, metric: BriefResult) -> Vec<String> {
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
            lines.push(line.text(metric).cells(Style::Plain, values, COLUMNS));
        }
    }
    if !lines.is_empty() {
        let heading = Line::new().with(Style::Strong, name);
        lines.insert(0, heading.cells(Style::Faint, heads, COLUMNS));
    }
    lines
}
