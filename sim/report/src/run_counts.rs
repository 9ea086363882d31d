//! Sections about reached points, counts of messages, and stuck users.

use std::collections::BTreeMap;

use super::line::{INDENT, Line, fit, flow, listed, paragraph};
use super::numbers::{count, counted, milliseconds, plural, told};
use super::{Detail, FinishedRun};
use sim_model::outcome::{DisconnectedHolder, Point, RunResult, Stuck};

/// The most stuck users that are listed, and the most with `--verbose`.
const STUCK: usize = 5;
const STUCK_VERBOSE: usize = 50;

/// The sections about reached points, messages and stuck users.
pub(super) fn run_counts(run: &FinishedRun, detail: Detail) -> Vec<Line> {
    let mut lines = reached(run, detail);
    if detail == Detail::Verbose {
        lines.extend(covered(run.result()));
    }
    lines.extend(traffic(run.result()));
    lines.extend(stuck(run.result(), detail));
    lines
}

fn reached(run: &FinishedRun, detail: Detail) -> Vec<Line> {
    let tally = &run.result().sometimes;
    let names: Vec<&str> = match detail {
        Detail::Verbose => Point::ALL.iter().map(|point| point.name()).collect(),
        Detail::Quiet | Detail::Normal => run.plan.expect_sometimes.clone(),
    };
    let is_reached = |name: &&str| tally.get(*name).is_some_and(|n| *n > 0);
    let (some, none): (Vec<&str>, Vec<&str>) = names.into_iter().partition(is_reached);
    let some = counted(some.iter().map(|name| (name, &tally[*name])));
    let mut lines = listed("reached", &some);
    lines.extend(listed("never", &none));
    lines
}

/// The reached parts of the core's behaviour, group by group.
fn covered(result: &RunResult) -> Vec<Line> {
    let groups = result.coverage.groups().into_iter();
    let some = |(group, reached): (&str, &BTreeMap<_, u64>)| {
        listed(group, &counted(reached.iter().filter(|(_, n)| **n > 0)))
    };
    groups.flat_map(some).collect()
}

/// Messages, refused calls, and who was left out.
pub(super) fn traffic(result: &RunResult) -> Vec<Line> {
    let mut lines = messages(result);
    let left_out = &result.left_out;
    if left_out.users > 0 {
        let words = left_out_words(result);
        lines.extend(paragraph("left out", &words, INDENT));
    }
    lines.extend(listed("let off", &let_off(result)));
    lines
}

/// `3 users found nobody else in the queue`, `40 users were cut short by the heal`
fn let_off(result: &RunResult) -> Vec<String> {
    let let_off = result.let_off;
    let all = [
        (let_off.alone, "found nobody else in the queue"),
        (let_off.cut_short, "were cut short by the heal"),
    ];
    let some = all.into_iter().filter(|(n, _)| *n > 0);
    some.map(|(n, what)| format!("{} {what}", plural(n, "user")))
        .collect()
}

/// `96 of 100 users never got in (address_full 96)`
pub(super) fn left_out_words(result: &RunResult) -> String {
    let left_out = &result.left_out;
    format!(
        "{} of {} never got in ({})",
        count(left_out.users),
        plural(result.users, "user"),
        counted(&left_out.why).join(", ")
    )
}

/// `1,131 tried = 1,092 accepted + 39 refused (chat_ended) · 0 lost`
fn messages(result: &RunResult) -> Vec<Line> {
    let counts = result.counts;
    let refusals: u64 = result.refusals.values().sum();
    // Refusals count all calls. The codes belong to messages only if no other call was refused.
    let are_of_messages = refusals == counts.refused && refusals > 0;
    let codes: Vec<&str> = result.refusals.keys().map(String::as_str).collect();
    let codes = told(" (", are_of_messages.then(|| codes.join(", ")), ")");
    let mut sum = vec![
        format!("{} tried =", count(counts.attempted)),
        format!("{} accepted", count(counts.accepted)),
        format!("+ {} refused{codes}", count(counts.refused)),
    ];
    if counts.unanswered > 0 {
        sum.push(format!("+ {} unanswered", count(counts.unanswered)));
    }
    sum.push(format!("· {} lost", count(counts.lost)));
    let latency = result.metrics.get("message_latency");
    let seen = latency.map_or(counts.accepted, |metric| metric.count);
    for (n, name) in [
        (counts.accepted.saturating_sub(seen), "seen by nobody"),
        (counts.gapped, "told by a gap"),
        (counts.duplicated, "duplicated"),
        (counts.reordered, "reordered"),
        (counts.phantom, "phantom"),
    ] {
        if n > 0 {
            sum.push(format!("· {} {name}", count(n)));
        }
    }
    let mut lines = flow("messages", &sum, " ", INDENT);
    if refusals > 0 && !are_of_messages {
        lines.extend(listed("refused", &counted(&result.refusals)));
    }
    if result.unanswered > counts.unanswered {
        let (few, all) = (count(result.unanswered), count(result.calls));
        lines.extend(listed("unanswered", &[format!("{few} of {all} calls")]));
    }
    if counts.skipped > 0 {
        let calls = format!("{} calls, of users without a handle", count(counts.skipped));
        lines.extend(listed("skipped", &[calls]));
    }
    lines
}

pub(super) fn stuck(result: &RunResult, detail: Detail) -> Vec<Line> {
    let all = result.stuck.len() as u64 + result.stuck_left_out;
    if all == 0 {
        return Vec::new();
    }
    let shown = match detail {
        Detail::Verbose => STUCK_VERBOSE,
        Detail::Quiet | Detail::Normal => STUCK,
    };
    let mut lines = paragraph("stuck", &plural(all, "user"), INDENT);
    for stuck in result.stuck.iter().take(shown) {
        lines.push(Line::new().pad(INDENT).text(&stuck_words(stuck, result)));
        let holder = held_by(stuck);
        lines.extend(holder.map(|words| Line::new().pad(INDENT + 2).text(&words)));
    }
    let left = all - result.stuck.len().min(shown) as u64;
    if left > 0 {
        let more = format!("… and {} more", count(left));
        lines.push(Line::new().pad(INDENT).text(&more));
    }
    lines
}

/// `user_7 (penpal#12) waits for a partner in the queue since 12.0s (seed 3)`
fn stuck_words(stuck: &Stuck, result: &RunResult) -> String {
    let seed = told(" (seed ", (result.seeds > 1).then_some(stuck.seed), ")");
    let end = format!(" {}{seed}", waits(stuck));
    let room = 70_usize.saturating_sub(end.chars().count()).max(10);
    let whole = stuck.who.to_string();
    let who = match stuck.who.user {
        Some(user) if whole.chars().count() > room => user.to_string(),
        Some(_) | None => whole,
    };
    fit(&format!("{}{end}", fit(&who, room)), 70)
}

/// `held by user_2 (vanisher#0), gone since 880ms: see reconnect_grace`
pub(super) fn held_by(stuck: &Stuck) -> Option<String> {
    let DisconnectedHolder { who, since_ms } = stuck.holder.as_ref()?;
    let since = milliseconds(*since_ms as f64);
    let words = format!("held by {who}, gone since {since}: see reconnect_grace");
    Some(words)
}

/// `waits for a partner in the queue since 12.0s`
pub(super) fn waits(stuck: &Stuck) -> String {
    let since = milliseconds(stuck.since_ms as f64);
    format!("waits for {} since {since}", stuck.waiting_for)
}
