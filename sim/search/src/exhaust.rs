//! Every interleaving of a tiny world, to a stated depth: where chance may pass a race by, this
//! cannot.
//!
//! Three users, one line or one room, and the operations that race there. From the beginning, all
//! that can happen next is tried, and from each state reached all that can happen next there.
//! Actions are whole: a call is decided, committed and told within one step, as the node does it.
//! Answers that are lost, retries, streams that close, deadlines and crashes are steps of their
//! own. What the server writes, and what crosses its border, goes to the simulator's auditor, which
//! shares no code with the core; at every state all inboxes are then drained, in a copy, and all is
//! judged.
//!
//! # States are merged
//!
//! Two paths that lead to the same state have the same future, and only one of them is gone on
//! from. A state is known by the fingerprint of
//!
//! 1. what the server holds, as far as it matters to the future (`print.rs`), and its deadlines: of
//!    which kind, whose, in which order, and in how many seconds;
//! 2. what each client knows: its room, its grant, its last partners, its stream, and the call
//!    that it may repeat; whether nothing, one or more waits in its inbox, and what it will know
//!    when it has read that;
//! 3. the order in which those who still wait, in line or for the stick, came to wait, and of
//!    blocks.
//!
//! Numbers that only grow (of rooms, of places in their order, of grants) are taken relative to
//! where they stand: a room where two spoke goes on as one where nobody spoke.
//!
//! That is sound for what is judged. A violation shows at some finite path, and at some last step
//! of it. Every step of every state is judged *before* it is merged, with all inboxes read to
//! their end in a copy of the world. What the server does next follows from (1) and from requests,
//! and requests follow from (2). The auditor's model holds what the protocol says that the server
//! holds: as long as the two do not differ, it follows from (1), too. So operations that commute
//! lead to one state, and so do a claim and its withdrawal. What can be missed is a server that
//! keeps something in what (1) leaves out, and shows it later.
//!
//! A step after which all of that is as it was leads back to where it came from: most refusals do.
//! And a state that is known with fewer things gone wrong is known: whatever may follow it, may
//! follow that.
//!
//! # What it does not cover
//!
//! At most so many things go wrong on one path (`Options::faults`). Users are not taken for one
//! another: a server that prefers a lower number is a bug to be found, so that there is no
//! reduction by symmetry. Nothing happens *within* a step: calls that share a batch, packets that
//! overtake one another, and checks that wait are the simulator's to try. What nobody asks for
//! here, such as a room's past messages, is left out. Keys of states are 64 bits: among a million
//! states two are taken for one with a chance of one in thirty million. And depth is what it says:
//! a violation that needs one step more is not found.

mod client;
mod print;
mod script;
mod search;
mod tiny;
mod worlds;

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use self::tiny::Tiny;
use sim_model::outcome::{
    Action, Counterexample, Exhausted, Judged, Notes, PathStep, Searched, TinyWorld, Verdict,
    Watched,
};
use sim_model::plan::Plan;
use sim_model::protocol::Outcome;
use sim_model::words::answer_words;

/// What to search.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many users there are, from 2 to 8.
    pub users: u8,
    /// How many steps a path has at most.
    pub depth: u32,
    /// How many things may go wrong on one path: answers lost, streams closed, crashes.
    pub faults: u8,
    /// On how many cores.
    pub jobs: NonZeroUsize,
}

/// Puts worlds together that were searched within this time.
#[must_use]
pub fn together(options: &Options, worlds: Vec<Searched>, took: Duration) -> Exhausted {
    let broken = worlds.iter().any(|world| world.counterexample.is_some());
    let (verdict, exit_code) = if broken {
        (Verdict::Safety, 1)
    } else {
        (Verdict::Pass, 0)
    };
    Exhausted {
        users: options.users,
        depth: options.depth,
        faults: options.faults,
        verdict,
        exit_code,
        wall_ms: took.as_secs_f64() * 1_000.0,
        worlds,
    }
}

/// A search that has only its first state.
fn begun(world: TinyWorld, options: &Options) -> Searched {
    Searched {
        world,
        users: options.users,
        depth: options.depth,
        faults: options.faults,
        states: 1,
        by_depth: Vec::new(),
        transitions: 0,
        merged: 0,
        unchanged: 0,
        tally: Judged::default(),
        counterexample: None,
        wall_ms: 0.0,
    }
}

/// What a client is answered, in words.
fn words(outcome: &Outcome) -> String {
    match outcome {
        Ok(answer) => answer_words(answer),
        Err(refusal) => refusal.code.to_owned(),
    }
}

/// Runs a path again, and looks at what it says.
fn look(root: &Tiny, path: &[Action]) -> Counterexample {
    let mut found = Counterexample {
        steps: Vec::new(),
        violations: Vec::new(),
        users: root
            .users()
            .into_iter()
            .map(|user| user.map(|user| format!("user_{}", user.0)))
            .collect(),
        shows_at_drain: false,
        scenario: None,
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

/// The path as a scenario in the steps form, and what its comments say. What it comes to there
/// is for a run to tell.
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

/// Searches one world, and tells now and then how far it is. The counts are the same with any
/// number of jobs.
#[must_use]
pub fn search(world: TinyWorld, options: &Options, watch: &mut dyn FnMut(Watched)) -> Searched {
    search::search(world, options, watch)
}

#[cfg(test)]
mod tests;
