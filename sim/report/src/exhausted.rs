//! The output of an exhaustive search: its worlds and their states, each property, and the path to
//! a violation.

use std::collections::BTreeMap;

use super::checks::property_table;
use super::line::{INDENT, Line, Style, flow, page, paragraph};
use super::numbers::{count, milliseconds, plural, short};
use super::shell::{command_lines, run_command};
use super::verdict_lines::verdict;
use super::{Detail, View};
use sim_model::outcome::{Counterexample, Exhausted, PropertyResult, Searched};

/// The ends of the columns of the table of worlds.
const COLUMNS: [usize; 5] = [20, 34, 48, 62, 72];
const HEADS: [&str; 5] = ["states", "merged", "unchanged", "steps", "time"];

/// The column of the answers beside the steps.
const ANSWERS: usize = 48;

/// The page, or its last line.
#[must_use]
pub fn exhausted(found: &Exhausted, view: &View<'_>) -> String {
    let mut blocks = Vec::new();
    if view.detail != Detail::Quiet {
        let broken = found.worlds.iter().find_map(|world| {
            let path = world.counterexample.as_ref()?;
            Some((world, path))
        });
        blocks.push(match broken {
            Some((world, path)) => failure(world, path, view),
            None => vec![head(found, view)],
        });
        blocks.extend([worlds(found, view.detail), properties(found)]);
    }
    blocks.push(vec![end(found)]);
    page(blocks, view.paint)
}

fn head(found: &Exhausted, view: &View<'_>) -> Line {
    let faults = plural(found.faults.into(), "fault");
    Line::styled(Style::Strong, "exhaust").text(&format!(
        " · {} users, depth {}, {faults} · sim {}",
        found.users, found.depth, view.version
    ))
}

fn failure(world: &Searched, path: &Counterexample, view: &View<'_>) -> Vec<Line> {
    let property = path.property();
    let steps = plural(path.steps.len() as u64, "step");
    let mut lines = vec![Line::styled(Style::Bad, "FAIL ").text(&format!(
        "{property} · {} · {steps} · sim {}",
        world.world, view.version
    ))];
    lines.extend(paragraph("", path.sentence(), 0));
    lines.push(Line::new());
    let who = path.users.iter().flatten().zip('a'..);
    let who = who.map(|(user, letter)| format!("{letter} is {user}"));
    let who = format!("({})", who.collect::<Vec<_>>().join(", "));
    lines.push(Line::styled(Style::Strong, "WHAT HAPPENS ").text(&who));
    for (number, step) in path.steps.iter().enumerate() {
        let line = Line::new()
            .right(Style::Faint, &(number + 1).to_string(), 3)
            .text(&format!("  {}", step.action));
        lines.push(match &step.answer {
            Some(answer) => line.pad(ANSWERS).text(&format!("← {answer}")),
            None => line,
        });
    }
    if path.shows_at_drain {
        lines.push(Line::plain(
            "     then every inbox is read to its end, which shows it",
        ));
    }
    lines.push(Line::new());
    match &path.scenario {
        Some(file) => lines.extend(command_lines("repeat", &run_command(file), INDENT)),
        None => lines.push(Line::styled(
            Style::Faint,
            "As a scenario it does not show: there is no file to repeat it by.",
        )),
    }
    lines
}

fn worlds(found: &Exhausted, detail: Detail) -> Vec<Line> {
    let heading = Line::styled(Style::Strong, "WORLD");
    let mut lines = vec![heading.cells(Style::Faint, HEADS, COLUMNS)];
    for world in &found.worlds {
        let cells = [
            count(world.states),
            count(world.merged),
            count(world.unchanged),
            count(world.transitions),
            milliseconds(world.wall_ms),
        ];
        lines.push(Line::plain(world.world.name()).cells(Style::Plain, cells, COLUMNS));
        if detail == Detail::Verbose {
            let by_depth = world.by_depth.iter().enumerate();
            let items: Vec<String> = by_depth
                .map(|(depth, states)| format!("{depth}: {}", count(*states)))
                .collect();
            lines.extend(flow("  new by depth", &items, " · ", 16));
        }
    }
    lines
}

fn properties(found: &Exhausted) -> Vec<Line> {
    let mut all: BTreeMap<&'static str, PropertyResult> = BTreeMap::new();
    let worlds = found.worlds.iter();
    for (name, result) in worlds.flat_map(|world| world.tally.properties()) {
        all.entry(name).or_default().add(result);
    }
    property_table(&all)
}

fn end(found: &Exhausted) -> Line {
    let states = found.worlds.iter().map(|world| world.states).sum();
    let steps: u64 = found.worlds.iter().map(|world| world.transitions).sum();
    let mut words = format!(
        "{} in {}",
        plural(states, "state"),
        milliseconds(found.wall_ms)
    );
    if found.wall_ms > 0.0 {
        let pace = short(steps as f64 * 1_000.0 / found.wall_ms);
        words += &format!(" · {} tried, {pace}/s", plural(steps, "step"));
    }
    verdict(found.exit_code, &words)
}
