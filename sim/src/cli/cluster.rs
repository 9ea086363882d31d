//! The arguments of `sim cluster`.

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;

use super::{count, jobs, seed, whole};

pub(super) const EXAMPLES: &str = "\
Examples:
  sim cluster                                 fifty histories
  sim cluster --seed 26 --seeds 1 --trace     one of them, with all its facts
  sim cluster --seeds 10000 --json found.json a night of them
  sim cluster --exhaust 7                     every order of a few steps

Three members share a log with three replicas. Reports get lost or come twice,
appends land late, leaders change, replicas are behind or have lost a record;
members pause, crash, resign, or hear one way only. One seed gives one history.
The seeds after the first one that violates something are not run.

Exit codes: 0 nothing is violated, 1 something is, 2 the command line is wrong.";

/// The histories to run.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct ClusterArgs {
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed(), allow_negative_numbers = true)]
    pub seed: u64,
    /// How many seeds to run, upward from the first (50)
    #[arg(long, value_name = "N", env = "SIM_SEEDS", hide_env = true, value_parser = count::<NonZeroU64>(), allow_negative_numbers = true)]
    pub seeds: Option<NonZeroU64>,
    /// How many seeds to run at a time (one for each core)
    #[arg(long, value_name = "N", env = "SIM_JOBS", hide_env = true, value_parser = jobs, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroUsize>,
    /// Write the result as JSON (- is the standard output)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Try every interleaving of two members, to this depth
    #[arg(long, value_name = "DEPTH", conflicts_with_all = ["seed", "seeds", "trace"], value_parser = whole::<u32>(1, 32), allow_negative_numbers = true)]
    pub exhaust: Option<u32>,
    /// Print every fact of the last history
    #[arg(long)]
    pub trace: bool,
}
