//! Snapshots in the object store, and purges of the log below them.

use async_nats::jetstream::Context;
use async_nats::jetstream::object_store::{ObjectMetadata, ObjectStore};
use futures_util::TryStreamExt as _;
use tokio::io::AsyncReadExt as _;

use crate::options::RealmName;
use crate::streams::OpenError;

/// The number of snapshots that are kept. The log is purged below the oldest of them, so that a
/// damaged one costs nothing.
const KEPT: usize = 2;

/// A snapshot, and what describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSnapshot {
    /// The sequence of the last record of the log that it contains.
    pub sequence: u64,
    /// The position of the last entry that it contains.
    pub position: u64,
    /// The digest of the state.
    pub digest: u64,
    /// The version of the server that made it.
    pub version: &'static str,
    /// The snapshot.
    pub bytes: Vec<u8>,
}

/// Stores a snapshot, deletes all but the newest ones, and purges the log below them.
pub(crate) async fn store(
    context: &Context,
    realm: &RealmName,
    snapshot: StoredSnapshot,
) -> Result<(), OpenError> {
    let failed = |error: String| OpenError::Snapshots {
        bucket: realm.bucket(),
        why: error,
    };
    let bucket = bucket(context, realm).await?;
    let facts = [
        ("position", snapshot.position.to_string()),
        ("digest", format!("{:016x}", snapshot.digest)),
        ("version", snapshot.version.into()),
    ];
    let facts = facts.map(|(name, fact)| (name.to_owned(), fact));
    let metadata = ObjectMetadata {
        name: name_of(snapshot.sequence),
        metadata: facts.into(),
        ..ObjectMetadata::default()
    };
    let put = bucket.put(metadata, &mut &*snapshot.bytes).await;
    put.map_err(|error| failed(error.to_string()))?;
    let mut stored = sequences(&bucket, realm).await?;
    let kept = stored.split_off(stored.len().saturating_sub(KEPT));
    for old in stored {
        let deleted = bucket.delete(name_of(old)).await;
        deleted.map_err(|error| failed(error.to_string()))?;
    }
    if let [oldest, _] = kept[..] {
        let stream = context.get_stream_no_info(realm.stream()).await;
        let stream = stream.map_err(|error| failed(error.to_string()))?;
        // A purge removes the messages before this sequence.
        let purged = stream.purge().sequence(oldest + 1).await;
        purged.map_err(|error| failed(error.to_string()))?;
    }
    Ok(())
}

/// The bytes of a stored snapshot, or why they cannot be read.
pub type StoredBytes = Result<Vec<u8>, String>;

/// All snapshots with their sequences, in ascending order.
pub(crate) async fn all(
    context: &Context,
    realm: &RealmName,
) -> Result<Vec<(u64, StoredBytes)>, OpenError> {
    let bucket = bucket(context, realm).await?;
    let mut found = Vec::new();
    for sequence in sequences(&bucket, realm).await? {
        found.push((sequence, read(&bucket, sequence).await));
    }
    Ok(found)
}

/// The newest snapshot that can be read; none if there is none.
pub(crate) async fn newest(
    context: &Context,
    realm: &RealmName,
) -> Result<Option<Vec<u8>>, OpenError> {
    let bucket = bucket(context, realm).await?;
    for sequence in sequences(&bucket, realm).await?.into_iter().rev() {
        match read(&bucket, sequence).await {
            Ok(bytes) => return Ok(Some(bytes)),
            Err(why) => tracing::error!(sequence, why, "a snapshot cannot be read"),
        }
    }
    Ok(None)
}

async fn read(bucket: &ObjectStore, sequence: u64) -> Result<Vec<u8>, String> {
    let object = bucket.get(name_of(sequence)).await;
    let mut object = object.map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    let read = object.read_to_end(&mut bytes).await;
    read.map_err(|error| error.to_string())?;
    Ok(bytes)
}

async fn bucket(context: &Context, realm: &RealmName) -> Result<ObjectStore, OpenError> {
    let found = context.get_object_store(realm.bucket()).await;
    found.map_err(|error| OpenError::Snapshots {
        bucket: realm.bucket(),
        why: error.to_string(),
    })
}

/// The sequences of the stored snapshots, in ascending order.
async fn sequences(bucket: &ObjectStore, realm: &RealmName) -> Result<Vec<u64>, OpenError> {
    let failed = |why: String| OpenError::Snapshots {
        bucket: realm.bucket(),
        why,
    };
    let list = bucket
        .list()
        .await
        .map_err(|error| failed(error.to_string()))?;
    let found: Vec<_> = list.try_collect().await.map_err(
        |error: async_nats::jetstream::object_store::ListerError| failed(error.to_string()),
    )?;
    let mut sequences: Vec<u64> = found
        .iter()
        .filter_map(|info| info.name.parse().ok())
        .collect();
    sequences.sort_unstable();
    Ok(sequences)
}

fn name_of(sequence: u64) -> String {
    format!("{sequence:020}")
}
