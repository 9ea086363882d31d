//! The arguments of `sim exhaust`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::whole;
use sim_model::outcome::TinyWorld;

/// The worlds to search.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct ExhaustArgs {
    /// Number of users
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole::<u8>(2, 5), allow_negative_numbers = true)]
    pub users: u8,
    /// Largest number of steps of a path
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = whole::<u32>(1, 64), allow_negative_numbers = true)]
    pub depth: u32,
    /// Largest number of faults on one path
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u8>(0, 255), allow_negative_numbers = true)]
    pub faults: u8,
    /// Which tiny world
    #[arg(long, value_enum, default_value_t = WorldChoice::All)]
    pub world: WorldChoice,
    /// Number of threads (all cores)
    #[arg(long, value_name = "N", env = "SIM_JOBS", hide_env = true, value_parser = super::jobs, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroUsize>,
    /// Write the result as JSON (- is the standard output)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Show how many states are new at each depth
    #[arg(long, short, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Show the verdict only
    #[arg(long, short)]
    pub quiet: bool,
}

/// Which of the tiny worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WorldChoice {
    /// The queue for partners, and pair rooms
    Queue,
    /// A named room with its stick
    Room,
    /// Two members of a cluster and their log
    Cluster,
    /// The queue and the room, one after the other
    All,
}

impl WorldChoice {
    /// The selected worlds with a single server.
    #[must_use]
    pub const fn worlds(self) -> &'static [TinyWorld] {
        match self {
            Self::Queue => &[TinyWorld::Queue],
            Self::Room => &[TinyWorld::Room],
            Self::Cluster => &[],
            Self::All => TinyWorld::ALL,
        }
    }
}
