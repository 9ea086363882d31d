//! The output of an exploration: each failure once, with its drawn configuration and the command to
//! repeat it; points that were never reached; and the speed. As a terminal page, and as JSON.

use std::time::Duration;

use serde_json::{Value, json};

use super::line::{INDENT, Line, Style, flow, page, paragraph};
use super::numbers::{count, milliseconds, plural, short, told};
use super::shell::{command_lines, explore_command, run_command};
use super::verdict_lines::{hash, verdict};
use super::{Detail, ShrunkRun, View, shrunk};
use sim_model::outcome::{
    ExplorationCoverage, ExplorationResult, FLAT, FailureResult, HuntResult, Seek, Trial, Worst,
    WorstTrial,
};

/// The most entries of the list of the worst runs.
const WORST: usize = 5;

/// A finished exploration, with everything that its report needs.
#[derive(Clone, Debug)]
pub struct ExplorationReport<'a> {
    /// The scenario files as the command line names them.
    pub files: &'a [String],
    /// The result.
    pub found: &'a ExplorationResult,
    /// For each failure, the files and shrunk run.
    pub kept: &'a [Kept],
    /// The elapsed real time.
    pub wall: Duration,
}

/// The files and the shrunk run of a failure.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// The file of the scenario as it was drawn, if it could be written.
    pub drawn: Option<String>,
    /// The smallest scenario that fails in the same way.
    pub shrunk: Option<ShrunkRun>,
}

/// The progress line on a terminal: the numbers of seeds, steps and failures.
#[must_use]
pub fn exploring_line(tried: u64, steps: u64, failures: u64, wall: Duration) -> String {
    let seconds = wall.as_secs_f64().max(0.001);
    let failures = (failures > 0).then(|| plural(failures, "failure"));
    let failures = told(" · ", failures, "");
    format!(
        "explore · {} · {} seeds/s · {} steps/s{failures}",
        plural(tried, "seed"),
        short(tried as f64 / seconds),
        short(steps as f64 / seconds),
    )
}

/// The page that a terminal shows, at most 80 columns wide.
#[must_use]
pub fn exploration(run: &ExplorationReport<'_>, view: &View<'_>) -> String {
    let (mut blocks, mut last) = (Vec::new(), Vec::new());
    if view.detail != Detail::Quiet {
        blocks.push(vec![title(run, view)]);
        let failures = run.found.failures.iter().zip(run.kept);
        blocks.extend(failures.map(|(failure, kept)| failed(run, failure, kept)));
        blocks.extend(run.found.hunt.iter().map(|hunted| worst(run, hunted)));
        let covered = run.found.covered.iter();
        last.extend(covered.flat_map(|covered| coverage(run.found, covered)));
        last.extend(unreached(run.found));
    }
    last.push(end(run));
    blocks.push(last);
    page(blocks, view.paint)
}

/// The command that tries a seed again.
fn again(run: &ExplorationReport<'_>, trial: &Trial) -> String {
    explore_command(&run.files[trial.scenario], trial)
}

fn title(run: &ExplorationReport<'_>, view: &View<'_>) -> Line {
    let scenarios = plural(run.files.len() as u64, "scenario");
    Line::styled(Style::Strong, "explore").text(&format!(
        " · {scenarios} · {} from {} · sim {}",
        plural(run.found.tried, "seed"),
        run.found.first,
        view.version
    ))
}

fn scenario<'a>(run: &'a ExplorationReport<'_>, trial: &Trial) -> &'a str {
    &run.found.scenarios[trial.scenario]
}

fn failed(run: &ExplorationReport<'_>, failure: &FailureResult, kept: &Kept) -> Vec<Line> {
    let trial = &failure.trial;
    let (name, seed, tried) = (scenario(run, trial), trial.seed, count(trial.index + 1));
    let head = Line::styled(Style::Bad, "FAIL")
        .with(Style::Strong, &format!(" {}", failure.property))
        .text(&format!(" · {name} · seed {seed} · number {tried} tried"));
    let mut lines = vec![head];
    lines.extend(paragraph("", &failure.detail, 0));
    if !trial.recipe.is_plain() {
        lines.extend(paragraph("recipe", &trial.recipe.to_string(), INDENT));
    }
    lines.extend(flow("drew", &failure.drew, " · ", INDENT));
    if let Some(shrunk) = &kept.shrunk {
        lines.push(Line::new());
        lines.extend(shrunk::lines(shrunk));
        lines.push(Line::new());
    }
    if failure.trials > 1 {
        let times = format!("in {} seeds", count(failure.trials));
        lines.extend(paragraph("seen", &times, INDENT));
    }
    if let Some(file) = &kept.drawn {
        lines.extend(paragraph("as drawn", file, INDENT));
    }
    if let Some(shrunk) = &kept.shrunk {
        lines.extend(command_lines("repeat", &run_command(&shrunk.file), INDENT));
    }
    let label = kept.shrunk.as_ref().map_or("repeat", |_| "whole");
    lines.extend(command_lines(label, &again(run, trial), INDENT));
    lines.extend(failure.trace_hash.map(|it| hash(&format!("{it:016x}"))));
    lines
}

fn figure(seek: Seek, worst: &Worst) -> String {
    match seek {
        Seek::QueueWait | Seek::StickWait => milliseconds(worst.figure as f64 / 1_000.0),
        Seek::Overtaking => plural(worst.figure, "time"),
    }
}

