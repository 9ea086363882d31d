//! `talking-stick cluster repair`: a new log, which continues a journal.
//!
//! The log begins with a snapshot of the journal's end, at sequence 0, and with the journal's
//! identity. So handles stay valid, and members whose journals end there continue without a gap. The
//! snapshot is stored first: a member that starts between the two steps draws another identity, and
//! then cannot read it.

use std::path::Path;
use std::time::Duration;

use chat_cluster::{LogSnapshot, Place};
use chat_core::{Config, Position};
use chat_journal::Identity;
use server_nats::{Log, LogReader, OpenError, StoredSnapshot};
use server_settings::{ClusterSettings, JournalSettings};
use server_storage::journal::{self, FoundJournal};

use super::wire::{STATUS, encode};
use super::{ClusterError, NO_IDENTITY};

/// How long members have to say that they run.
const PATIENCE: Duration = Duration::from_secs(1);

/// Makes the log of the realm from the journal in this folder, and returns what was done; a dry run changes
/// nothing, and returns what would be done.
///
/// # Errors
/// The log has records, or is of another realm, or members run, or the journal is not usable.
pub(crate) async fn repair(
    cluster: &ClusterSettings,
    (from, accept_loss): (&Path, bool),
    is_dry_run: bool,
) -> Result<String, ClusterError> {
    let own = read(from, accept_loss)?;
    let (Some(identity), Some(chain)) = (&own.identity, &own.end) else {
        return Err(no_entries(from));
    };
    let origin = identity.origin();
    let reader = LogReader::open(cluster).await?;
    let running = reader.ask_all(STATUS, encode(&()), PATIENCE).await.len();
    if running > 0 {
        return Err(format!("{running} members of the realm run: stop them first").into());
    }
    check_empty(cluster, &reader, identity).await?;
    let hub = own.hub.as_ref().ok_or(NO_IDENTITY)?;
    let mut place = Place::after_journal(&origin, chain);
    place.continuity = own.continuity;
    let digest = hub.digest();
    let mut text = report(&own, digest);
    if is_dry_run {
        text.push_str("nothing    was changed\n");
        return Ok(text);
    }
    let log = Log::open(cluster).await?;
    let log = log.reader();
    log.store(StoredSnapshot {
        sequence: 0,
        position: chain.last().0,
        digest,
        bytes: LogSnapshot::write(&origin, &place, hub),
    })
    .await?;
    let bytes = postcard::to_stdvec(identity)?;
    if log.identity(Some(&bytes)).await? != Some(bytes) {
        return Err(taken(cluster, "another realm's identity"));
    }
    text.push_str("the log    is made: members may start\n");
    Ok(text)
}

/// Locks the folder, and reads its journal.
fn read(from: &Path, accept_loss: bool) -> Result<FoundJournal, ClusterError> {
    if !journal::database_in(from).exists() {
        return Err(no_entries(from));
    }
    let settings = JournalSettings {
        folder: from.into(),
        accept_loss,
        ..JournalSettings::default()
    };
    let own = journal::find(&settings, &Config::default())?;
    match own.last() {
        Position(0) => Err(no_entries(from)),
        _ => Ok(own),
    }
}

/// The error of a folder without a journal to make a log from.
fn no_entries(folder: &Path) -> ClusterError {
    let folder = folder.display();
    format!("{folder}: there is no journal with entries; --from names the folder of one").into()
}

/// Checks that the realm has nothing but what an earlier attempt left.
async fn check_empty(
    cluster: &ClusterSettings,
    reader: &LogReader,
    identity: &Identity,
) -> Result<(), ClusterError> {
    let last = match reader.extent().await {
        Err(OpenError::Absent(_)) => return Ok(()),
        extent => extent?.last,
    };
    if last > 0 {
        return Err(taken(cluster, &format!("records up to {last}")));
    }
    if let Some((sequence @ 1.., _)) = reader.snapshots().await?.last() {
        return Err(taken(cluster, &format!("a snapshot at {sequence}")));
    }
    let known = reader.identity(None).await?;
    match known.map(|bytes| postcard::from_bytes::<Identity>(&bytes)) {
        Some(known) if known.as_ref() != Ok(identity) => {
            Err(taken(cluster, "another realm's identity"))
        }
        Some(_) | None => Ok(()),
    }
}

/// The error of a realm that is not empty.
fn taken(cluster: &ClusterSettings, what: &str) -> ClusterError {
    let realm = &cluster.realm;
    format!(
        "the realm {realm} has {what}, and nothing was changed: its log is not lost. Delete its streams to \
         make a new log, or name another realm with --cluster-realm"
    )
    .into()
}

/// What the journal has, for an operator who compares the folders of several members.
fn report(own: &FoundJournal, digest: u64) -> String {
    let last = own.last().0;
    let answers = match own.marked().map(|marked| marked.0) {
        Some(marked) if marked > last => format!(
            "lost       answers up to position {marked} have left: {} entries are missing",
            marked - last
        ),
        Some(marked) => format!(
            "answers    up to position {marked} are known to have left: {} entries are beyond that, and kept",
            last - marked
        ),
        None => "answers    the file of marks is absent or damaged".into(),
    };
    format!(
        "journal    {}\nends       at position {last}, digest {digest:016x}\n{answers}\n",
        own.path().display()
    )
}
