//! Where the command line meets what it drives: scenarios in, one seed's world run to its end.

use std::path::Path;

use chat_core::Time;

use crate::history::Observer;
use crate::live::RunLive;
use crate::plan::Plan;
use crate::recipe::Recipe;
use crate::runner::{Measured, Progress, SeedOutcome};
use crate::world::abstraction::Facet;

/// What the command line drives.
#[derive(Clone, Copy, Debug)]
pub struct Engine<M: Measured> {
    /// Reads and checks a scenario file.
    pub load: fn(&Path) -> Result<Plan, miette::Report>,
    /// The JSON Schema of scenario files.
    pub schema: fn() -> serde_json::Value,
    /// Runs one seed of a plan to its end, and tells the observer of everything if there is one.
    /// It computes the same with or without one.
    pub run: RunSeed<M>,
    /// Begins the same run, to be taken step by step, and copied.
    pub begin: BeginSeed<M>,
    /// Runs one seed against a live server.
    pub live: RunLive<M>,
    /// The instant at which every virtual world begins: reports count from it.
    pub start: Time,
}

/// A run that can be copied while it goes on.
pub trait Splits<'p, M> {
    /// Takes the next step. Whether there are more.
    fn step(&mut self) -> bool;
    /// How many steps were taken.
    fn steps(&self) -> u64;
    /// Where the run left the history of its seed.
    fn recipe(&self) -> &Recipe;
    /// Adds the facets that the state entered since the last look.
    fn look(&mut self, entered: &mut Vec<Facet>);
    /// A copy of the run in which chance is drawn anew from here; of branch 0, one that goes on
    /// like this one.
    fn branch(&self, branch: u32) -> Box<dyn Splits<'p, M> + 'p>;
    /// What the run came to. It must be over.
    fn finish(self: Box<Self>) -> SeedOutcome<M>;
}

/// Begins a run that can be copied.
pub type BeginSeed<M> = for<'p> fn(&'p Plan, u64) -> Box<dyn Splits<'p, M> + 'p>;

/// Runs one seed of a plan.
pub type RunSeed<M> = fn(&Plan, u64, &Progress, Option<&mut (dyn Observer + '_)>) -> SeedOutcome<M>;
