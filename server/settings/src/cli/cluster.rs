//! The arguments about a cluster.

use clap::{Args, Subcommand};

use super::{ClusterArgs, ClusterRepairArgs, ClusterVerifyArgs};

/// The commands about a cluster.
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Print each member's role, epoch, sequence, lag and digest.
    Status(ClusterStatusArgs),
    /// Read the whole log, and compare its copies.
    Verify(ClusterVerifyArgs),
    /// Make a log from a journal, because it is lost or new.
    Repair(ClusterRepairArgs),
    /// Ask the owner to hand over, and print which member is the owner then.
    Resign(ClusterArgs),
}

/// The arguments of `cluster status`.
#[derive(Clone, Debug, Args)]
pub struct ClusterStatusArgs {
    #[command(flatten)]
    #[expect(missing_docs, reason = "a comment here would be the help's first line")]
    pub cluster: ClusterArgs,
    /// Print one JSON array
    #[arg(long)]
    pub json: bool,
}
