//! The arguments of commands on the log of a cluster.

use std::path::PathBuf;

use clap::Args;

use super::ClusterArgs;

const VERIFY_EXAMPLES: &str = "\
Examples:
  talking-stick cluster verify --cluster nats://10.0.0.1:4222
  talking-stick cluster verify --cluster nats://10.0.0.1:4222 --data /var/lib/talking-stick

Reads only, also while members run. Exit code 0: nothing differs; 1: something
does, or cannot be read; 2: wrong arguments.";

/// The arguments of `cluster verify`.
#[derive(Clone, Debug, Args)]
#[command(after_help = VERIFY_EXAMPLES)]
pub struct ClusterVerifyArgs {
    #[command(flatten)]
    #[expect(missing_docs, reason = "a comment here would be the help's first line")]
    pub cluster: ClusterArgs,
    /// The folder of a member, whose journal is compared with the log
    #[arg(long, value_name = "DIR", env = "TALKING_STICK_DATA")]
    pub data: Option<PathBuf>,
}

const REPAIR_EXAMPLES: &str = "\
Examples:
  talking-stick cluster repair --from /var/lib/talking-stick --dry-run --cluster nats://10.0.0.1:4222
  talking-stick cluster repair --from /var/lib/talking-stick --cluster nats://10.0.0.1:4222 \\
    --cluster-monitor http://10.0.0.1:8222

Stop all members first, and take the folder that ends last. A single server's
folder moves into a new cluster in the same way. A log with records is never
changed.";

/// The arguments of `cluster repair`.
#[derive(Clone, Debug, Args)]
#[command(after_help = REPAIR_EXAMPLES)]
pub struct ClusterRepairArgs {
    #[command(flatten)]
    #[expect(missing_docs, reason = "a comment here would be the help's first line")]
    pub cluster: ClusterArgs,
    /// The folder of a member, or of a single server, whose journal the log continues
    #[arg(long, value_name = "DIR")]
    pub from: PathBuf,
    /// Say what would be done, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Take what is readable of a damaged journal
    #[arg(long)]
    pub accept_loss: bool,
}