fn worst(run: &ExplorationReport<'_>, hunted: &HuntResult) -> Vec<Line> {
    let title = format!("worst {}", hunted.seek.name());
    let mut lines = vec![Line::styled(Style::Strong, &title)];
    if hunted.worst.is_empty() {
        lines.push(Line::plain("none: nobody waited, or nobody was overtaken"));
    }
    for WorstTrial { trial, drew, worst } in hunted.worst.iter().take(WORST) {
        let user = told(" · ", worst.user, "");
        lines.push(Line::new());
        let whose = format!(" · {} · seed {}{user}", scenario(run, trial), trial.seed);
        let line = Line::styled(Style::Strong, &figure(hunted.seek, worst));
        lines.push(line.text(&whose));
        lines.extend(flow("drew", drew, " · ", INDENT));
        let again = format!("{} --seek {}", again(run, trial), hunted.seek.name());
        lines.extend(command_lines("repeat", &again, INDENT));
    }
    lines
}

/// The coverage of a guided exploration, and whether it ended because nothing new was reached.
fn coverage(found: &ExplorationResult, covered: &ExplorationCoverage) -> Vec<Line> {
    let facets = plural(covered.facets as u64, "facet");
    let recipes = plural(covered.recipes as u64, "recipe");
    let runs = plural(found.runs, "run");
    let mut parts = vec![facets, recipes, runs];
    if covered.flat {
        parts.push(format!("flat: nothing new in {} families", count(FLAT)));
    }
    flow("coverage", &parts, " · ", INDENT)
}

fn unreached(found: &ExplorationResult) -> Vec<Line> {
    if found.unreached.is_empty() {
        return vec![Line::plain("reached   every sometimes point")];
    }
    flow("unreached", &found.unreached, ", ", INDENT)
}

fn end(run: &ExplorationReport<'_>) -> Line {
    let found = run.found;
    let seconds = run.wall.as_secs_f64().max(0.001);
    let one = match found.covered {
        Some(_) => "family",
        None => "seed",
    };
    let speed = format!(
        "{} in {}, {}/s · {} steps/s",
        plural(found.tried, one),
        milliseconds(seconds * 1_000.0),
        short(found.tried as f64 / seconds),
        short(found.steps as f64 / seconds),
    );
    let words = match found.failures.len() as u64 {
        0 => speed,
        n => format!("{} · {speed}", plural(n, "failure")),
    };
    verdict(found.exit_code, &words)
}

/// The exploration as one JSON object.
#[must_use]
pub fn exploration_json(run: &ExplorationReport<'_>) -> Value {
    let found = run.found;
    let seconds = run.wall.as_secs_f64().max(0.001);
    let failures = found.failures.iter().zip(run.kept);
    let failures = failures.map(|(failure, kept)| failure_json(run, failure, kept));
    let seek = found.hunt.as_ref();
    json!({
        "scenarios": run.files,
        "seed": found.first,
        "seeds": found.tried,
        // None if it was guided.
        "virtual_ms": found.virtual_span.map(|span| span.0 as f64 / 1_000.0),
        "wall_ms": seconds * 1_000.0,
        "seeds_per_second": found.tried as f64 / seconds,
        "steps": found.steps,
        "exit_code": found.exit_code,
        "failures": failures.collect::<Value>(),
        "unreached": found.unreached,
        "seek": seek.map(|hunted| worst_json(run, hunted)),
        // With branches.
        "runs": found.runs,
        "first_failure": found.first_failure,
        "guided": found.covered,
    })
}

fn failure_json(run: &ExplorationReport<'_>, failure: &FailureResult, kept: &Kept) -> Value {
    let trial = &failure.trial;
    json!({
        "property": failure.property,
        "class": failure.class,
        "cause": failure.cause,
        "detail": failure.detail,
        "scenario": scenario(run, trial),
        "file": run.files[trial.scenario],
        "seed": trial.seed,
        // The number of seeds tried up to and including this one.
        "index": trial.index + 1,
        // The number of seeds with this failure.
        "seeds": failure.trials,
        "trace_hash": failure.trace_hash.map(|hash| format!("{hash:016x}")),
        // Empty for the plain run.
        "recipe": trial.recipe.to_string(),
        "drew": failure.drew.join(" · "),
        "drawn_file": kept.drawn,
        "command": again(run, trial),
        "shrunk": kept.shrunk.as_ref().map(ShrunkRun::result),
    })
}

fn worst_json(run: &ExplorationReport<'_>, hunted: &HuntResult) -> Value {
    let worst = hunted.worst.iter().take(WORST).map(|one| {
        let WorstTrial { trial, drew, worst } = one;
        json!({
            // Milliseconds, or the number of times overtaken.
            "figure": match hunted.seek {
                Seek::QueueWait | Seek::StickWait => worst.figure as f64 / 1_000.0,
                Seek::Overtaking => worst.figure as f64,
            },
            "user": worst.user.map(|user| user.to_string()),
            "scenario": scenario(run, trial),
            "file": run.files[trial.scenario],
            "seed": trial.seed,
            "recipe": trial.recipe.to_string(),
            "drew": drew.join(" · "),
            "command": again(run, trial),
        })
    });
    json!({ "what": hunted.seek.name(), "worst": worst.collect::<Value>() })
}
