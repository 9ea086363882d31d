//! The commands on a cluster.

#[cfg(feature = "cluster")]
use std::io::Write as _;
use std::process::ExitCode;

#[cfg(feature = "cluster")]
use chat_journal::Loss;
#[cfg(feature = "cluster")]
use server_chat::render_text;
use server_settings::cli::ClusterCommand;
#[cfg(feature = "cluster")]
use server_settings::cli::{ClusterArgs, ClusterRepairArgs, ServeArgs};
#[cfg(feature = "cluster")]
use server_settings::{ClusterSettings, Unnamed};
#[cfg(feature = "cluster")]
use tokio::runtime::Runtime;
#[cfg(feature = "cluster")]
use tracing::Level;

#[cfg(feature = "cluster")]
use crate::cluster::{self, Repair};

#[cfg(feature = "cluster")]
type Done = Result<ExitCode, Box<dyn std::error::Error>>;

/// Performs a command on a cluster, and prints its result.
#[cfg(feature = "cluster")]
pub(super) fn perform(command: ClusterCommand) -> ExitCode {
    match command {
        ClusterCommand::Status(args) => {
            with_cluster(args.cluster, Level::ERROR, |runtime, cluster| {
                print(&runtime.block_on(cluster::status(cluster, args.json))?)
            })
        }
        ClusterCommand::Resign(args) => with_cluster(args, Level::ERROR, |runtime, cluster| {
            print(&runtime.block_on(cluster::resign(cluster))?)
        }),
        ClusterCommand::Verify(args) => {
            with_cluster(args.cluster, Level::WARN, |runtime, cluster| {
                let report = runtime.block_on(cluster::verify(cluster, args.data.as_deref()))?;
                print(&report.text)?;
                Ok(match report.is_sound {
                    true => ExitCode::SUCCESS,
                    false => ExitCode::FAILURE,
                })
            })
        }
        ClusterCommand::Repair(args) => repair(args),
    }
}

/// Makes a log from a journal.
#[cfg(feature = "cluster")]
fn repair(args: ClusterRepairArgs) -> ExitCode {
    let loss = match args.accept_loss {
        true => Loss::Accepted,
        false => Loss::Refused,
    };
    let kind = match args.dry_run {
        true => Repair::DryRun,
        false => Repair::Made,
    };
    with_cluster(args.cluster, Level::WARN, |runtime, cluster| {
        print(&runtime.block_on(cluster::repair(cluster, (&args.from, loss), kind))?)
    })
}

/// Prints a text, which may quote other programs.
#[cfg(feature = "cluster")]
fn print(text: &str) -> Done {
    let text = render_text::shown(text);
    super::output().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Gathers the settings about the cluster, which must be there.
#[cfg(feature = "cluster")]
fn with_cluster(
    cluster: ClusterArgs,
    log_level: Level,
    work: impl FnOnce(&Runtime, &ClusterSettings) -> Done,
) -> ExitCode {
    let args = ServeArgs {
        cluster,
        log_level: Some(log_level),
        ..ServeArgs::default()
    };
    super::with_settings(&args, Unnamed::InUsualFolder, |runtime, settings| {
        let Some(cluster) = &settings.cluster else {
            super::complain(&"name the servers of the cluster with --cluster");
            return Ok(ExitCode::from(super::USAGE));
        };
        work(runtime, cluster)
    })
}

#[cfg(not(feature = "cluster"))]
pub(super) fn perform(_: ClusterCommand) -> ExitCode {
    super::complain(&server_settings::SettingsError::NoCluster);
    ExitCode::from(super::USAGE)
}
