//! The arguments of `sim explain`.

use clap::Args;

/// The term to explain.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct ExplainArgs {
    /// A property, metric, figure, step, fault, point, key or exit code
    #[arg(value_name = "TERM")]
    pub term: Vec<String>,
    /// Write the terms as JSON
    #[arg(long)]
    pub json: bool,
}
