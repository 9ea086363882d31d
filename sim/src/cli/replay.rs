//! The arguments of `sim replay`.

use std::path::PathBuf;

use clap::Args;

use sim_search::replay::FollowTarget;

use super::{count, whole};

pub(super) const EXAMPLES: &str = "\
Examples:
  sim replay /var/lib/talking-stick           judge every decision of a server
  talking-stick records > journal.bundle      or take its journal along
  sim replay journal.bundle
  sim replay journal.bundle --follow ann      what one participant did and heard
  sim replay journal.bundle --until 5000      up to a position of a log
  sim replay journal.bundle --to-scenario race.yaml --last 50
                                              its last calls, to run again

Nothing is changed, and the server may run. The core decides each entry again,
and the reference model judges each decision; the invariants of the state are
checked, and its digest is compared with the server's snapshots. What clients
received is not in a journal, and is not judged.

A folder is read by the server's own program: the `talking-stick` beside this
one, the one that is installed, or the one that --server names.

Exit codes: 0 all that was checked held, 1 something did not, 2 the journal is
incomplete, damaged or cannot be read, 4 no decision could be judged.";

/// The journal to replay.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct ReplayArgs {
    /// A server's folder, or a file that `talking-stick records` wrote
    #[arg(id = "bundle", value_name = "JOURNAL")]
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
