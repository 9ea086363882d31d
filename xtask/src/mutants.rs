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
mod curated;
mod generated;
mod hunt;
mod live;
mod mutant;
mod processes;
mod survivors;
mod table;
mod verdict;

pub(crate) use curated::{HuntRequest, canary, list, run};
pub(crate) use generated::run as run_generated;
pub(crate) use live::run as run_live;
pub(crate) use processes::run as run_processes;
pub(crate) use table::run as write_table;
