//! The arguments of `sim replay`.

use std::path::PathBuf;

use clap::Args;

use sim_search::replay::FollowTarget;

use super::{count, whole};

/// The journal to replay.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct ReplayArgs {
    /// A server's folder, or a file that `talking-stick records` wrote
    #[arg(value_name = "JOURNAL")]
    pub journal: PathBuf,
    /// The last position to replay
    #[arg(long, value_name = "POSITION", value_parser = count::<u64>(), allow_negative_numbers = true)]
    pub until: Option<u64>,
    /// Show what one participant did and heard
    #[arg(long, value_name = "USER")]
    pub follow: Option<FollowTarget>,
    /// Write the last calls as a scenario
    #[arg(long, value_name = "FILE")]
    pub to_scenario: Option<PathBuf>,
    /// The number of calls in that scenario
    #[arg(long, value_name = "N", default_value_t = 200, requires = "to_scenario", value_parser = whole::<u32>(1, u32::MAX.into()), allow_negative_numbers = true)]
    pub last: u32,
    /// The server's program, which reads a folder
    #[arg(long, value_name = "PROGRAM")]
    pub server: Option<PathBuf>,
    /// Write the result as JSON (- is the standard output)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Show the verdict only
    #[arg(long, short)]
    pub quiet: bool,
}
