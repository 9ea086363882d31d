//! The arguments of `sim explain`.

use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  sim explain                  all terms by group
  sim explain stick_wait       a metric
  sim explain stick_order      a property
  sim explain partition        a fault
  sim explain exit 3           an exit code
  sim explain grace            terms with this word in their names
  sim explain jain --json

Exit codes: 0 it is explained, 2 there is no such term.";

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
