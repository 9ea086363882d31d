//! The measurements of a server, and a scenario that ran against it and against a virtual server
//! with the same times.

use serde::Serialize;

use super::View;
use super::figures::title;
use super::line::{INDENT, Line, Style, fit, page, paragraph};
use super::numbers::{count, figure, milliseconds, plural, short};
use crate::server_comparison::{
    LoadStage, METRICS, MetricDifference, NOT_IN_IT, QUANTILES, ServerComparison,
};
use sim_model::outcome::Calibration;

/// The complete result of `sim calibrate`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CalibrationReport {
    /// The server.
    #[serde(flatten)]
    pub measured: Calibration,
    /// A scenario on both servers, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sides: Option<ServerComparison>,
    /// The exit code of the command.
    pub exit_code: u8,
}

/// The end of the column of loads, and of the three columns of each quantile.
const LOAD: usize = 6;
const QUANTILE: [[usize; 3]; 3] = [[15, 23, 30], [39, 47, 54], [63, 71, 78]];

/// The ends of the columns of rates.
const RATES: [usize; 7] = [16, 24, 35, 43, 54, 62, 70];

/// The page about both servers; empty if no scenario was run.
#[must_use]
pub fn calibrated_page(done: &CalibrationReport, view: &View<'_>) -> String {
    let Some(sides) = &done.sides else {
        return String::new();
    };
    let measured = &done.measured;
    let head = Line::styled(Style::Strong, &fit(&sides.scenario, 40))
        .text(&format!(" · seed {} · virtual beside live", sides.seed));
    let (target, protocol) = (&measured.target, &measured.protocol);
    let words = format!("live at {target} by {protocol}; the ratio is live over virtual");
    let mut blocks = vec![vec![head]];
    blocks[0].extend(paragraph("", &words, 0));
    let measured_by_both = METRICS.into_iter().filter(|name| {
        let mut scales = sides.scales.iter();
        scales.any(|scale| scale.ratios.contains_key(name))
    });
    blocks.extend(measured_by_both.map(|name| durations(sides, name)));
    blocks.push(rates(sides));
    // The differences between both servers, one sentence for each metric.
    let parts = sides.parts.iter().map(apart);
    let parts = parts.flat_map(|(name, sentence)| paragraph(&name, &sentence, INDENT + 3));
    blocks.push(parts.collect());
    blocks.push(paragraph("", NOT_IN_IT, 0));
    blocks.push(notes(sides));
    blocks.push(vec![closing(sides, done.exit_code)]);
    page(blocks, view.paint)
}

/// `× 2`
fn load(scale: &LoadStage) -> String {
    format!("× {}", figure(scale.rate_scale))
}

/// One metric over all loads.
fn durations(sides: &ServerComparison, metric: &str) -> Vec<Line> {
    let mut heading = Line::styled(Style::Strong, &title(metric).to_uppercase());
    let mut columns = Line::new().right(Style::Faint, "load", LOAD);
    for (quantile, ends) in QUANTILES.into_iter().zip(QUANTILE) {
        heading = heading.right(Style::Faint, quantile, ends[1]);
        columns = columns.cells(Style::Faint, ["virtual", "live", "ratio"], ends);
    }
    let rows = sides.scales.iter().map(|scale| row(scale, metric));
    [heading, columns].into_iter().chain(rows).collect()
}

fn row(scale: &LoadStage, metric: &str) -> Line {
    let [simulated, live] = [&scale.simulated, &scale.live].map(|side| side.quantiles(metric));
    let ratios = scale.ratios.get(metric);
    let mut line = Line::new().right(Style::Plain, &load(scale), LOAD);
    for (at, ends) in QUANTILE.into_iter().enumerate() {
        let span = |of: Option<[f64; 3]>| of.map_or("–".to_owned(), |all| milliseconds(all[at]));
        let ratio = ratios.and_then(|ratios| ratios[at]);
        line = line
            .cells(Style::Plain, [span(simulated), span(live)], ends)
            .right(Style::Strong, &times(ratio), ends[2]);
    }
    line
}

/// A ratio with two decimals; a large one in short form.
fn times(ratio: Option<f64>) -> String {
    match ratio {
        None => "–".to_owned(),
        Some(ratio) if ratio < 99.5 => format!("{ratio:.2}"),
        Some(ratio) => short(ratio),
    }
}

/// The users, and the offered and answered calls per second.
fn rates(sides: &ServerComparison) -> Vec<Line> {
    let groups = ["users", "offered/s", "answered/s"];
    let heading = Line::styled(Style::Strong, "RATES");
    let heading = heading.cells(Style::Faint, groups, [24, 43, 62]);
    let names = ["virtual", "live"].into_iter().cycle().take(6);
    let columns = Line::new().right(Style::Faint, "load", LOAD);
    let columns = columns.cells(Style::Faint, names.chain(["ratio"]), RATES);
    let rows = sides.scales.iter().map(|scale| {
        let (simulated, live) = (&scale.simulated, &scale.live);
        let ratio = live.achieved_per_second / simulated.achieved_per_second;
        let cells = [
            count(simulated.users),
            count(live.users),
            short(simulated.offered_per_second),
            short(live.offered_per_second),
            short(simulated.achieved_per_second),
            short(live.achieved_per_second),
            times(ratio.is_finite().then_some(ratio)),
        ];
        let first = Line::new().right(Style::Plain, &load(scale), LOAD);
        first.cells(Style::Plain, cells, RATES)
    });
    [heading, columns].into_iter().chain(rows).collect()
}

