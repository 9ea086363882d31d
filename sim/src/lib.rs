//! The simulator's command line and its commands.

pub mod cli;
pub mod commands;
pub mod output;

/// The program's version and, if it was built in a repository, the commit: `0.1.0 (3f9c1ab)`.
pub const VERSION: &str = env!("SIM_VERSION");

/// The commit that was built; none outside of a repository.
pub const COMMIT: Option<&str> = option_env!("SIM_COMMIT");
