//! Further lines about a run that did not pass.

use std::collections::BTreeMap;

use super::checks::{Standing, of_standing};
use super::failure::{STUCK, crossed, crossing, rest, what_failed};
use super::line::{INDENT, Line, Style, paragraph, paragraphs};
use super::numbers::{count, plural};
use super::shell::{command_lines, more_seeds_command};
use super::{FailureExcerpt, FinishedRun};
use sim_model::outcome::{FailingSeed, Point, RunResult, Violation, is_judged, is_silent};

/// The most failing seeds that are listed.
const SEEDS: usize = 8;

/// Whether the second run of a seed, which records its clients' observations, was identical.
pub(super) fn rerun_words(excerpt: &FailureExcerpt) -> String {
    match excerpt.other_hash {
        None => "run again: same hash".to_owned(),
        Some(hash) => format!("run again: another hash, {hash:016x}: not deterministic"),
    }
}

/// The line about the second run; a shrunk run has its own.
pub(super) fn rerun(run: &FinishedRun) -> Option<Line> {
    let excerpt = run.excerpt.as_ref().filter(|_| run.shrunk.is_none())?;
    let style = excerpt.other_hash.map_or(Style::Plain, |_| Style::Bad);
    Some(Line::styled(style, &rerun_words(excerpt)))
}

/// Failures besides the one that the page is about.
pub(super) fn also(run: &FinishedRun) -> Vec<Line> {
    let result = run.result();
    let mut sentences = Vec::new();
    for (name, n) in violations_by_property(run) {
        let is_headline = run.headline().is_some_and(|first| first.property == name);
        let one = match is_headline {
            true => "more violation",
            false => "violation",
        };
        sentences.push(format!("{} of {name}", plural(n, one)));
    }
    if result.violations_left_out > 0 {
        let others = plural(result.violations_left_out, "violation");
        sentences.push(format!("{others} not listed"));
    }
    if result.seeds > 1 && !run.summary.failing.is_empty() {
        sentences.push(failing_seeds(&run.summary.failing, result));
    }
    sentences.extend(crossed(result).map(crossing));
    if !result.rest.held && what_failed(run) != STUCK {
        sentences.push(rest(result));
    }
    let never = run.unreached();
    if !never.is_empty() {
        sentences.push(format!("never reached: {}", never.join(", ")));
    }
    paragraphs("also", &sentences, INDENT)
}

/// The number of violations of each property, without the one that the page is about.
fn violations_by_property(run: &FinishedRun) -> BTreeMap<&str, u64> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let headline = run.headline();
    let is_other = |one: &&Violation| headline.is_none_or(|first| !std::ptr::eq(first, *one));
    for violation in run.result().violations.iter().filter(is_other) {
        *counts.entry(violation.property.as_str()).or_default() += 1;
    }
    counts
}

fn failing_seeds(failing: &[FailingSeed], result: &RunResult) -> String {
    let named = failing.iter().take(SEEDS);
    let named: Vec<String> = named.map(|failing| failing.seed.to_string()).collect();
    let dots = if failing.len() > SEEDS { ", …" } else { "" };
    let (some, all) = (count(failing.len() as u64), count(result.seeds));
    let named = named.join(", ");
    format!("violations in {some} of {all} seeds: {named}{dots}")
}

/// `held      10 · not exercised 5: durability, breaks_rules, …`
pub(super) fn held(result: &RunResult) -> Vec<Line> {
    let mut words = count(of_standing(result, Standing::Held).len() as u64);
    for standing in [Standing::NotExercised, Standing::Unjudged] {
        let idle = of_standing(result, standing);
        let names: Vec<&str> = idle.iter().map(|(name, _)| *name).collect();
        if !names.is_empty() {
            let (title, names, n) = (standing.name(), names.join(", "), names.len());
            words.push_str(&format!(" · {title} {n}: {names}"));
        }
    }
    paragraph("held", &words, INDENT)
}

