//! The claim of a run: how much of it was checked.

use super::FinishedRun;
use super::checks::{Standing, of_standing};
use super::numbers::{count, milliseconds, plural, told};
use sim_model::outcome::{DisconnectedHolder, RunResult, Stuck};

/// The claims of a pass, as sentences: only what was checked.
pub(super) fn claims(run: &FinishedRun) -> Vec<String> {
    let result = run.result();
    let held = of_standing(result, Standing::Held);
    let checks = held.iter().map(|(_, property)| property.checks).sum();
    let checks = plural(checks, "check");
    let held = plural(held.len() as u64, "property");
    let mut properties = format!("{held} held in {checks}");
    for standing in [Standing::NotExercised, Standing::Unjudged] {
        let n = of_standing(result, standing).len() as u64;
        if n > 0 {
            properties.push_str(&format!(", {} {}", count(n), standing.words()));
        }
    }
    let mut claims = vec![properties + "."];
    for (number, what, how) in [
        (result.thresholds.len() as u64, "threshold", "met"),
        (
            run.plan.expect_sometimes.len() as u64,
            "expected point",
            "reached",
        ),
    ] {
        if number > 0 {
            let was = if number == 1 { "was" } else { "were" };
            claims.push(format!("{} {was} {how}.", plural(number, what)));
        }
    }
    if result.rest.stuck > 0 {
        claims.push(rest(result));
    }
    claims
}

/// `12 of 267 users were stuck when the run ended, and the scenario allows none.`
pub(super) fn rest(result: &RunResult) -> String {
    let rest = &result.rest;
    let users = plural(result.users, "user");
    let were = if rest.stuck == 1 { "was" } else { "were" };
    if rest.stuck == 0 {
        return format!("None of {users} was stuck when the run ended.");
    }
    let stuck = count(rest.stuck);
    let stuck = format!("{stuck} of {users} {were} stuck when the run ended");
    let which = told(", the most in seed ", rest.seed, "");
    match (&rest.allowed, rest.held) {
        (Some(allowed), true) => format!("{stuck}; the scenario allows {allowed} of them."),
        (Some(allowed), false) => format!("{stuck}{which}; the scenario allows {allowed} of them."),
        (None, _) => format!("{stuck}{which}; the scenario allows none."),
    }
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
