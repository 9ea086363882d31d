//! The output of a comparison: a line for each differing figure, with the direction.

use std::cmp::Ordering;

use super::View;
use super::line::{Line, Style, fit, page, paragraph};
use super::numbers::{self, count, plural, short, span, told};
use crate::compare::{
    Amount, CHECKS, Change, Compared, Comparison, Difference, REACHED, Simulator, Wall, is_duration,
};

/// The ends of the columns of amounts, and the beginning of the mark.
const BEFORE: usize = 50;
const AFTER: usize = 64;
const MARK: usize = 67;
/// The widest name of a figure, and the widest amount.
const NAME: usize = 35;
const AMOUNT: usize = 13;

/// The page. `before` and `after` are the files as the command line names them.
#[must_use]
pub fn compared(
    found: &Comparison,
    (before, after): (&str, &str),
    exit_code: u8,
    view: &View<'_>,
) -> String {
    let files = format!("{} → {}", fit(before, 30), fit(after, 30));
    let head = Line::styled(Style::Strong, "compare ").text(&files);
    let [old, new] = &found.simulators;
    let simulators = match old == new {
        true => format!("both by {}", simulator(old)),
        false => format!("by {} → {}", simulator(old), simulator(new)),
    };
    let simulators = Line::styled(Style::Faint, &simulators);
    let mut blocks = vec![vec![head, simulators]];
    let scenarios = found.scenarios.iter();
    blocks.extend(scenarios.map(|scenario| one(scenario, found.noise)));
    let lacking = [(&found.only_before, after), (&found.only_after, before)];
    for (names, file) in lacking {
        let words = names.iter().map(|name| format!("{name}: not in {file}"));
        blocks.extend(words.map(|words| paragraph("", &words, 0)));
    }
    blocks.push(vec![closing(found, exit_code)]);
    page(blocks, view.paint)
}

fn one(scenario: &Compared, noise: f64) -> Vec<Line> {
    let head = Line::styled(Style::Strong, &fit(&scenario.scenario, 40));
    let [before, after] = scenario.seeds.map(|(first, many)| seeds(first, many));
    let seeds = match before == after {
        true => before.clone(),
        false => format!("{before} → {after}"),
    };
    let is_same = scenario.is_whole() && scenario.differences.is_empty();
    let same = if is_same { " · same" } else { "" };
    let mut lines = vec![head.text(&format!(" · {seeds}{same}"))];
    if !scenario.is_whole() {
        let other = match (scenario.is_same_scenario, before == after) {
            (true, _) => "other seeds",
            (false, true) => "another scenario of this name",
            (false, false) => "another scenario of this name, other seeds",
        };
        let left = "only verdicts, properties, thresholds and speed are compared";
        lines.extend(paragraph("", &format!("{other}: {left}"), 0));
    }
    let (shown, rest): (Vec<_>, Vec<_>) =
        scenario.differences.iter().partition(|one| is_shown(one));
    if !shown.is_empty() {
        let heading = Line::styled(Style::Faint, "figure");
        lines.push(heading.cells(Style::Faint, ["before", "after"], [BEFORE, AFTER]));
    }
    lines.extend(shown.into_iter().map(difference));
    if !rest.is_empty() {
        let counted = plural(rest.len() as u64, "count");
        let words = format!(
            "{counted} of checks and reached points, of which no change is better or worse"
        );
        lines.push(Line::styled(Style::Faint, &words));
    }
    lines.extend(scenario.wall.map(|wall| speed(wall, noise)));
    lines
}

/// Other counts of checks and of reached points say no more than that the runs differ.
fn is_shown(one: &Difference) -> bool {
    let counts_only = one.figure.starts_with(CHECKS) || one.figure.starts_with(REACHED);
    one.change != Change::Different || !counts_only || reached(one).is_some()
}

fn simulator(one: &Simulator) -> String {
    let commit = one.commit.as_deref().unwrap_or("no commit");
    format!("sim {} ({commit})", one.version)
}

fn seeds(first: u64, many: u64) -> String {
    if many == 1 {
        format!("seed {first}")
    } else {
        format!("{} from {first}", plural(many, "seed"))
    }
}

