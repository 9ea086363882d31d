//! The smallest scenario that still fails, step by step.

use std::time::Duration;

use chat_types::Span;
use unicode_width::UnicodeWidthStr as _;

use super::line::{self, INDENT, Line, PAGE, Style, fit, paragraph};
use super::numbers::{milliseconds, plural};
use super::shell::{command_lines, run_command};
use super::{FinishedRun, View};
use sim_model::outcome::{Shrunk, ShrunkResult, Size};
use sim_model::plan::{
    Delivery, Fault, Grant, Net, Plan, ScriptUser, Step, Text, Verb, Workload, user_name,
};

/// The most steps that are shown; the file has all.
const MOST: usize = 30;

/// A failure that was shrunk.
#[derive(Clone, Debug)]
pub struct ShrunkRun {
    /// The result of shrinking.
    pub shrunk: Shrunk,
    /// The file that it was written to.
    pub file: String,
    /// The elapsed real time.
    pub took: Duration,
    /// Whether the file, read and run again, gave the same violation and hash.
    pub is_same_again: bool,
}

impl ShrunkRun {
    /// The shrunk run as a result for JSON.
    #[must_use]
    pub fn result(&self) -> ShrunkResult {
        let after = self.shrunk.after;
        ShrunkResult {
            users: after.users,
            steps: after.steps,
            faults: after.faults,
            file: self.file.clone(),
            wall_ms: self.took.as_secs_f64() * 1_000.0,
        }
    }
}

/// One row: time, user, action, and a note.
type Row = (Span, String, String, String);

/// The section of a page; empty if nothing was shrunk.
pub(super) fn section(run: &FinishedRun) -> Vec<Line> {
    run.shrunk.as_ref().map_or_else(Vec::new, lines)
}

/// `SHRUNK  40 agents, 58,201 steps, 3 faults → 2 agents, 7 steps, 1 fault (0.8s)`, and the steps.
pub(super) fn lines(run: &ShrunkRun) -> Vec<Line> {
    let shrunk = &run.shrunk;
    let took = milliseconds(run.took.as_secs_f64() * 1_000.0);
    let sizes = format!("{} → {} ({took})", size(shrunk.before), size(shrunk.after));
    let mut lines = vec![Line::styled(Style::Strong, "SHRUNK").pad(8).text(&sizes)];
    let rows = rows(shrunk);
    let width = |of: &dyn Fn(&Row) -> usize| rows.iter().take(MOST).map(of).max().unwrap_or(0);
    let time = width(&|(at, ..)| at.to_string().width());
    let who = width(&|(_, who, ..)| who.width());
    let first = 3 + 2 + time + 2 + who.min(12) + 2;
    // Rows without a note may be as wide as the page.
    let noted = width(&|(_, _, what, note)| if note.is_empty() { 0 } else { what.width() });
    let noted = noted.min(PAGE.saturating_sub(first + 24));
    for (number, (at, who, what, note)) in (1..).zip(rows.iter().take(MOST)) {
        let line = Line::plain(&format!("{number:>3}"))
            .right(Style::Faint, &at.to_string(), 5 + time)
            .text("  ")
            .text(&fit(who, 12))
            .pad(first);
        lines.push(if note.is_empty() {
            line.text(what)
        } else {
            let line = line.text(&fit(what, noted)).pad(first + noted + 2);
            line.with(Style::Faint, &format!("# {note}"))
        });
    }
    if rows.len() > MOST {
        let more = plural((rows.len() - MOST) as u64, "more step");
        lines.push(Line::plain(&format!("     … {more} in the file")));
    }
    let different = "run again: not the same, so the run is not deterministic";
    lines.push(match run.is_same_again {
        true => Line::plain("run again: same violation, same hash"),
        false => Line::styled(Style::Bad, different),
    });
    lines
}

fn size(size: Size) -> String {
    format!(
        "{}, {}, {}",
        plural(size.users, "agent"),
        plural(size.steps, "step"),
        plural(size.faults, "fault")
    )
}

