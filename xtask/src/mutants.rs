//! `cargo xtask mutants`: plants bugs in a copy of the core, one at a time, and requires the
//! simulator to catch each.
//!
//! They are rows in `core/mutants`, each with the properties that must catch it.
//!
//! Mutants of a cluster may also name faults of real processes, by which the nemesis must catch them.
//!
//! A race that is planted in a live server must come back from its journal as a scenario.

mod coverage;
mod hunt;
mod live;
mod mutant;
mod processes;
mod race;
mod verdict;

use std::io::Write;

use anyhow::Result;
use clap::Args;
use xshell::Shell;

pub(crate) use race::show as show_race;
pub(crate) use verdict::canary;

/// Plant bugs, which the simulator must catch
///
/// The bugs of core/mutants/*.yaml are planted in a copy of the workspace below target/copy, one at a time,
/// and the simulator runs on each. The last line reads `N caught, N missed`. Exit code 1: a bug was missed,
/// or caught only by a property that it does not name. The result of each mutant's last hunt is kept in
/// target/mutants/curated.json.
#[derive(Args, Debug)]
pub(crate) struct MutantsWords {
    /// List the curated mutants
    #[arg(long, group = "which")]
    list: bool,
    /// Plant the bugs with a `nemesis` in the servers of a real cluster, in which it makes these faults
    ///
    /// Its judge must accuse a rule that the mutant names, and nothing without the bugs.
    #[arg(long, group = "which")]
    cluster: bool,
    /// Follow a race from a server under load to a scenario
    ///
    /// The replay of its journal must accuse it, and the scenario that `sim replay --to-scenario` makes must
    /// fail by the same property, and pass without the race.
    #[arg(long, group = "which")]
    live: bool,
    /// The curated mutants to run; all if it is left out
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    #[arg(conflicts_with_all = ["cluster", "live"])]
    only: Vec<String>,
    /// The largest number of seeds for each mutant
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// The number of threads of the simulator; as many as there are cores if it is left out
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    jobs: Option<u64>,
}

/// Runs or lists mutants. Returns whether all were caught.
///
/// # Errors
/// Why it could not be done.
pub(crate) fn run(sh: &Shell, words: &MutantsWords, out: &mut impl Write) -> Result<bool> {
    if let Some(jobs) = words.jobs {
        sh.set_var("SIM_JOBS", jobs.to_string());
    }
    if words.list {
        verdict::list(sh, out).map(|()| true)
    } else if words.cluster {
        processes::run(sh, out)
    } else if words.live {
        live::run(sh, out)
    } else {
        verdict::run(sh, words, out)
    }
}
