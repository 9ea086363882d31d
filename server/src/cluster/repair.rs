//! `talking-stick cluster repair`: a new log, which continues a journal.
//!
//! The log begins with a snapshot of the journal's end, at sequence 0, and with the journal's
//! identity. So handles stay valid, and members whose journals end there continue without a gap. The
//! snapshot is stored first: a member that starts between the two steps draws another identity, and
//! then cannot read it.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use chat_cluster::{LogSnapshot, Place};
use chat_core::{Config, Position};
use chat_journal::Identity;
use server_nats::{Extent, Log, LogReader, OpenError, SettingFault, StoredSnapshot};
use server_settings::{ClusterSettings, Durability, JournalSettings};
use server_storage::journal::{self, FoundJournal};

use super::wire::{STATUS, encode};
use super::{ClusterError, options};

/// How long members have to say that they run.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether to make the log, or to say what it would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repair {
    /// Nothing is changed.
    DryRun,
    /// The log is made.
    Made,
}

/// Makes the log of the realm from the journal in this folder, and returns what was done, or would be.
///
/// # Errors
/// The log has records, or is of another realm, or members run, or the journal is not usable.
pub(crate) async fn repair(
    cluster: &ClusterSettings,
    (from, accept_loss): (&Path, bool),
    repair: Repair,
) -> Result<String, ClusterError> {
    let own = read(from, accept_loss)?;
    let (Some(identity), Some(chain)) = (&own.identity, &own.end) else {
        return Err(ClusterError::NoEntries {
            folder: from.display().to_string(),
        });
    };
    let origin = identity.origin();
    let reader = LogReader::open(&options(cluster)?).await?;
    let running = reader.calls().ask_all(STATUS, encode(&()), PATIENCE).await;
    if !running.is_empty() {
        return Err(ClusterError::Running {
            members: running.len(),
        });
    }
    check_empty(cluster, &reader, identity).await?;
    let hub = own.hub.as_ref().ok_or(ClusterError::Identity)?;
    let place = Place::after_journal(&origin, chain).after(own.continuity);
    let digest = hub.digest();
    let mut text = report(&own, digest);
    if repair == Repair::DryRun {
        text.push_str("nothing    was changed\n");
        return Ok(text);
    }
    let state = own.hub.ok_or(ClusterError::Identity)?;
    let snapshot = LogSnapshot::new(place, state).ok_or(ClusterError::Identity)?;
    let log = Log::open(&options(cluster)?).await?;
    log.found(StoredSnapshot {
        sequence: 0,
        position: chain.last().0,
        digest,
        version: env!("CARGO_PKG_VERSION"),
        bytes: snapshot.to_bytes(&origin),
    })
    .await?;
    let bytes = postcard::to_stdvec(identity).map_err(|_| ClusterError::Identity)?;
    if log.identity(&bytes).await? != bytes {
        return Err(taken(cluster, "another realm's identity"));
    }
    text.push_str("the log    is made: members may start\n");
    Ok(text)
}

/// Locks the folder, and reads its journal.
fn read(from: &Path, accept_loss: bool) -> Result<FoundJournal, ClusterError> {
    if !journal::database_in(from).exists() {
        return Err(ClusterError::NoEntries {
            folder: from.display().to_string(),
        });
    }
    let settings = JournalSettings {
        folder: from.into(),
        durability: Durability::default(),
        accept_loss,
        entries: None,
        bytes: None,
        reserve: None,
    };
    let own = journal::find(&settings, &Config::default())?;
    match own.last() {
        Position(0) => Err(ClusterError::NoEntries {
            folder: from.display().to_string(),
        }),
        _ => Ok(own),
    }
}

/// Checks that the realm has nothing but what an earlier attempt left.
async fn check_empty(
    cluster: &ClusterSettings,
    reader: &LogReader,
    identity: &Identity,
) -> Result<(), ClusterError> {
    let extent = match reader.extent().await {
        Err(OpenError::Stream {
            fault: SettingFault::Absent,
            ..
        }) => return Ok(()),
        extent => extent?,
    };
    if let Extent { last: 1.., .. } = extent {
        return Err(taken(cluster, &format!("records up to {}", extent.last)));
    }
    if let Some((sequence @ 1.., _)) = reader.snapshots().await?.last() {
        return Err(taken(cluster, &format!("a snapshot at {sequence}")));
    }
    let known = reader.identity().await?;
    match known.map(|bytes| postcard::from_bytes::<Identity>(&bytes)) {
        Some(known) if known.as_ref() != Ok(identity) => {
            Err(taken(cluster, "another realm's identity"))
        }
        Some(_) | None => Ok(()),
    }
}

fn taken(cluster: &ClusterSettings, what: &str) -> ClusterError {
    ClusterError::Taken {
        realm: cluster.realm.clone(),
        what: what.into(),
    }
}

/// What the journal has, for an operator who compares the folders of several members.
fn report(own: &FoundJournal, digest: u64) -> String {
    let last = own.last();
    let mut text = format!("journal    {}\n", own.path().display());
    // A text takes everything.
    let _ = writeln!(
        text,
        "ends       at position {}, digest {digest:016x}",
        last.0
    );
    let _ = match own.marked() {
        Some(marked) if marked > last => writeln!(
            text,
            "lost       answers up to position {} have left: {} entries are missing",
            marked.0,
            marked.0 - last.0
        ),
        Some(marked) => writeln!(
            text,
            "answers    up to position {} are known to have left: {} entries are beyond that, and kept",
            marked.0,
            last.0 - marked.0
        ),
        None => writeln!(text, "answers    the file of marks is absent or damaged"),
    };
    text
}
