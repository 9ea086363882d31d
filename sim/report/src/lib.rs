//! What a run shows: a page on the terminal, JSON for programs, JUnit for CI.

mod accounts;
mod aftermath;
mod block;
mod calibrated;
mod checks;
mod claim;
pub mod compare;
mod compared;
pub mod diagram;
mod exhausted;
mod exploration;
mod failure;
mod figures;
mod header;
mod hints;
mod html;
mod json;
mod junit;
mod lanes;
mod line;
mod live;
mod live_line;
mod numbers;
#[cfg(test)]
pub(crate) mod samples;
mod shell;
mod shrunk;
pub mod sides;
mod tail;
mod timeline;
pub mod trace;

use crate::diagram::Diagram;
use crate::trace::SawLine;
use sim_model::outcome::{Class, RunResult, Summary, Verdict, Violation, unreached};
use sim_model::plan::Plan;

pub use block::calibration_yaml;
pub use calibrated::{Calibrated, calibrated_json, calibrated_page};
pub use compared::compared;
pub use exhausted::exhausted;
pub use exploration::{Exploring, Kept, exploration, exploration_json, exploring_line};
pub use html::{calibrated_html, html};
pub use json::json;
pub use junit::junit;
pub use lanes::LANES;
pub use line::Paint;
pub use live_line::{exhausting, live_line};
pub use shell::{repeat_command, run_command};
pub use shrunk::{ShrunkRun, page as shrunk_page};
pub use tail::{closing, verdict_line};

use line::Line;

/// How much of a run is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// The verdict, in one line.
    Quiet,
    /// What one looks for first.
    #[default]
    Normal,
    /// Every property, metric and point.
    Verbose,
}

/// How a page is made.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// How much is shown.
    pub detail: Detail,
    /// Whether there is colour.
    pub paint: Paint,
    /// What the header says of the program, such as `0.1.0 (3f9c1ab)`.
    pub version: &'a str,
}

/// A run that is over, and all that a report says of it.
#[derive(Clone, Debug)]
pub struct FinishedRun {
    /// The scenario file as the command line names it.
    pub file: String,
    /// The scenario.
    pub plan: Plan,
    /// What it came to.
    pub summary: Summary,
    /// What the clients of the first violation saw, from a second run of its seed.
    pub story: Option<Story>,
    /// The smallest scenario that fails like the first violation, if there is one.
    pub shrunk: Option<ShrunkRun>,
    /// The same violation as space-time diagrams, in the order in which they are shown.
    pub diagrams: Vec<Diagram>,
    /// The report that was written unasked, as a person would open it.
    pub look: Option<String>,
}

/// What the clients of a violation saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// The clients, such as `user_7`; each has a lane.
    pub users: Vec<String>,
    /// What they did and saw, in order.
    pub lines: Vec<SawLine>,
    /// Whether the second run was like the first.
    pub rerun: Rerun,
}

/// Whether the same seed came to the same hash again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rerun {
    /// It did.
    Same,
    /// It did not: the run is not deterministic, which is a bug in itself.
    Different {
        /// The hash of the second run.
        trace_hash: u64,
    },
}

impl FinishedRun {
    /// What it came to.
    #[must_use]
    pub const fn result(&self) -> &RunResult {
        &self.summary.result
    }

    /// The violation that the report tells of: the first of the class that the verdict names.
    #[must_use]
    pub fn headline(&self) -> Option<&Violation> {
        let result = self.result();
        let class = match result.verdict {
            Verdict::Safety => Class::Safety,
            Verdict::Liveness => Class::Liveness,
            Verdict::Pass | Verdict::Unjudged | Verdict::Threshold => return None,
        };
        let is_of_class = |violation: &&Violation| {
            sim_model::outcome::class_of(&result.properties, &violation.property) == class
        };
        result.violations.iter().find(is_of_class)
    }

    fn unreached(&self) -> Vec<&'static str> {
        unreached(&self.plan, &self.result().sometimes)
    }
}

/// The page that a terminal shows, at most 80 columns wide.
#[must_use]
pub fn terminal(run: &FinishedRun, view: &View<'_>) -> String {
    let blocks = match (view.detail, run.result().verdict) {
        (Detail::Quiet, _) => vec![vec![tail::quiet_line(run)]],
        (_, Verdict::Pass) => passed(run, view),
        (_, Verdict::Unjudged | Verdict::Threshold) => short_of(run, view),
        (_, Verdict::Safety | Verdict::Liveness) => violated(run, view),
    };
    let mut out = String::new();
    for (i, block) in blocks.iter().filter(|block| !block.is_empty()).enumerate() {
        if i > 0 {
            out.push('\n');
        }
        for line in block {
            line.render(view.paint, &mut out);
        }
    }
    out
}

type Block = Vec<Line>;

fn passed(run: &FinishedRun, view: &View<'_>) -> Vec<Block> {
    let mut first = vec![header::title(run, view)];
    first.extend(header::about(run));
    let mut blocks = vec![first];
    blocks.extend(middle(run, view));
    blocks.push(tail::passed(run));
    blocks
}

/// Everything held, but it could not be judged or a figure is beyond its threshold.
fn short_of(run: &FinishedRun, view: &View<'_>) -> Vec<Block> {
    let mut first = failure::opening(run, view);
    first.push(Line::new());
    first.extend(header::about(run));
    let mut blocks = vec![first];
    blocks.extend(middle(run, view));
    blocks.push(tail::failed(run, view.detail));
    blocks
}

/// A property was violated: what was seen comes first, and only then what held.
fn violated(run: &FinishedRun, view: &View<'_>) -> Vec<Block> {
    let mut blocks = vec![
        failure::opening(run, view),
        lanes::lanes(run),
        shrunk::section(run),
        live::figures(run),
        live::stages(run),
    ];
    if view.detail == Detail::Verbose {
        blocks.push(header::about(run));
        blocks.extend(middle(run, view));
    }
    blocks.push(tail::failed(run, view.detail));
    blocks
}

fn middle(run: &FinishedRun, view: &View<'_>) -> Vec<Block> {
    vec![
        timeline::strip(&run.summary.timeline),
        checks::checks(run.result(), view.detail),
        figures::figures(run, view.detail),
        figures::all_metrics(run.result(), view.detail),
        accounts::accounts(run, view.detail),
        live::figures(run),
        live::stages(run),
    ]
}

#[cfg(test)]
mod tests;
