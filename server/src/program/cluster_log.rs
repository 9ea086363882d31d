//! The commands on the log of a cluster.

#[cfg(feature = "cluster")]
use std::io::Write as _;
use std::process::ExitCode;

#[cfg(feature = "cluster")]
use crate::cli::{ClusterArgs, ServeArgs};
use crate::cli::{ClusterRepairArgs, ClusterVerifyArgs};
#[cfg(feature = "cluster")]
use crate::cluster::{Repair, repair as repair_log, verify as verify_log};
#[cfg(feature = "cluster")]
use crate::settings::{ClusterSettings, Unnamed};

/// Reads the whole log, and prints what differs.
#[cfg(feature = "cluster")]
pub(super) fn verify(args: ClusterVerifyArgs) -> ExitCode {
    with_cluster(args.cluster, |runtime, cluster| {
        let report = runtime.block_on(verify_log(cluster, args.data.as_deref()))?;
        std::io::stdout().write_all(report.text.as_bytes())?;
        Ok(match report.is_sound {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        })
    })
}

/// Makes a log from a journal.
#[cfg(feature = "cluster")]
pub(super) fn repair(args: ClusterRepairArgs) -> ExitCode {
    use chat_journal::Loss;
    let loss = match args.accept_loss {
        true => Loss::Accepted,
        false => Loss::Refused,
    };
    let kind = match args.dry_run {
        true => Repair::DryRun,
        false => Repair::Made,
    };
    with_cluster(args.cluster, |runtime, cluster| {
        let text = runtime.block_on(repair_log(cluster, (&args.from, loss), kind))?;
        std::io::stdout().write_all(text.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Gathers the settings about the cluster, which must be there.
#[cfg(feature = "cluster")]
fn with_cluster(
    cluster: ClusterArgs,
    work: impl FnOnce(
        &tokio::runtime::Runtime,
        &ClusterSettings,
    ) -> Result<ExitCode, Box<dyn std::error::Error>>,
) -> ExitCode {
    if cluster.cluster.is_empty() {
        super::complain(&"name the servers of the cluster with --cluster");
        return ExitCode::from(super::USAGE);
    }
    let args = ServeArgs {
        cluster,
        log_level: Some(tracing::Level::WARN),
        ..ServeArgs::default()
    };
    super::with_settings(
        &args,
        Unnamed::InUsualFolder,
        |runtime, settings| match &settings.cluster {
            Some(cluster) => work(runtime, cluster),
            None => Ok(ExitCode::from(super::USAGE)),
        },
    )
}

#[cfg(not(feature = "cluster"))]
pub(super) fn verify(_: ClusterVerifyArgs) -> ExitCode {
    refuse()
}

#[cfg(not(feature = "cluster"))]
pub(super) fn repair(_: ClusterRepairArgs) -> ExitCode {
    refuse()
}

#[cfg(not(feature = "cluster"))]
fn refuse() -> ExitCode {
    super::complain(&crate::settings::SettingsError::NoCluster);
    ExitCode::from(super::USAGE)
}
