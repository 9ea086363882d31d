//! A violation as a space-time diagram: who sent what to whom, when, what became of it, and what
//! was wrong with the world meanwhile.
//!
//! The seed is run again twice. The first time tells who belongs into the picture (`cast.rs`), so
//! that the second need only keep what those did (`recorder.rs`), of however many there were. What
//! is shown then is a stretch of time before the violation (`window.rs`).

mod asked;
mod cast;
mod recorder;
mod weather;
mod window;

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;

use sim_model::history::Observer;
use sim_model::outcome::{START, Violation};
use sim_model::plan::Plan;

use cast::CastObserver;
use recorder::Recorder;

/// A lane per participant and one for the server, and all that went between. Times are
/// microseconds since the run began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagram {
    /// Which run it shows.
    pub of: Shown,
    /// Its seed.
    pub seed: u64,
    /// The property violated.
    pub property: String,
    /// The sentence that says how.
    pub detail: String,
    /// When it showed.
    pub violation_us: u64,
    /// The stretch of time shown.
    pub from_us: u64,
    /// The end of it.
    pub to_us: u64,
    /// From left to right.
    pub lanes: Vec<Lane>,
    /// What was sent and what happened, ordered by when it began.
    pub events: Vec<Event>,
    /// What was wrong for a while.
    pub bands: Vec<Band>,
    /// Instants that concern all.
    pub rules: Vec<Rule>,
    /// What is not shown, in sentences.
    pub left_out: Vec<String>,
}

/// Which run a diagram shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// The scenario as it stands.
    Whole,
    /// The least that still violates the same property.
    Shrunk,
}

/// Somebody whom a lane belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lane {
    /// As the protocol names them, such as `user_7`; `server` for the server.
    pub name: String,
    /// As the scenario names them, such as `penpal#12`; empty when it is not known.
    pub persona: String,
    /// What they have to do with it.
    pub role: Role,
}

/// What a participant has to do with a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The violation is about them.
    Concerned,
    /// They play a part in it.
    Named,
    /// They were in the same room.
    Roommate,
    /// They only were active then.
    Bystander,
    /// The server.
    Server,
}

/// Something sent, or something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// What kind of thing.
    pub kind: Kind,
    /// The lane: of the client, for what goes between a client and the server.
    pub lane: usize,
    /// When it began.
    pub from_us: u64,
    /// When it arrived; none if it never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_us: Option<u64>,
    /// When the server took a request up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served_us: Option<u64>,
    /// In a few words.
    pub label: String,
    /// How it went.
    pub fate: Fate,
    /// Whether the network made it, as the second of two.
    #[serde(skip_serializing_if = "is_false")]
    pub copy: bool,
    /// Whether it is a poll that brought nothing.
    #[serde(skip_serializing_if = "is_false")]
    pub idle: bool,
    /// Whether the violation showed here.
    #[serde(skip_serializing_if = "is_false")]
    pub blamed: bool,
    /// Whether the sentence speaks of it.
    #[serde(skip_serializing_if = "is_false")]
    pub named: bool,
    /// What else there is to say: a word, and what it is.
    pub facts: Vec<(&'static str, String)>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

/// What kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A call on its way to the server.
    Request,
    /// Its answer.
    Reply,
    /// The opening of a stream.
    Opening,
    /// Events on a stream.
    Push,
    /// Nothing sent: something that the lane's owner did or saw by itself.
    Point,
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// As it should.
    Fine,
    /// The answer is a refusal.
    Refused,
    /// It never arrived.
    Lost,
    /// It arrived where nobody waited for it any more.
    Unheard,
    /// Something broke here.
    Broken,
}

/// Something wrong with one lane for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Band {
    /// Whose.
    pub lane: usize,
    /// Since when.
    pub from_us: u64,
    /// Until when.
    pub to_us: u64,
    /// What, as scenarios write it: `partition`, `crash`.
    pub kind: &'static str,
    /// In a few words.
    pub label: String,
}

/// An instant that concerns all lanes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// When.
    pub at_us: u64,
    /// What.
    pub label: String,
}

/// Runs a plan's seed again, to be observed.
pub type RunAgain<'r> = &'r dyn Fn(&Plan, u64, &mut dyn Observer);

/// Draws the run of one seed of a plan in which this violation showed. `run` runs it again. None
/// when it cannot be found again: the run has nobody who did anything.
#[must_use]
pub fn diagram(
    plan: &Plan,
    seed: u64,
    violation: &Violation,
    of: Shown,
    run: RunAgain<'_>,
) -> Option<Diagram> {
    let mut observer = CastObserver::new(START, violation);
    run_again(plan, seed, run, &mut observer);
    let cast = observer.choose(plan)?;
    let mut recorder = Recorder::new(plan, START, &cast);
    run_again(plan, seed, run, &mut recorder);
    let mut diagram = recorder.into_diagram(&cast);
    diagram.of = of;
    diagram.seed = seed;
    diagram.property.clone_from(&violation.property);
    diagram.detail.clone_from(&violation.detail);
    Some(diagram)
}

/// A run that panics has told what there is to tell until then.
fn run_again(plan: &Plan, seed: u64, run: RunAgain<'_>, observer: &mut dyn Observer) {
    let again = catch_unwind(AssertUnwindSafe(|| run(plan, seed, observer)));
    drop(again);
}
