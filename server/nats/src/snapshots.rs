//! Snapshots in the object store, and purges of the log below them.

use async_nats::jetstream::object_store::{ObjectMetadata, ObjectStore};
use futures_util::TryStreamExt as _;
use tokio::io::AsyncReadExt as _;

use crate::connection::LogReader;
use crate::error::OpenError;

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
    /// The snapshot.
    pub bytes: Vec<u8>,
}

impl LogReader {
    /// The stored snapshots with their sequences, in ascending order: their bytes, or why they cannot be
    /// read.
    ///
    /// # Errors
    /// The object store cannot be read.
    pub async fn snapshots(&self) -> Result<Vec<(u64, Result<Vec<u8>, String>)>, OpenError> {
        let (bucket, sequences) = self.stored().await?;
        let mut found = Vec::new();
        for sequence in sequences {
            let bytes = read(&bucket, sequence).await;
            found.push((sequence, bytes.map_err(|error| error.to_string())));
        }
        Ok(found)
    }

    /// The newest snapshot that can be read; none if there is none.
    ///
    /// # Errors
    /// The object store cannot be read.
    pub async fn newest_snapshot(&self) -> Result<Option<Vec<u8>>, OpenError> {
        let (bucket, sequences) = self.stored().await?;
        for sequence in sequences.into_iter().rev() {
            match read(&bucket, sequence).await {
                Ok(bytes) => return Ok(Some(bytes)),
                Err(why) => tracing::error!(sequence, %why, "a snapshot cannot be read"),
            }
        }
        Ok(None)
    }

    /// Stores a snapshot, deletes all but the newest ones, and purges the log below them.
    ///
    /// # Errors
    /// It cannot be stored.
    pub async fn store(&self, snapshot: StoredSnapshot) -> Result<(), OpenError> {
        self.put(snapshot)
            .await
            .map_err(|why| self.no_snapshots(why))
    }

    async fn put(&self, snapshot: StoredSnapshot) -> Result<(), async_nats::Error> {
        let bucket = self.open_bucket().await?;
        let facts = [
            ("position", snapshot.position.to_string()),
            ("digest", format!("{:016x}", snapshot.digest)),
            ("version", env!("CARGO_PKG_VERSION").into()),
        ];
        let facts = facts.map(|(name, fact)| (name.to_owned(), fact));
        let metadata = ObjectMetadata {
            name: name_of(snapshot.sequence),
            metadata: facts.into(),
            ..ObjectMetadata::default()
        };
        bucket.put(metadata, &mut &*snapshot.bytes).await?;
        let mut stored = sequences(&bucket).await?;
        let kept = stored.split_off(stored.len().saturating_sub(KEPT));
        for old in stored {
            bucket.delete(name_of(old)).await?;
        }
        if let [oldest, _] = kept[..] {
            let stream = self.context.get_stream_no_info(self.stream()).await?;
            // A purge removes the messages before this sequence.
            stream.purge().sequence(oldest + 1).await?;
        }
        Ok(())
    }

    /// The bucket, and the sequences of its snapshots.
    async fn stored(&self) -> Result<(ObjectStore, Vec<u64>), OpenError> {
        let read = async {
            let bucket = self.open_bucket().await?;
            let sequences = sequences(&bucket).await?;
            Ok::<_, async_nats::Error>((bucket, sequences))
        };
        read.await.map_err(|why| self.no_snapshots(why))
    }

    async fn open_bucket(&self) -> Result<ObjectStore, async_nats::Error> {
        Ok(self.context.get_object_store(self.bucket()).await?)
    }
}

async fn read(bucket: &ObjectStore, sequence: u64) -> Result<Vec<u8>, async_nats::Error> {
    let mut object = bucket.get(name_of(sequence)).await?;
    let mut bytes = Vec::new();
    object.read_to_end(&mut bytes).await?;
    Ok(bytes)
}

/// The sequences of the stored snapshots, in ascending order.
async fn sequences(bucket: &ObjectStore) -> Result<Vec<u64>, async_nats::Error> {
    let found: Vec<_> = bucket.list().await?.try_collect().await?;
    let sequences = found.iter().filter_map(|info| info.name.parse().ok());
    let mut sequences: Vec<u64> = sequences.collect();
    sequences.sort_unstable();
    Ok(sequences)
}

fn name_of(sequence: u64) -> String {
    format!("{sequence:020}")
}