fn difference(one: &Difference) -> Line {
    let amounts = [&one.before, &one.after].map(|amount| {
        let text = amount.as_ref().map(|amount| shown(amount, &one.figure));
        fit(text.as_deref().unwrap_or("–"), AMOUNT)
    });
    let direction = match (&one.before, &one.after) {
        (Some(Amount::Number(old)), Some(Amount::Number(new))) => new.total_cmp(old),
        (_, _) => Ordering::Equal,
    };
    let (style, mark) = reached(one).unwrap_or_else(|| mark(one.change, direction));
    Line::plain(&fit(&one.figure, NAME))
        .cells(Style::Plain, amounts, [BEFORE, AFTER])
        .pad(MARK)
        .with(style, mark)
}

/// The mark of a point that only one of the runs reached.
fn reached(one: &Difference) -> Option<(Style, &'static str)> {
    one.figure.strip_prefix(REACHED)?;
    match (&one.before, &one.after) {
        (Some(Amount::Number(0.0)), Some(Amount::Number(_))) => {
            Some((Style::Plain, "▲ reached now"))
        }
        (Some(Amount::Number(_)), Some(Amount::Number(0.0))) => Some((Style::Bad, "▼ worse: lost")),
        (_, _) => None,
    }
}

/// A sign and a word, so that the meaning does not depend on colour or shape alone. Not all amounts are more
/// or less than others.
const fn mark(change: Change, direction: Ordering) -> (Style, &'static str) {
    match (change, direction) {
        (Change::Worse, Ordering::Greater) => (Style::Bad, "▲ worse"),
        (Change::Worse, Ordering::Less) => (Style::Bad, "▼ worse"),
        (Change::Worse, Ordering::Equal) => (Style::Bad, "✗ worse"),
        (Change::Better, Ordering::Greater) => (Style::Good, "▲ better"),
        (Change::Better, Ordering::Less) => (Style::Good, "▼ better"),
        (Change::Better, Ordering::Equal) => (Style::Good, "✓ better"),
        (Change::Different, Ordering::Greater) => (Style::Plain, "▲ more"),
        (Change::Different, Ordering::Less) => (Style::Plain, "▼ less"),
        (Change::Different, Ordering::Equal) => (Style::Plain, "≠ other"),
    }
}

fn shown(amount: &Amount, figure: &str) -> String {
    match amount {
        // Three digits would hide small differences between durations.
        Amount::Number(n) if is_duration(figure) => span(*n).to_string(),
        Amount::Number(n) => numbers::figure(*n),
        Amount::Word(word) => word.clone(),
        Amount::Held(Some(true)) => "held".into(),
        Amount::Held(Some(false)) => "violated".into(),
        Amount::Held(None) => "not exercised".into(),
    }
}

/// The speed in real time, with the tolerance.
fn speed(wall: Wall, noise: f64) -> Line {
    let percent = (wall.after / wall.before - 1.0) * 100.0;
    let band = numbers::figure(noise * 100.0);
    let (before, after) = (short(wall.before), short(wall.after));
    let speed = format!("wall clock: {before} → {after} steps/s ({percent:+.0}%), ");
    let line = Line::plain(&speed);
    let Some(change) = wall.change else {
        return line.text(&format!("within the noise of {band}%"));
    };
    let (style, mark) = mark(change, wall.after.total_cmp(&wall.before));
    let line = line.with(style, mark);
    line.text(&format!(", beyond the noise of {band}%"))
}

fn closing(found: &Comparison, exit_code: u8) -> Line {
    let end = format!(" · exit {exit_code}");
    if found.is_same() {
        let scenarios = plural(found.scenarios.len() as u64, "scenario");
        let words = format!(" · {scenarios}{end}");
        return Line::styled(Style::Good, "same").text(&words);
    }
    let [worse, better, neither] =
        [Change::Worse, Change::Better, Change::Different].map(|change| found.count(change));
    let style = if worse > 0 { Style::Bad } else { Style::Good };
    let lacking = (found.only_before.len() + found.only_after.len()) as u64;
    let lacking = (lacking > 0).then(|| plural(lacking, "scenario"));
    let lacking = told(" · ", lacking, " in one only");
    let (better, neither) = (count(better), count(neither));
    Line::styled(style, &format!("{} worse", count(worse))).text(&format!(
        " · {better} better · {neither} neither{lacking}{end}"
    ))
}
