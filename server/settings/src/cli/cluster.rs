//! The arguments about a cluster.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args, Subcommand, ValueEnum};

use super::{ClusterRepairArgs, ClusterVerifyArgs};

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

/// When the owner answers reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ReadsRule {
    /// At once, while its lease lasts by its own clock
    #[default]
    Lease,
    /// After an append to the log, whatever the clocks show
    Strict,
}

/// Where a cluster's log is, each as given.
#[derive(Clone, Debug, Default, Args)]
pub struct ClusterArgs {
    /// Join a cluster, by its NATS servers, as in nats://10.0.0.1:4222
    #[arg(
        long,
        value_name = "URL,…",
        value_delimiter = ',',
        env = "TALKING_STICK_CLUSTER",
        hide_env = true
    )]
    pub cluster: Vec<String>,
    /// A file with user:password, a token, or keys (.creds) for these servers
    #[arg(
        long,
        value_name = "FILE",
        env = "TALKING_STICK_CLUSTER_CREDENTIALS",
        hide_env = true
    )]
    pub cluster_credentials: Option<PathBuf>,
    /// A file with the authority of these servers' certificates, for tls://
    #[arg(
        long,
        value_name = "FILE",
        env = "TALKING_STICK_CLUSTER_CA",
        hide_env = true
    )]
    pub cluster_ca: Option<PathBuf>,
    /// The name of the cluster's log [default: main]
    #[arg(
        long,
        value_name = "NAME",
        env = "TALKING_STICK_CLUSTER_REALM",
        hide_env = true
    )]
    pub cluster_realm: Option<String>,
    /// The name of this member [default: host and port]
    #[arg(
        long,
        value_name = "NAME",
        env = "TALKING_STICK_CLUSTER_MEMBER",
        hide_env = true
    )]
    pub cluster_member: Option<String>,
    /// The monitoring of each NATS server, as in http://10.0.0.1:8222
    #[arg(
        long,
        value_name = "URL,…",
        value_delimiter = ',',
        env = "TALKING_STICK_CLUSTER_MONITOR",
        hide_env = true
    )]
    pub cluster_monitor: Vec<String>,
    /// Vouch that these servers sync before they acknowledge
    #[arg(long, env = "TALKING_STICK_CLUSTER_TRUST_SERVERS", hide_env = true,
        action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub cluster_trust_servers: bool,
    /// When the owner answers reads [default: lease]
    #[arg(
        long,
        value_name = "WHEN",
        env = "TALKING_STICK_READS",
        hide_env = true
    )]
    pub reads: Option<ReadsRule>,
}
