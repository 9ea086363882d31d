//! Every interleaving of a tiny world, to a given depth. Random runs may miss a race; this search
//! cannot.
//!
//! Three users, one line or one room, and the operations that race there. From the first state on,
//! every possible action is tried in every state. Actions are atomic: a call is decided, committed
//! and answered within one step, as the node does it. Lost answers, retries, closing streams,
//! deadlines and crashes are steps of their own. The server's entries and all that crosses its
//! border go to the simulator's auditor, which shares no code with the core. At every state all
//! inboxes are drained in a copy, and the whole history is judged.
//!
//! # States are merged
//!
//! Two paths to one state have the same future, so only one of them is continued. A state is
//! identified by the fingerprint of
//!
//! 1. the server's state, as far as it affects the future (`fingerprint.rs`), and its deadlines: their
//!    kinds, their owners, their order, and the seconds until each;
//! 2. each client's knowledge: its room, its grant, its last partners, its stream, and the call
//!    that it may repeat; whether its inbox has no, one or more unread events, and its knowledge
//!    after reading them;
//! 3. the order in which waiting clients joined the queue or the line of the stick, and the order
//!    of blocks.
//!
//! Growing numbers (of rooms, of places in their order, of grants) are taken relative to their
//! current values: a room with two past messages has the same future as one without.
//!
//! This is sound for the judged properties. A violation appears at the last step of some finite
//! path. Every step from every state is judged *before* states are merged, with all inboxes drained
//! in a copy of the world. The server's next acts follow from (1) and from requests, and requests
//! follow from (2). The auditor's model holds the state that the protocol prescribes. As long as it
//! does not differ from the server's, it follows from (1), too. So operations that commute lead to
//! one state, and so do a claim and its withdrawal. The search can miss only a server that stores
//! something in a part that (1) leaves out, and shows it later.
//!
//! A step that changes none of this leads back to its state, as most refusals do. A state that was
//! reached before with fewer faults is not continued again: its futures include all later ones.
//!
//! # What it does not cover
//!
//! The number of faults on one path is limited (`Options::faults`). There is no reduction by
//! symmetry of users: a server that prefers lower ids is a bug to be found. Nothing happens
//! *within* a step: calls that share a batch, reordered packets, and waiting checks are left to
//! random runs. Operations that are not in these worlds, such as reading history, are not covered.
//! Keys of states have 64 bits: among a million states the probability of a collision is one in
//! thirty million. A violation that needs more steps than the depth is not found.

mod client;
mod cluster;
mod fingerprint;
mod script;
mod search;
mod tiny;
mod worlds;

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

pub use self::cluster::{ClusterSearch, Step, cluster};
pub use self::search::search;

use self::tiny::Tiny;
use sim_model::outcome::{
    Action, Counterexample, Exhausted, Notes, PathStep, Searched, TinyWorld, Verdict,
};
use sim_model::plan::Plan;
use sim_model::protocol::Outcome;
use sim_model::words::response_words;

/// The options of a search.
#[derive(Clone, Debug)]
pub struct Options {
    /// The number of users, from 2 to 8.
    pub users: u8,
    /// The largest number of steps of a path.
    pub depth: u32,
    /// The largest number of faults on one path: lost answers, closed streams, crashes.
    pub faults: u8,
    /// The number of threads.
    pub jobs: NonZeroUsize,
}

/// Combines the results of worlds that were searched within this time.
#[must_use]
pub fn together(options: &Options, worlds: Vec<Searched>, took: Duration) -> Exhausted {
    let broken = worlds.iter().any(|world| world.counterexample.is_some());
    let verdict = match broken {
        true => Verdict::Safety,
        false => Verdict::Pass,
    };
    Exhausted {
        users: options.users,
        depth: options.depth,
        faults: options.faults,
        verdict,
        exit_code: verdict.exit_code(),
        wall_ms: took.as_secs_f64() * 1_000.0,
        worlds,
    }
}

/// A client's answer in words.
fn words(outcome: &Outcome) -> String {
    match outcome {
        Ok(response) => response_words(response),
        Err(refusal) => refusal.code.to_owned(),
    }
}

/// Runs a path again, and records its steps and its violation.
fn look(root: &Tiny, path: &[Action]) -> Counterexample {
    let users = root.clients.iter().map(|client| client.user);
    let names = users.map(|user| user.map(|user| format!("user_{}", user.0)));
    let mut found = Counterexample {
        users: names.collect(),
        ..Counterexample::default()
    };
    let _panicked = catch_unwind(AssertUnwindSafe(|| {
        let mut tiny = root.clone();
        for &action in path {
            found.steps.push(PathStep {
                action,
                answer: None,
            });
            let outcome = tiny.apply(action);
            if let Some(step) = found.steps.last_mut() {
                step.answer = outcome.as_ref().map(words);
            }
        }
        found.shows_at_drain = !tiny.violated();
        found.violations = tiny.finish().judgement.violations;
    }));
    found
}

/// The path as a scenario in the steps form, with the texts of its comments. Whether it fails in
/// that form, only a run can show.
#[must_use]
pub fn to_plan(found: &Counterexample, world: TinyWorld) -> (Plan, Notes) {
    let path: Vec<Action> = found.steps.iter().map(|step| step.action).collect();
    let users = u8::try_from(found.users.len()).unwrap_or(u8::MAX);
    let name = format!("exhaust_{world}_{}", found.property());
    let mut plan = script::script(world, users, &path, &name);
    found.sentence().clone_into(&mut plan.about);
    let notes = Notes {
        head: vec![
            format!("{}: {}", found.property(), found.sentence()),
            "One of the shortest paths of `sim exhaust` that show it.".to_owned(),
        ],
        ..Notes::default()
    };
    (plan, notes)
}

#[cfg(test)]
mod tests;
