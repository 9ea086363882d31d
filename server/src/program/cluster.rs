//! The commands on a cluster.

use std::io::Write as _;
use std::process::ExitCode;

use server_chat::render_text;
use server_settings::cli::{ClusterArgs, ClusterCommand, ServeArgs};
use server_settings::{ClusterSettings, Unnamed};
use tracing::Level;

use super::Done;
use crate::cluster;

/// Performs a command on a cluster, and prints its result.
pub(super) fn perform(command: ClusterCommand) -> ExitCode {
    match command {
        ClusterCommand::Status { cluster, json } => {
            with_cluster(cluster, Level::ERROR, async |cluster| {
                print(&cluster::status(cluster, json).await?)
            })
        }
        ClusterCommand::Resign(args) => with_cluster(args, Level::ERROR, async |cluster| {
            print(&cluster::resign(cluster).await?)
        }),
        ClusterCommand::Verify { cluster, data } => {
            with_cluster(cluster, Level::WARN, async |cluster| {
                let (report, is_sound) = cluster::verify(cluster, data.as_deref()).await?;
                print(&report)?;
                Ok(match is_sound {
                    true => ExitCode::SUCCESS,
                    false => ExitCode::FAILURE,
                })
            })
        }
        ClusterCommand::Repair {
            cluster,
            from,
            dry_run,
            accept_loss,
        } => with_cluster(cluster, Level::WARN, async |cluster| {
            let journal = (from.as_path(), accept_loss);
            print(&cluster::repair(cluster, journal, dry_run).await?)
        }),
    }
}

/// Prints a text, which may quote other programs.
fn print(text: &str) -> Done {
    let text = render_text::shown(text);
    super::output().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Gathers the settings about the cluster, which must be there.
fn with_cluster(
    cluster: ClusterArgs,
    log_level: Level,
    work: impl AsyncFnOnce(&ClusterSettings) -> Done,
) -> ExitCode {
    let args = ServeArgs {
        cluster,
        log_level: Some(log_level),
        ..ServeArgs::default()
    };
    super::with_settings(&args, Unnamed::InUsualFolder, async |settings| {
        let Some(cluster) = &settings.cluster else {
            return Ok(super::misused(
                &"name the servers of the cluster with --cluster",
            ));
        };
        work(cluster).await
    })
}
