//! The excerpt on the terminal: the clients' view of a violation, as columns of text. `diagram.rs` makes the
//! diagram of the report.

use chat_types::Span;
use unicode_width::UnicodeWidthStr as _;

use super::FinishedRun;
use super::line::{Line, PAGE, Style, fit};
use super::numbers::told;
use crate::trace::ObservedLine;

/// The most clients with a lane; a page has no space for more.
pub const LANES: usize = 3;
/// The column of the first lane.
const FIRST: usize = 13;

/// The excerpt; empty if there is none.
pub(super) fn lanes(run: &FinishedRun) -> Vec<Line> {
    let excerpt = run.excerpt.as_ref();
    let Some(excerpt) = excerpt.filter(|excerpt| !excerpt.lines.is_empty()) else {
        return Vec::new();
    };
    let users = &excerpt.users;
    let times = excerpt.lines.iter();
    let times = times.map(|observed| time(observed.at).width());
    let first = (times.max().unwrap_or(0) + 3).clamp(FIRST, 24);
    let width = (PAGE - first) / users.len().max(1);
    let heading = Line::styled(Style::Strong, "WHAT THE CLIENTS SAW").text(" (virtual time)");
    let mut names = Line::new();
    for (i, user) in users.iter().enumerate() {
        let name = fit(user, width - 1);
        names = names.pad(first + i * width).with(Style::Strong, &name);
    }
    let mut lines = vec![heading, names];
    let mut before = None;
    for observed in &excerpt.lines {
        let is_new = before.replace(observed.at) != Some(observed.at);
        let shown = told("", is_new.then(|| time(observed.at)), "");
        lines.push(row(observed, &shown, first, width));
    }
    lines
}

fn row(observed: &ObservedLine, time: &str, first: usize, width: usize) -> Line {
    let line = Line::new().text(" ").with(Style::Faint, time);
    let Some(lane) = observed.lane else {
        let text = format!("── {} ──", observed.text);
        return line.pad(first).with(Style::Warn, &text);
    };
    let line = line.pad(first + lane * width);
    if observed.blamed {
        let text = fit(&observed.text, width - 3);
        return line.with(Style::Bad, &text).with(Style::Bad, " ◀");
    }
    line.text(&fit(&observed.text, width - 1))
}

/// Seconds to the millisecond: `12.001s`.
fn time(at: Span) -> String {
    let ms = at.as_millis();
    format!("{}.{:03}s", ms / 1_000, ms % 1_000)
}
