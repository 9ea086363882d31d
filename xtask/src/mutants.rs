//! `cargo xtask mutants`: plants bugs in a copy of the core, one at a time, and demands that the
//! harness see each.
//!
//! The curated ones are small patches under `mutants/`, each with the properties that must catch
//! it. The generated ones are `cargo mutants`'; what neither the core's own tests nor the harness
//! sees must be explained in `mutants/survivors.txt`.

mod coverage;
mod curated;
mod generated;
mod hunt;
mod patch;
mod survivors;
mod tree;
mod verdict;

pub(crate) use curated::{Request, canary, list, run};
pub(crate) use generated::run as run_generated;