/// The difference in words: the metric, and the sentence.
fn apart(part: &MetricDifference) -> (String, String) {
    let at = &part.furthest;
    let (least, most) = (times(Some(part.least)), times(Some(part.most)));
    let (scale, quantile) = (figure(at.rate_scale), at.quantile);
    let (simulated, live) = (milliseconds(at.simulated), milliseconds(at.live));
    let sentence = format!(
        "live is {least} to {most} times the virtual; furthest at × {scale}, {quantile}: {simulated} \
         virtual, {live} live"
    );
    (title(part.metric), sentence)
}

fn notes(sides: &ServerComparison) -> Vec<Line> {
    let mut lines = Vec::new();
    for scale in &sides.scales {
        for (world, side) in [("virtual", &scale.simulated), ("live", &scale.live)] {
            let remarks = side.remarks.iter().map(|remark| ("note", remark));
            let violation = side
                .violation
                .iter()
                .map(|violation| ("violated", violation));
            for (label, words) in remarks.chain(violation) {
                let told = format!("{}, {world}: {words}", load(scale));
                lines.extend(paragraph(label, &told, INDENT));
            }
        }
    }
    lines
}

fn closing(sides: &ServerComparison, exit_code: u8) -> Line {
    let (style, word) = match exit_code {
        0 => (Style::Good, "MEASURED"),
        _ => (Style::Bad, "VIOLATED"),
    };
    let loads = plural(sides.scales.len() as u64, "load");
    let words = format!(" · {loads} in two worlds · exit {exit_code}");
    Line::styled(style, word).text(&words)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use chat_types::Span;

    use super::*;
    use crate::Detail;
    use crate::line::Paint;
    use crate::server_comparison::ServerRun;
    use crate::tests::samples;
    use sim_model::outcome::{
        CalibrationBlock, CapacityTimes, NetworkTimes, RoundTrips, Spread, Stage, Verdict,
    };

    fn calibrated(scales: Vec<LoadStage>) -> CalibrationReport {
        let spread = |p50, p99| Spread {
            p50: Span(p50),
            p99: Span(p99),
        };
        let trips = |request, p50| RoundTrips {
            request,
            took: samples::metric(p50, p50 * 2.0, p50 * 3.0, p50 * 9.0),
        };
        let measured = Calibration {
            target: "http://127.0.0.1:8894".to_owned(),
            protocol: "2026-07-28",
            block: CalibrationBlock {
                capacity: CapacityTimes {
                    service: spread(60, 180),
                    commit: spread(25, 90),
                },
                network: NetworkTimes {
                    latency: spread(70, 210),
                },
            },
            floor: trips("ping", 0.1),
            read: trips("check", 0.2),
            committed: trips("send_message", 0.225),
            stages: vec![Stage {
                connections: 8,
                per_second: 16_666.0,
                driver_busy: 0.6,
            }],
            remarks: Vec::new(),
        };
        let (name, file) = ("brief".to_owned(), "brief.yaml".to_owned());
        CalibrationReport {
            measured,
            sides: Some(ServerComparison::of(name, file, 42, scales)),
            exit_code: 0,
        }
    }

    fn side(load: f64, slow: f64) -> ServerRun {
        let metric = |p50: f64| samples::metric(p50, p50 * 2.0, p50 * 5.0, p50 * 9.0);
        ServerRun {
            users: 60,
            offered_per_second: 71.5 * load,
            achieved_per_second: 70.1 * load,
            verdict: Verdict::Pass,
            violation: None,
            metrics: BTreeMap::from([
                ("request_latency", metric(0.3 * slow)),
                ("message_latency", metric(0.4 * slow)),
            ]),
            remarks: Vec::new(),
        }
    }

    fn page(done: &CalibrationReport) -> String {
        let view = View {
            detail: Detail::Normal,
            paint: Paint::Plain,
            version: "0.1.0",
        };
        calibrated_page(done, &view)
    }

    #[test]
    fn both_worlds_stand_side_by_side() {
        let mut last = side(100.0, 900.0);
        last.remarks = vec!["the driver was 9ms late itself (p99)".to_owned()];
        last.violation = Some("room_order: user_7 saw message 2 before message 1.".to_owned());
        last.verdict = Verdict::Safety;
        // A metric of only one side is shown without a comparison.
        let mut alone = side(100.0, 4.0);
        alone.metrics.remove("message_latency");
        let scales = vec![
            LoadStage::of(1.0, side(1.0, 1.0), side(1.0, 0.9)),
            LoadStage::of(2.5, side(2.5, 1.5), side(2.5, 4.0)),
            LoadStage::of(100.0, alone, last),
        ];
        let mut done = calibrated(scales);
        done.exit_code = 1;
        let page = page(&done);
        assert!(
            page.lines().all(|line| line.chars().count() <= 80),
            "{page}"
        );
        insta::assert_snapshot!(page);
    }

    #[test]
    fn a_server_alone_has_no_page() {
        let mut done = calibrated(Vec::new());
        done.sides = None;
        assert_eq!(page(&done), "");
        let json = serde_json::to_value(&done).unwrap();
        assert_eq!(json["capacity"]["service"]["p50"], "60us");
        assert_eq!(json["network"]["latency"]["p99"], "210us");
        assert_eq!(json.get("sides"), None);
    }
}
