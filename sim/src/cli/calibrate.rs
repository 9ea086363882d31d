//! The arguments of `sim calibrate`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;

use super::live::{AccessArgs, check_authorities, config, limit};
use super::refuse;
use sim_live::{Options, RateScale, Target};

/// The server to measure, and the outputs.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct CalibrateArgs {
    /// A scenario to run in both worlds
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The server to measure
    #[arg(long, value_name = "URL")]
    pub target: Target,
    #[command(flatten)]
    #[expect(missing_docs, reason = "a comment here would be a heading of the help")]
    pub access: AccessArgs,
    /// Write the YAML to this file, too
    #[arg(long, value_name = "FILE.yaml")]
    pub out: Option<PathBuf>,
    /// Write all of it as JSON (- is the standard output)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Multiply arrivals by each
    #[arg(
        long,
        value_name = "F,F",
        value_delimiter = ',',
        default_value = "1,2,4,8"
    )]
    pub scales: Vec<RateScale>,
    /// The seed of all runs, in place of the scenario's own
    #[arg(long, value_name = "N", requires = "file", value_parser = super::seed(), allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// A limit the server was started with: turn_limit=none
    #[arg(long = "limit", value_name = "KEY=VALUE", requires = "file", value_parser = limit)]
    pub limits: Vec<String>,
}

impl CalibrateArgs {
    /// The server, with the scenario's own arrivals.
    #[must_use]
    pub fn options(&self) -> Options {
        self.access.options(self.target.clone(), &self.limits)
    }

    /// The loads, from the lowest.
    #[must_use]
    pub fn loads(&self) -> BTreeSet<RateScale> {
        self.scales.iter().copied().collect()
    }
}

/// The largest number of loads.
const MOST_LOADS: usize = 16;

/// Checks rules that clap cannot express.
///
/// # Errors
/// A sentence that describes the violation.
pub(super) fn check(arguments: &CalibrateArgs) -> Result<(), String> {
    config(&arguments.limits)?;
    check_authorities(&arguments.target, arguments.access.authorities.as_deref())?;
    let several = arguments.target.doors().len() > 1;
    refuse(several, "--target: one server is measured at a time")?;
    let loads = format!("--scales takes at most {MOST_LOADS} loads");
    refuse(arguments.scales.len() > MOST_LOADS, &loads)
}
