//! The output of a run: a page on the terminal, JSON, JUnit for CI, and an HTML report.

mod calibrated;
mod calibration_yaml;
mod checks;
pub mod compare;
mod compared;
pub mod diagram;
mod exhausted;
mod exploration;
mod failure;
mod failure_details;
mod figures;
mod header;
mod html;
mod json;
mod junit;
mod lanes;
mod line;
mod live;
mod live_line;
mod numbers;
mod replayed;
mod run_counts;
pub mod server_comparison;
mod shell;
mod shrunk;
mod timeline;
pub mod trace;
mod user_lanes;
mod verdict_lines;

use crate::diagram::Diagram;
use crate::trace::ObservedLine;
use sim_model::outcome::{Class, RunResult, Series, Summary, Verdict, Violation, unreached};
use sim_model::plan::Plan;

pub use calibrated::{CalibrationReport, calibrated_page};
pub use calibration_yaml::calibration_yaml;
pub use compared::compared;
pub use exhausted::exhausted;
pub use exploration::{ExplorationReport, Kept, exploration, exploration_json, exploring_line};
pub use failure::crossed;
pub use html::html;
pub use json::{Origin, json};
pub use junit::junit;
pub use lanes::LANES;
pub use line::Paint;
pub use live_line::{exhausting, live_line};
pub use replayed::replayed;
pub use shell::{quote, repeat_command, run_command, started_as};
pub use shrunk::{ShrunkRun, page as shrunk_page};
pub use user_lanes::{UserLanes, user_lanes};
pub use verdict_lines::summary;

use line::Line;

/// The level of detail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// The verdict, in one line.
    Quiet,
    /// The most important facts.
    #[default]
    Normal,
    /// Every property, metric and point.
    Verbose,
}

/// The options of a page.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The level of detail.
    pub detail: Detail,
    /// Whether to use colour.
    pub paint: Paint,
    /// The version in the header, such as `0.1.0 (3f9c1ab)`.
    pub version: &'a str,
}

/// A finished run, with everything that its report needs.
#[derive(Clone, Debug)]
pub struct FinishedRun {
    /// The scenario file as the command line names it.
    pub file: String,
    /// The scenario.
    pub plan: Plan,
    /// The result.
    pub summary: Summary,
    /// What the clients of the first violation observed, from a second run of its seed.
    pub excerpt: Option<FailureExcerpt>,
    /// The smallest scenario that fails like the first violation, if there is one.
    pub shrunk: Option<ShrunkRun>,
    /// Diagrams of the same violation, in the order of display.
    pub diagrams: Vec<Diagram>,
    /// The figures of one seed over time, if they were recorded.
    pub series: Option<Series>,
    /// Lanes of users of that seed.
    pub lanes: Option<UserLanes>,
    /// The report that was written automatically: its path or URL.
    pub look: Option<String>,
}

/// What the clients of a violation observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureExcerpt {
    /// The clients, such as `user_7 (penpal#12)`; each has a lane.
    pub users: Vec<String>,
    /// What they did and observed, in order.
    pub lines: Vec<ObservedLine>,
    /// The hash of the second run, if it is another: the run is not deterministic, which is a bug.
    pub other_hash: Option<u64>,
}

impl FinishedRun {
    /// A run with its result alone.
    #[must_use]
    pub const fn new(file: String, plan: Plan, summary: Summary) -> Self {
        Self {
            file,
            plan,
            summary,
            excerpt: None,
            shrunk: None,
            diagrams: Vec::new(),
            series: None,
            lanes: None,
            look: None,
        }
    }

    /// The result.
    #[must_use]
    pub const fn result(&self) -> &RunResult {
        &self.summary.result
    }

    /// The violation that the report is about: the first of the class in the verdict.
    #[must_use]
    pub fn headline(&self) -> Option<&Violation> {
        let result = self.result();
        let class = match result.verdict {
            Verdict::Safety => Class::Safety,
            Verdict::Liveness => Class::Liveness,
            Verdict::Pass | Verdict::Unjudged | Verdict::Threshold | Verdict::Interrupted => {
                return None;
            }
        };
        let is_of_class = |violation: &&Violation| Class::of(&violation.property) == class;
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
        (Detail::Quiet, _) => vec![vec![verdict_lines::quiet_line(run)]],
        (_, Verdict::Safety | Verdict::Liveness) => violated(run, view),
        (_, _) => held(run, view),
    };
    line::page(blocks, view.paint)
}

type Block = Vec<Line>;

/// Everything held, but the run may not be judged, or miss a threshold.
fn held(run: &FinishedRun, view: &View<'_>) -> Vec<Block> {
    let (mut first, last) = if matches!(run.result().verdict, Verdict::Pass | Verdict::Interrupted)
    {
        (vec![header::title(run, view)], verdict_lines::passed(run))
    } else {
        let mut first = failure::opening(run, view);
        first.push(Line::new());
        (first, verdict_lines::failed(run, view.detail))
    };
    first.extend(header::about(run));
    let mut blocks = vec![first];
    blocks.extend(middle(run, view));
    blocks.push(last);
    blocks
}

/// A property was violated: the observations come first, then what held.
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
    } else {
        blocks.push(run_counts::traffic(run.result()));
    }
    blocks.push(verdict_lines::failed(run, view.detail));
    blocks
}

fn middle(run: &FinishedRun, view: &View<'_>) -> Vec<Block> {
    vec![
        timeline::strip(&run.summary.timeline),
        checks::checks(run.result(), view.detail),
        figures::figures(run, view.detail),
        figures::all_metrics(run.result(), view.detail),
        figures::grouped(run.result(), view.detail),
        run_counts::run_counts(run, view.detail),
        live::figures(run),
        live::stages(run),
    ]
}

#[cfg(test)]
mod tests;
