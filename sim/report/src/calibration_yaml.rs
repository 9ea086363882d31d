//! The measurements as YAML for a scenario, with the origin of each in comments.

use super::numbers::span;
use sim_model::outcome::{Calibration, RoundTrips, Spread};

/// Columns of a line.
const COLUMNS: usize = 98;

/// The YAML, below comments about its origin. `version` is the program's.
#[must_use]
pub fn calibration_yaml(calibration: &Calibration, version: &str) -> String {
    let (target, protocol) = (&calibration.target, &calibration.protocol);
    let (floor, read) = (&calibration.floor, &calibration.read);
    let committed = &calibration.committed;
    let mut text = comment(&format!(
        "Measured by sim {version} against {target} over {protocol}. It says nothing of another machine, \
         another build, or another load beside it: measure again there."
    ));
    text += &comment("One at a time, on one connection:");
    for (what, trips) in [
        ("the floor", floor),
        ("a read", read),
        ("a command that is journalled", committed),
    ] {
        text += &format!("#   {}\n", measured(what, trips));
    }
    let stages = calibration.stages.iter();
    let best = stages.clone().map(|stage| stage.per_second);
    let best = best.fold(0.0, f64::max);
    let stages =
        stages.map(|stage| format!("{:.0}/s from {}", stage.per_second, stage.connections));
    let stages = stages.collect::<Vec<_>>().join(", ");
    let half = span(floor.took.p50.unwrap_or_default() / 2.0);
    let (floor, read, committed) = (floor.request, read.request, committed.request);
    for sentence in [
        format!("Reads from more and more connections: {stages}."),
        format!(
            "service: its mean is a second over the {best:.0} reads in the best of these; its \
             tail has the shape of the reads that came one at a time."
        ),
        format!("commit: what {committed} takes beyond {read}, its tail included."),
        format!(
            "latency: half of what {read} takes beyond service, so that it holds what client and \
             server do for many at once; the half of {floor} is {half}."
        ),
    ] {
        text += &comment(&sentence);
    }
    for remark in &calibration.remarks {
        text += &comment(&format!("note: {remark}."));
    }
    let (capacity, network) = (&calibration.block.capacity, &calibration.block.network);
    let (service, commit) = (spread(capacity.service), spread(capacity.commit));
    let latency = spread(network.latency);
    text + &format!(
        "capacity:\n  service: {service}\n  commit: {commit}\nnetwork:\n  latency: {latency}\n"
    )
}

fn measured(what: &str, trips: &RoundTrips) -> String {
    let took = &trips.took;
    let [p50, p99] = [took.p50, took.p99].map(|figure| span(figure.unwrap_or_default()));
    format!(
        "{:<13} {:>6} times   p50 {:>7}   p99 {:>7}   ({what})",
        trips.request,
        took.count,
        p50.to_string(),
        p99.to_string()
    )
}

/// The notation of scenarios.
fn spread(spread: Spread) -> String {
    format!("{{ p50: {}, p99: {} }}", spread.p50, spread.p99)
}

/// A sentence as lines of comment.
fn comment(sentence: &str) -> String {
    let (mut text, mut width) = (String::new(), 0);
    for word in sentence.split_whitespace() {
        if width == 0 || width + 1 + word.len() > COLUMNS {
            text.push_str(if width == 0 { "#" } else { "\n#  " });
            width = if width == 0 { 1 } else { 3 };
        }
        text.push(' ');
        text.push_str(word);
        width += 1 + word.len();
    }
    text + "\n"
}
