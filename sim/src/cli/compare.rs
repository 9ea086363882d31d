//! The arguments of `sim compare`.

use std::path::PathBuf;

use clap::Args;

/// The results to compare.
#[derive(Args, Clone, Debug, PartialEq)]
pub struct CompareArgs {
    /// The earlier result, written by --json
    #[arg(value_name = "A.json")]
    pub before: PathBuf,
    /// The later result
    #[arg(value_name = "B.json")]
    pub after: PathBuf,
    /// Exit with a special code if a figure is worse
    #[arg(long)]
    pub fail_on_regression: bool,
    /// Fail on wall-clock speed, too, beyond this part
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub noise: Option<f64>,
    /// Write the comparison as JSON (- is standard output)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

impl CompareArgs {
    /// The tolerance, as a part of the larger speed.
    pub(crate) fn tolerance(&self) -> f64 {
        self.noise.unwrap_or(NOISE) / 100.0
    }
}

/// The usual tolerance, in percent.
const NOISE: f64 = 20.0;

fn percent(text: &str) -> Result<f64, &'static str> {
    let number = text.trim_end_matches('%').parse().ok();
    let percent = number.filter(|percent| (0.0..100.0).contains(percent));
    percent.ok_or("a percentage from 0% to below 100%, such as 20%")
}
