//! Which properties held, and how many checks each had.

use std::collections::BTreeMap;

use unicode_width::UnicodeWidthStr as _;

use super::Detail;
use super::line::{Line, Style};
use super::numbers::count;
use sim_model::names::PROPERTIES;
use sim_model::outcome::{Class, PropertyResult, RunResult};

/// Properties that share one line while they hold, unless all are requested.
const FOLDED: [&str; 4] = ["stick_order", "room_lifecycle", "durability", "bounded"];
/// The width of a cell; it is wider only if its content is.
const CELL: usize = 31;
const GAP: usize = 4;

struct Cell {
    style: Style,
    mark: &'static str,
    name: String,
    value: String,
}

chat_types::listed! {
    /// Whether a property was checked, and held: in a few words, and by a mark.
    Standing {
        /// It was checked, and held.
        Held "held" "✓",
        /// It was violated.
        Broken "violated" "✗",
        /// It could not be judged.
        Unjudged "not judged" "?",
        /// Nothing checked it.
        NotExercised "not exercised" "–",
    }
}

/// A property without checks did not hold, even if the result says so.
pub(super) fn standing(property: PropertyResult) -> Standing {
    match (property.held, property.checks) {
        (Some(false), _) => Standing::Broken,
        (_, 0) if property.unjudged > 0 => Standing::Unjudged,
        (Some(true) | None, 0) => Standing::NotExercised,
        (Some(true), _) => Standing::Held,
        (None, _) => Standing::Unjudged,
    }
}

/// The properties of a result in the order of the table, then the unknown ones.
pub(super) fn in_order(result: &RunResult) -> Vec<(&str, PropertyResult)> {
    let all = result.properties.iter();
    let mut all: Vec<_> = all
        .map(|(name, property)| (name.as_str(), *property))
        .collect();
    let place = |name: &str| PROPERTIES.iter().position(|known| *known == name);
    all.sort_by_key(|(name, _)| place(name).unwrap_or(PROPERTIES.len()));
    all
}

/// The safety and liveness properties of this standing.
pub(super) fn of_standing(result: &RunResult, wanted: Standing) -> Vec<(&str, PropertyResult)> {
    let mut all = in_order(result);
    let is_of = |name: &str| Class::of(name) != Class::Threshold;
    all.retain(|(name, property)| is_of(name) && standing(*property) == wanted);
    all
}

/// A table of these properties, with a line for each.
pub(super) fn property_table(all: &BTreeMap<&'static str, PropertyResult>) -> Vec<Line> {
    let heading = Line::styled(Style::Strong, "PROPERTY");
    let mut lines = vec![heading.right(Style::Faint, "checks", 40)];
    let known = PROPERTIES.iter();
    for (name, result) in known.filter_map(|name| Some((*name, *all.get(name)?))) {
        let (style, mark, value) = match standing(result) {
            Standing::Held => (Style::Good, "✓", count(result.checks)),
            Standing::Broken => (Style::Bad, "✗", Standing::Broken.name().to_owned()),
            idle @ (Standing::Unjudged | Standing::NotExercised) => {
                (Style::Faint, "–", idle.name().to_owned())
            }
        };
        let line = Line::styled(style, mark).text(&format!(" {name}"));
        lines.push(line.right(Style::Plain, &value, 40));
    }
    lines
}

/// The tables of checks, by class.
pub(super) fn checks(result: &RunResult, detail: Detail) -> Vec<Line> {
    let all = in_order(result);
    let mut lines = Vec::new();
    for (class, title) in [
        (Class::Safety, "SAFETY"),
        (Class::Liveness, "LIVENESS"),
        (Class::Threshold, "THRESHOLDS"),
    ] {
        let of_class = all.iter().filter(|(name, _)| Class::of(name) == class);
        let cells = cells(of_class.copied(), detail);
        if cells.is_empty() || class == Class::Threshold && detail != Detail::Verbose {
            continue;
        }
        let widths = cells
            .iter()
            .map(|cell| 2 + cell.name.width() + 1 + cell.value.width());
        let width = widths.max().unwrap_or(0).clamp(CELL, 38);
        let mut heading = Line::styled(Style::Strong, title);
        if class == Class::Safety {
            let heads = ["checks"; 2].into_iter().take(cells.len());
            heading = heading.cells(Style::Faint, heads, [width, width * 2 + GAP]);
        }
        lines.push(heading);
        lines.extend(cells.chunks(2).map(|pair| row(pair, width)));
    }
    lines
}

fn cells<'a>(
    properties: impl Iterator<Item = (&'a str, PropertyResult)>,
    detail: Detail,
) -> Vec<Cell> {
    let (mut cells, mut idle) = (Vec::new(), Vec::new());
    let mut folded: u64 = 0;
    for (name, property) in properties {
        let standing = standing(property);
        if standing == Standing::Held && detail != Detail::Verbose && FOLDED.contains(&name) {
            folded += 1;
            continue;
        }
        let (checks, words) = (count(property.checks), standing.name().to_owned());
        let (those, style, value) = match standing {
            Standing::Held => (&mut cells, Style::Good, checks),
            Standing::Broken => (&mut cells, Style::Bad, checks),
            Standing::Unjudged => (&mut cells, Style::Warn, words),
            Standing::NotExercised => (&mut idle, Style::Faint, words),
        };
        those.push(Cell {
            style,
            mark: standing.word(1),
            name: name.to_owned(),
            value,
        });
    }
    if folded > 0 {
        cells.push(Cell {
            style: Style::Faint,
            mark: " ",
            name: format!("… {folded} more held (--verbose)"),
            value: String::new(),
        });
    }
    cells.extend(idle);
    cells
}

fn row(pair: &[Cell], width: usize) -> Line {
    let mut line = Line::new();
    for (i, cell) in pair.iter().enumerate() {
        let start = i * (width + GAP);
        if i > 0 {
            line = line.pad(start);
        }
        line = line.with(cell.style, cell.mark).text(" ").text(&cell.name);
        if !cell.value.is_empty() {
            line = line.right(Style::Plain, &cell.value, start + width);
        }
    }
    line
}
