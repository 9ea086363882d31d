//! `cargo xtask mutants`: plants bugs in a copy of the core, one at a time, and requires the
//! simulator to catch each.
//!
//! Curated mutants are rows in `core/mutants`, each with the properties that must catch it.
//! Generated mutants come from `cargo mutants`. Those that neither the core's tests nor the
//! simulator catch must be explained in `core/mutants/survivors.txt`.
//!
//! Mutants of a cluster may also name faults of real processes, by which the nemesis must catch them.
//!
//! A race that is planted in a live server must come back from its journal as a scenario.

mod coverage;
mod generated;
mod hunt;
mod live;
mod mutant;
mod processes;
mod race;
mod survivors;
mod table;
mod verdict;

use clap::Args;

pub(crate) use generated::run as run_generated;
pub(crate) use live::run as run_live;
pub(crate) use processes::run as run_processes;
pub(crate) use race::show as show_race;
pub(crate) use table::run as write_table;
pub(crate) use verdict::{canary, list, run};

/// Plant bugs, which the simulator must catch
///
/// The bugs of core/mutants/*.yaml are planted in a copy of the workspace below target/copy, one at a time,
/// and the simulator runs on each. The last line reads `N caught, N missed`. Exit code 1: a bug was missed,
/// or caught only by a property that it does not name. The result of each mutant's last hunt is kept in
/// target/mutants/curated.json.
#[derive(Args, Debug)]
pub(crate) struct MutantsWords {
    #[command(flatten)]
    pub(crate) which: WhichMutants,
    /// The curated mutants to run; all if it is left out
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    #[arg(conflicts_with_all = ["generated", "cluster", "live", "table"])]
    pub(crate) only: Vec<String>,
    /// The largest number of seeds for each mutant, or that of the table
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seeds: u64,
    /// The number of threads of the simulator; as many as there are cores if it is left out
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) jobs: Option<u64>,
}

#[derive(Args, Debug)]
#[group(multiple = false)]
pub(crate) struct WhichMutants {
    /// List the curated mutants
    #[arg(long)]
    pub(crate) list: bool,
    /// Change the core in all ways that `cargo mutants` knows, and run the simulator on the changes that the
    /// core's own tests do not catch
    ///
    /// Those that it does not catch either must be explained in core/mutants/survivors.txt. A run takes
    /// hours; another call continues it.
    #[arg(long)]
    pub(crate) generated: bool,
    /// Plant the bugs with a `nemesis` in the servers of a real cluster, in which it makes these faults
    ///
    /// Its judge must accuse a rule that the mutant names, and nothing without the bugs.
    #[arg(long)]
    pub(crate) cluster: bool,
    /// Follow a race from a server under load to a scenario
    ///
    /// The replay of its journal must accuse it, and the scenario that `sim replay --to-scenario` makes must
    /// fail by the same property, and pass without the race.
    #[arg(long)]
    pub(crate) live: bool,
    /// Explore the core without a bug, and write the table of CONTRIBUTING.md from that and from the last hunts
    ///
    /// Another call continues an exploration that was cut, unless the simulator changed.
    #[arg(long)]
    pub(crate) table: bool,
}