/// The limit that refuses calls by this code, or what the scenario lacks; none where a refusal is part
/// of any conversation.
fn refusal_hint(code: &str) -> Option<&'static str> {
    Some(match code {
        "rate_limited" => {
            "rate_limit, address_rate_limit and registration_rate_limit under server: higher, or none"
        }
        "address_full" => "a higher max_per_address under server",
        "server_full" => "a higher max_participants or max_rooms under server",
        "queue_full" => "a higher max_queue under server",
        "room_full" => "a higher max_members or max_rooms_each under server",
        "message_too_long" | "draft_full" => "a higher max_message under server, or shorter texts",
        "overloaded" => "a larger queue or a faster service under capacity, or fewer users",
        "storage_unavailable" => "a shorter fail_disk under faults",
        "stick_required" => {
            "talking_stick and await: stick.granted before a send, or stick: optional under server"
        }
        "not_in_room" | "room_ambiguous" | "room_not_found" => {
            "login, or enter_queue and a match, before the call"
        }
        "handle_required" | "unknown_handle" => "login or enter_queue before the call",
        "name_taken" | "user_id_taken" | "name_not_allowed" => "other names for the users",
        "muted" | "blocked" => "fewer acts of the operator under faults",
        _ => return None,
    })
}

/// The most refusals with advice.
const REFUSALS: usize = 3;

/// If no message was accepted: the most frequent refusals, each with what helps.
fn refusals_to_avoid(run: &FinishedRun) -> Vec<String> {
    let result = run.result();
    if !is_silent(&run.plan, &result.counts) && result.left_out.held {
        return Vec::new();
    }
    let mut refusals: Vec<(&String, &u64)> = result.refusals.iter().collect();
    refusals.sort_by_key(|(_, times)| std::cmp::Reverse(**times));
    let mut words: Vec<String> = refusals
        .into_iter()
        .filter_map(|(code, times)| Some((code, times, refusal_hint(code)?)))
        .take(REFUSALS)
        .map(|(code, times, hint)| format!("{code} ({}): {hint}", count(*times)))
        .collect();
    if !result.left_out.held {
        let purpose = "expect_sometimes: [turned_away], if refusals at the door are the purpose";
        words.push(purpose.to_owned());
    }
    if result.live.is_some() && !words.is_empty() {
        let limit =
            "a limit of a live server is set where it starts: talking-stick --limit KEY=VALUE";
        words.push(limit.to_owned());
    }
    words
}

/// Suggestions for a run that proves nothing: what helps against refusals, what reaches the points that
/// were not reached, and more seeds or users where chance decides.
pub(super) fn to_try(run: &FinishedRun) -> Vec<Line> {
    let result = run.result();
    let mut all = refusals_to_avoid(run);
    if !is_judged(&result.properties) && all.is_empty() {
        let words = "a flow whose users reach a room: by `login`, or by `enter_queue` and a match";
        all.push(words.to_owned());
    }
    let unreached = run.unreached();
    let unreached = unreached.iter().filter_map(|name| Point::named(name));
    let unreached: Vec<Point> = unreached.collect();
    let hint = |point: &Point| format!("{}: {}", point.name(), point.hint());
    all.extend(unreached.iter().map(hint));
    if result.live.is_some() && all.is_empty() {
        all.push("more users: a higher --rate-scale".to_owned());
    }
    // No number of seeds helps against a limit or gives a lone user a partner, and a live run has one
    // seed.
    let is_lone = result.users <= result.seeds;
    if result.live.is_some() || is_lone || (unreached.is_empty() && !all.is_empty()) {
        return paragraphs("try", &all, INDENT);
    }
    let or = if all.is_empty() { "" } else { "or " };
    all.push(format!("{or}more seeds:"));
    let command = more_seeds_command(&run.file, run.result());
    let mut lines = paragraphs("try", &all, INDENT);
    lines.extend(command_lines("", &command, INDENT));
    lines
}
