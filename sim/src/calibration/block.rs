//! What was measured as a scenario takes it, with where it comes from beside it.

use std::fmt::Write as _;

use chat_core::Span;

use super::{Calibration, Spread, Stage, Trips};

/// Columns of a line.
const COLUMNS: usize = 98;

impl Calibration {
    /// The block, under comments that say how it came about. `version` is the program's.
    #[must_use]
    pub fn to_yaml(&self, version: &str) -> String {
        let mut text = String::new();
        self.origin(&mut text, version);
        self.reasons(&mut text);
        for remark in &self.remarks {
            comment(&mut text, &format!("note: {remark}."));
        }
        let (capacity, network) = (&self.block.capacity, &self.block.network);
        let _ = write!(
            text,
            "capacity:\n  service: {}\n  commit: {}\nnetwork:\n  latency: {}\n",
            spread(capacity.service),
            spread(capacity.commit),
            spread(network.latency)
        );
        text
    }

    fn origin(&self, text: &mut String, version: &str) {
        comment(
            text,
            &format!(
                "Measured by sim {version} against {} over {}. It says nothing of another machine, \
                 another build, or another load beside it: measure again there.",
                self.target, self.protocol
            ),
        );
        comment(text, "One at a time, on one connection:");
        for (what, trips) in [
            ("the floor", &self.floor),
            ("a read", &self.read),
            ("a command that is journalled", &self.committed),
        ] {
            let _ = writeln!(text, "#   {}", measured(what, trips));
        }
        let stages = self.stages.iter().map(|stage| {
            let Stage {
                connections,
                per_second,
                ..
            } = stage;
            format!("{per_second:.0}/s from {connections}")
        });
        let stages: Vec<String> = stages.collect();
        comment(
            text,
            &format!(
                "Reads from more and more connections: {}.",
                stages.join(", ")
            ),
        );
    }

    fn reasons(&self, text: &mut String) {
        let best = self.stages.iter().map(|stage| stage.per_second);
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
                self.committed.request, self.read.request
            ),
        );
        comment(
            text,
            &format!(
                "latency: half of what {} takes beyond service, so that it holds what client and \
                 server do for many at once; the half of {} is {}.",
                self.read.request,
                self.floor.request,
                micros(self.floor.took.p50 / 2.0)
            ),
        );
    }
}

fn measured(what: &str, trips: &Trips) -> String {
    let took = &trips.took;
    format!(
        "{:<13} {:>6} times   p50 {:>7}   p99 {:>7}   ({what})",
        trips.request,
        took.count,
        micros(took.p50).to_string(),
        micros(took.p99).to_string()
    )
}

fn micros(milliseconds: f64) -> Span {
    Span(super::whole(milliseconds * 1_000.0))
}

/// The way scenarios write it.
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