/// Steps and faults ordered by time; at the same time, faults first.
fn rows(shrunk: &Shrunk) -> Vec<Row> {
    let plan = &shrunk.plan;
    let Workload::Steps { users, steps } = &plan.workload else {
        return Vec::new();
    };
    let fault = |fault: &Fault| (fault.at, "-".to_owned(), fault.words(users), String::new());
    let mut rows: Vec<Row> = plan.faults.iter().map(fault).collect();
    for (index, step) in steps.iter().enumerate() {
        let mut what = step_words(&step.what);
        for word in net_words(&step.net, users) {
            what.push_str(&format!(" · {word}"));
        }
        let note = shrunk.notes.steps.get(index).cloned().unwrap_or_default();
        let who = user_name(users, step.user).to_owned();
        rows.push((step.at, who, what, note));
    }
    rows.sort_by_key(|(at, ..)| *at);
    rows
}

fn step_words(step: &Step) -> String {
    match step {
        Step::Call(verb) => verb_words(verb),
        Step::Disconnect(None) => "disconnect".to_owned(),
        Step::Disconnect(Some(length)) => format!("disconnect for {length}"),
        // None of these is part of the steps form.
        Step::Await { .. } | Step::Think(_) | Step::Loop { .. } | Step::Choose(_) => String::new(),
    }
}

fn verb_words(verb: &Verb) -> String {
    let name = verb.kind().verb();
    let with = |words: &str| format!("{name} {words}");
    match verb {
        Verb::EnterQueue { interests, .. } if !interests.is_empty() => with(&interests.join(", ")),
        Verb::Login { room, .. } => with(room),
        Verb::Send(text) | Verb::Speak(text) | Verb::Append(text) => with(&match text {
            Text::Words(words) => format!("{words:?}"),
            Text::Length(length) | Text::Letters(_, length) => plural(length.max(), "character"),
        }),
        Verb::Check { wait, .. } if *wait > Span::ZERO => format!("{name}, waits {wait}"),
        Verb::TalkingStick(grant) | Verb::Undo(grant) | Verb::Reset(grant) => match grant {
            Grant::Latest => with("with the latest epoch"),
            Grant::Unnamed => name.to_owned(),
        },
        Verb::Break {
            kind: Some(kind), ..
        } => format!("{name}: {}", kind.name()),
        Verb::Mood => "look at one's stress".to_owned(),
        Verb::EnterQueue { .. }
        | Verb::Check { .. }
        | Verb::Report { .. }
        | Verb::Break { kind: None, .. }
        | Verb::History { .. }
        | Verb::Plain(_) => name.to_owned(),
    }
}

/// The network's effects that differ from the default.
fn net_words(net: &Net, users: &[ScriptUser]) -> Vec<String> {
    let told = |what: &str, delivery: Option<Delivery>| {
        delivery.map(|delivery| match delivery {
            Delivery::After(latency) => format!("{what} takes {latency}"),
            Delivery::Lost => format!("{what} lost"),
        })
    };
    let mut words = vec![
        told("request", net.request),
        told("copy", net.duplicate),
        told("reply", net.reply),
    ];
    for (to, delivery) in &net.push {
        let what = format!("push to {}", user_name(users, *to));
        words.push(told(&what, Some(*delivery)));
    }
    for retry in &net.retries {
        let again = net_words(retry, users).into_iter();
        words.extend(again.map(|word| Some(format!("again: {word}"))));
    }
    words.into_iter().flatten().collect()
}

/// The page of `sim shrink`: only this section.
#[must_use]
pub fn page(run: &ShrunkRun, plan: &Plan, view: &View<'_>) -> String {
    let shrunk = &run.shrunk;
    let title = Line::styled(Style::Bad, &shrunk.violation.property)
        .text(" · ")
        .with(Style::Strong, &fit(&plan.name, 30))
        .text(&format!(" · seed {}", shrunk.plan.seed));
    let mut first = vec![title];
    first.extend(paragraph("", &shrunk.violation.detail, 0));
    let mut second = lines(run);
    if shrunk.cut_short {
        let words = "the time was up: --for 5m may shrink it further";
        second.push(Line::plain(words));
    }
    second.extend(command_lines("repeat", &run_command(&run.file), INDENT));
    line::page([first, second], view.paint)
}

#[cfg(test)]
mod tests;
