//! The streams of a realm: made with the settings that the log needs, or refused with others.

use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::context::{CreateStreamError, CreateStreamErrorKind};
use async_nats::jetstream::object_store;
use async_nats::jetstream::stream::{Config, DiscardPolicy, StorageType};
use chat_cluster::MAX_ENVELOPE_BYTES;
use tokio::time::sleep;

use crate::connection::{LogReader, retried};
use crate::error::OpenError;

/// How long servers that just started have until they make a stream, or answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The pause between two attempts.
pub(crate) const AGAIN: Duration = Duration::from_millis(500);

/// The bytes of a message beside its record: the header with the expected sequence.
const HEADERS: usize = 4_096;

/// The largest message that the servers must accept.
pub(crate) const LARGEST_MESSAGE: usize = MAX_ENVELOPE_BYTES + HEADERS;

/// The replicas of a stream on several servers.
const REPLICAS: usize = 3;

/// JetStream's error for more than one replica on a server that is alone.
const ALONE: u64 = 10_074;

/// JetStream's error for a stream that exists with other settings.
const DIFFERENT: u64 = 10_058;

/// Makes the streams of a realm, or finds them, and returns the number of their replicas.
pub(crate) async fn make(place: &LogReader) -> Result<usize, OpenError> {
    let mut replicas = REPLICAS;
    let mut made = create(place, log_config(place, replicas)).await;
    if made.as_ref().err().and_then(code_of) == Some(ALONE) {
        replicas = 1;
        made = create(place, log_config(place, replicas)).await;
    }
    made.map_err(|error| unmade(&place.stream(), &error))?;
    let identity = Config {
        max_messages: 1,
        deny_purge: true,
        ..config(place.identity_stream(), place.subject("identity"), replicas)
    };
    let made = create(place, identity).await;
    made.map_err(|error| unmade(&place.identity_stream(), &error))?;
    let bucket = object_store::Config {
        bucket: place.bucket(),
        storage: StorageType::File,
        num_replicas: replicas,
        max_bytes: -1,
        ..object_store::Config::default()
    };
    let create = || place.context.create_object_store(bucket.clone());
    let made = retried(PATIENCE, create, |_| false, || try_another(&place.client)).await;
    made.map_err(|error| place.no_snapshots(error))?;
    Ok(replicas)
}

/// Connects to another server after a while. This one may be cut off from the others.
async fn try_another(client: &Client) {
    // The connection is closed only when the process ends.
    let _ = client.force_reconnect().await;
    sleep(AGAIN).await;
}

fn log_config(place: &LogReader, replicas: usize) -> Config {
    Config {
        // A read of any replica is a source for records that others have lost.
        allow_direct: true,
        max_message_size: i32::try_from(LARGEST_MESSAGE).unwrap_or(i32::MAX),
        ..config(place.stream(), place.subject("log"), replicas)
    }
}

/// A stream that loses nothing by itself. Purges are allowed: they follow snapshots.
fn config(name: String, subject: String, replicas: usize) -> Config {
    Config {
        name,
        subjects: vec![subject],
        storage: StorageType::File,
        num_replicas: replicas,
        discard: DiscardPolicy::New,
        deny_delete: true,
        max_messages: -1,
        max_bytes: -1,
        max_messages_per_subject: -1,
        max_message_size: -1,
        max_consumers: -1,
        ..Config::default()
    }
}

/// Makes a stream. One with the same settings is as good as made.
async fn create(place: &LogReader, config: Config) -> Result<(), CreateStreamError> {
    let is_final = |error: &_| matches!(code_of(error), Some(ALONE | DIFFERENT));
    let create = || place.context.create_stream(config.clone());
    let made = retried(PATIENCE, create, is_final, || try_another(&place.client));
    made.await.map(|_| ())
}

/// JetStream's number of this error, if it is one of JetStream.
fn code_of(error: &CreateStreamError) -> Option<u64> {
    if let CreateStreamErrorKind::JetStream(error) = error.kind() {
        return Some(error.error_code().0);
    }
    None
}

fn unmade(stream: &str, error: &CreateStreamError) -> OpenError {
    match code_of(error) {
        Some(DIFFERENT) => OpenError::Unusable(format!(
            "--cluster: the stream {stream} exists with other settings than this server makes it with; \
             `nats stream edit` changes them, or --cluster-realm names another realm"
        )),
        Some(ALONE) => OpenError::unmade(stream, "the server is alone"),
        Some(_) | None => OpenError::unmade(stream, error),
    }
}
