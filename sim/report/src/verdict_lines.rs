//! The last lines of a page: the verdict, the command that repeats the run, and next steps.

use std::collections::BTreeMap;

use unicode_width::UnicodeWidthStr as _;

use super::failure::{early_end, failing_seed, sentences, what_failed};
use super::failure_details::{also, held, rerun, to_try};
use super::header::{name, seeds};
use super::line::{INDENT, Line, Style, fit, page, paragraph};
use super::numbers::{count, milliseconds, plural, short, times, told};
use super::run_counts::stuck;
use super::shell::{command_lines, further_command};
use super::{Detail, FinishedRun, View};
use sim_model::outcome::{INTERRUPTED, RunResult, Verdict};

/// The verdict of a pass, next steps, and the hash.
pub(super) fn passed(run: &FinishedRun) -> Vec<Line> {
    let result = run.result();
    let mut lines = paragraph("checked", &sentences(run).join(" "), INDENT);
    lines.push(verdict(result.exit_code, &speed(result)));
    let next = match (&result.live, &result.repro) {
        (Some(live), Some(repro)) if live.stages.is_empty() && live.nemesis.is_none() => {
            format!("{} --stages", repro.command)
        }
        (Some(_), _) => return lines,
        (None, _) => further_command(&run.file, result),
    };
    lines.extend(command_lines("next:", &next, 6));
    lines.extend(hash_of(result));
    lines
}

/// `33.4s in 50ms (668×) · 61,204 steps, 1.2M/s`
pub(super) fn speed(result: &RunResult) -> String {
    if let Some(live) = &result.live {
        let requests = plural(live.requests.answered, "answer");
        return format!("{} · {requests}", pace(result));
    }
    let steps = plural(result.steps, "step");
    let each_second = || short(result.steps as f64 * 1_000.0 / result.wall_ms);
    let rate = told(", ", (result.wall_ms > 0.0).then(each_second), "/s");
    format!("{} · {steps}{rate}", pace(result))
}

/// `33.4s in 50ms (668×)`
fn pace(result: &RunResult) -> String {
    let took = milliseconds(result.virtual_ms);
    if result.wall_ms <= 0.0 || result.live.is_some() {
        return took;
    }
    let ratio = times(result.virtual_ms / result.wall_ms);
    format!("{took} in {} ({ratio})", milliseconds(result.wall_ms))
}

/// The hash of a run; a live one cannot be repeated, and has none.
fn hash_of(result: &RunResult) -> Option<Line> {
    let is_virtual = result.live.is_none();
    is_virtual.then(|| hash(&result.trace_hash))
}

/// The hash, which is the same in every run with this seed.
pub(super) fn hash(hash: &str) -> Line {
    Line::plain("trace hash ").with(Style::Faint, hash)
}

/// Further failures, what held, the command that repeats the run, and the verdict.
pub(super) fn failed(run: &FinishedRun, detail: Detail) -> Vec<Line> {
    let result = run.result();
    let mut lines = Vec::new();
    if matches!(result.verdict, Verdict::Safety | Verdict::Liveness) {
        lines.extend(rerun(run));
        lines.extend(also(run));
        if detail != Detail::Verbose {
            lines.extend(stuck(result, detail));
        }
        lines.extend(held(result));
    }
    if result.verdict == Verdict::Unjudged && early_end(result).is_none() {
        lines.extend(to_try(run));
    }
    if let Some(repro) = &result.repro {
        lines.extend(command_lines("repeat", &repro.command, INDENT));
        if let Some(whole) = &repro.whole {
            lines.extend(command_lines("whole", whole, INDENT));
        }
    }
    // The path of the report.
    let look = run.look.iter();
    lines.extend(look.flat_map(|path| command_lines("look", path, INDENT)));
    let end = format!(" {} · exit {}", result.verdict.name(), result.exit_code);
    lines.push(Line::styled(Style::Bad, "FAIL").text(&end));
    lines.extend(hash_of(result));
    lines
}

/// The word of an exit code: an interrupted run neither passed nor failed.
pub(super) const fn badge(exit_code: u8) -> (Style, &'static str) {
    match exit_code {
        0 => (Style::Good, "PASS"),
        INTERRUPTED => (Style::Warn, "INTERRUPTED"),
        _ => (Style::Bad, "FAIL"),
    }
}

/// `PASS · 2 scenarios: 2 passed · exit 0`
pub(super) fn verdict(exit_code: u8, words: &str) -> Line {
    let (style, word) = badge(exit_code);
    let rest = format!(" · {words} · exit {exit_code}");
    Line::styled(style, word).text(&rest)
}

/// The one line of a quiet run, which includes the scenario's name.
pub(super) fn quiet_line(run: &FinishedRun) -> Line {
    let result = run.result();
    let (style, verdict) = badge(result.exit_code);
    let end = format!("exit {}{}", result.exit_code, missing(result));
    let (what, rest) = if matches!(result.verdict, Verdict::Pass | Verdict::Interrupted) {
        let rest = format!(" · {} · {} · {end}", seeds(result), pace(result));
        (String::new(), rest)
    } else {
        let what = format!("{} · ", fit(&what_failed(run), 30));
        (what, format!(" · {} · {end}", failing_seed(run)))
    };
    let taken = verdict.width() + 1 + what.width() + rest.width();
    Line::styled(style, verdict)
        .text(" ")
        .text(&what)
        .text(&name(run, taken))
        .text(&rest)
}

/// Of a hundred calls or users, so many went without.
const NOTABLE: f64 = 0.01;

/// ` · 96/100 left out · 40% refused`: the shares above a hundredth.
pub(super) fn missing(result: &RunResult) -> String {
    let share = |n: u64, of: u64| n as f64 / of.max(1) as f64;
    let mut words = String::new();
    let is_told = result.verdict == Verdict::Liveness;
    let stuck = if is_told { 0 } else { result.rest.stuck };
    for (few, what) in [(result.left_out.users, "left out"), (stuck, "stuck")] {
        if share(few, result.users) > NOTABLE {
            let (few, all) = (count(few), count(result.users));
            words.push_str(&format!(" · {few}/{all} {what}"));
        }
    }
    for (n, what) in [
        (result.refusals.values().sum(), "refused"),
        (result.unanswered, "unanswered"),
    ] {
        if share(n, result.calls) > NOTABLE {
            let percent = (share(n, result.calls) * 100.0).round();
            words.push_str(&format!(" · {percent}% {what}"));
        }
    }
    words
}

/// After several scenarios: a line for each, how many passed, and the exit code.
#[must_use]
pub fn summary(runs: &[FinishedRun], exit_code: u8, view: &View<'_>) -> String {
    let mut counts: BTreeMap<u8, (u64, Verdict)> = BTreeMap::new();
    for result in runs.iter().map(FinishedRun::result) {
        let first = (0, result.verdict);
        counts.entry(result.exit_code).or_insert(first).0 += 1;
    }
    let passes = counts.remove(&0).map_or(0, |(n, _)| n);
    let total = plural(runs.len() as u64, "scenario");
    let mut words = format!("{total}: {} passed", count(passes));
    for (n, verdict) in counts.values() {
        let failed = if *verdict == Verdict::Interrupted {
            "interrupted".to_owned()
        } else {
            format!("failed ({})", verdict.name())
        };
        words.push_str(&format!(", {} {failed}", count(*n)));
    }
    let mut lines: Vec<Line> = runs.iter().map(quiet_line).collect();
    lines.push(verdict(exit_code, &words));
    page([lines], view.paint)
}
