//! Where the command line meets what it drives: scenarios in, one seed's world run to its end.

use std::path::Path;

use chat_core::Time;

use crate::history::Observer;
use crate::live::RunLive;
use crate::plan::Plan;
use crate::runner::{Measured, Progress, SeedOutcome};

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
    /// Runs one seed against a live server.
    pub live: RunLive<M>,
    /// The instant at which every virtual world begins: reports count from it.
    pub start: Time,
}

/// Runs one seed of a plan.
pub type RunSeed<M> = fn(&Plan, u64, &Progress, Option<&mut (dyn Observer + '_)>) -> SeedOutcome<M>;
