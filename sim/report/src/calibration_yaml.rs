//! The measurements as YAML for a scenario, with the origin of each in comments.

use std::fmt::Write as _;

use super::numbers::span;
use sim_model::outcome::{Calibration, RoundTrips, Spread};

/// Columns of a line.
const COLUMNS: usize = 98;

/// The YAML, below comments about its origin. `version` is the program's.
#[must_use]
pub fn calibration_yaml(calibration: &Calibration, version: &str) -> String {
    let mut text = String::new();
    origin(calibration, &mut text, version);
    reasons(calibration, &mut text);
    for remark in &calibration.remarks {
        comment(&mut text, &format!("note: {remark}."));
    }
    let (capacity, network) = (&calibration.block.capacity, &calibration.block.network);
    let _ = write!(
        text,
        "capacity:\n  service: {}\n  commit: {}\nnetwork:\n  latency: {}\n",
        spread(capacity.service),
        spread(capacity.commit),
        spread(network.latency)
    );
    text
}

fn origin(calibration: &Calibration, text: &mut String, version: &str) {
    comment(
        text,
        &format!(
            "Measured by sim {version} against {} over {}. It says nothing of another machine, \
             another build, or another load beside it: measure again there.",
            calibration.target, calibration.protocol
        ),
    );
    comment(text, "One at a time, on one connection:");
    for (what, trips) in [
        ("the floor", &calibration.floor),
        ("a read", &calibration.read),
        ("a command that is journalled", &calibration.committed),
    ] {
        let _ = writeln!(text, "#   {}", measured(what, trips));
    }
    let stages = calibration.stages.iter();
    let stages =
        stages.map(|stage| format!("{:.0}/s from {}", stage.per_second, stage.connections));
    let stages = stages.collect::<Vec<_>>().join(", ");
    let reads = format!("Reads from more and more connections: {stages}.");
    comment(text, &reads);
}

fn reasons(calibration: &Calibration, text: &mut String) {
    let best = calibration.stages.iter().map(|stage| stage.per_second);
    let best = best.fold(0.0, f64::max);
    comment(
        text,
        &format!(
            "service: its mean is a second over the {best:.0} reads in the best of these; its \
             tail has the shape of the reads that came one at a time."
        ),
    );
    comment(
        text,
        &format!(
            "commit: what {} takes beyond {}, its tail included.",
            calibration.committed.request, calibration.read.request
        ),
    );
    comment(
        text,
        &format!(
            "latency: half of what {} takes beyond service, so that it holds what client and \
             server do for many at once; the half of {} is {}.",
            calibration.read.request,
            calibration.floor.request,
            span(calibration.floor.took.p50 / 2.0)
        ),
    );
}

fn measured(what: &str, trips: &RoundTrips) -> String {
    let took = &trips.took;
    format!(
        "{:<13} {:>6} times   p50 {:>7}   p99 {:>7}   ({what})",
        trips.request,
        took.count,
        span(took.p50).to_string(),
        span(took.p99).to_string()
    )
}

/// The notation of scenarios.
fn spread(spread: Spread) -> String {
    format!("{{ p50: {}, p99: {} }}", spread.p50, spread.p99)
}

/// A sentence as lines of comment.
fn comment(text: &mut String, sentence: &str) {
    let mut width = 0;
    for word in sentence.split_whitespace() {
        if width == 0 || width + 1 + word.len() > COLUMNS {
            text.push_str(if width == 0 { "#" } else { "\n#  " });
            width = if width == 0 { 1 } else { 3 };
        }
        text.push(' ');
        text.push_str(word);
        width += 1 + word.len();
    }
    text.push('\n');
}
