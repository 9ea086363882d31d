//! The output of a replay: what the journal holds, what was checked, and the verdict.

use chrono::DateTime;
use sim_model::outcome::{JournalRestart, Replayed};

use super::checks::property_table;
use super::line::{Line, Style, flow, page, paragraph, paragraphs};
use super::numbers::{count, counted, milliseconds, plural};
use super::{Detail, View};

/// The largest number of restarts that are listed.
const RESTARTS: usize = 10;

/// The column of texts beside a label.
const BESIDE: usize = 14;

/// The page, or its last line. `file` is what was replayed.
#[must_use]
pub fn replayed(file: &str, found: &Replayed, view: &View<'_>) -> String {
    let mut blocks = Vec::new();
    if view.detail != Detail::Quiet {
        let title = Line::styled(Style::Strong, "replay");
        let mut first = vec![title.text(&format!(" · {file} · sim {}", view.version))];
        let length = (found.ended_unix_us - found.began_unix_us) as f64 / 1_000.0;
        let (began, ended) = (wall(found.began_unix_us), wall(found.ended_unix_us));
        for (label, text) in [
            ("realm", found.realm.clone()),
            (
                "positions",
                format!("{} to {}", count(found.first), count(found.last)),
            ),
            (
                "time",
                format!("{began} to {ended}, {}", milliseconds(length)),
            ),
        ] {
            first.extend(flow(label, &[text], "", BESIDE));
        }
        let mut second = entries(found);
        second.extend(restarts(&found.restarts));
        blocks.extend([first, second, checked(found), failures(found)]);
    }
    blocks.push(vec![verdict(found)]);
    page(blocks, view.paint)
}

/// An instant of the wall clock, in UTC.
fn wall(unix_us: u64) -> String {
    let micros = i64::try_from(unix_us).unwrap_or(i64::MAX);
    match DateTime::from_timestamp_micros(micros) {
        Some(at) => at.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
        None => format!("{unix_us} us after 1970"),
    }
}

fn entries(found: &Replayed) -> Vec<Line> {
    let mut lines = flow("entries", &counted(&found.entries), " · ", BESIDE);
    if !found.refused.is_empty() {
        let refused = counted(&found.refused);
        lines.extend(flow("refused", &refused, " · ", BESIDE));
    }
    let at_end = [
        plural(found.participants, "participant"),
        plural(found.rooms, "room"),
    ];
    lines.extend(flow("at the end", &at_end, " · ", BESIDE));
    lines
}

fn restarts(restarts: &[JournalRestart]) -> Vec<Line> {
    let item = |restart: &JournalRestart| {
        let down = milliseconds(restart.down_us as f64 / 1_000.0);
        let (position, at) = (count(restart.position), wall(restart.unix_us));
        format!("position {position} at {at}, {down} after the entry before")
    };
    let mut items: Vec<String> = restarts.iter().take(RESTARTS).map(item).collect();
    if restarts.len() > RESTARTS {
        items.push(format!("and {} more", restarts.len() - RESTARTS));
    }
    paragraphs("restarts", &items, BESIDE)
}

fn checked(found: &Replayed) -> Vec<Line> {
    let mut lines = match &found.unjudged {
        Some(why) => paragraph("not judged", why, BESIDE),
        None => property_table(&found.properties),
    };
    let positions = plural(found.validated, "position");
    let digests = plural(found.digests, "snapshot");
    let also = [
        format!("the invariants of the state at {positions}"),
        format!("the digests of {digests}"),
    ];
    lines.extend(flow("also checked", &also, " · ", BESIDE));
    for warning in &found.warnings {
        lines.extend(paragraph("note", warning, BESIDE));
    }
    lines
}

fn failures(found: &Replayed) -> Vec<Line> {
    let wrong = |words: &str| Line::styled(Style::Bad, "✗ ").text(words);
    let mut lines = Vec::new();
    if let Some(found) = &found.violation {
        let (position, violation) = (count(found.position), &found.violation);
        let at = milliseconds(violation.at.0 as f64 / 1_000.0);
        let property = &violation.property;
        let words = format!("{property} at position {position}, {at} after the first entry");
        lines.push(wrong(&words));
        lines.extend(paragraph("", &violation.detail, 2));
    }
    if let Some(broken) = &found.broken {
        let position = count(broken.position);
        let words = format!("an invariant of the state is broken at position {position}");
        lines.push(wrong(&words));
        lines.extend(paragraph("", &broken.why, 2));
    }
    for position in &found.other_digests {
        let state = format!("the state at position {}", count(*position));
        lines.push(wrong(&format!(
            "{state} is not the one of the server's snapshot"
        )));
    }
    lines
}

fn verdict(found: &Replayed) -> Line {
    let entries = plural(found.entries.values().sum(), "entry");
    let (style, word, words) = match found.exit_code {
        0 => (Style::Good, "PASS", "every decision is the protocol's"),
        1 => (Style::Bad, "FAIL", "the journal shows a bug of the server"),
        _ => (Style::Bad, "NOT JUDGED", "no decision could be judged"),
    };
    Line::styled(style, word).text(&format!(" · {entries} · {words}"))
}
