//! The streams of a realm: made with the settings that the log needs, or refused with others.

use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::context::CreateStreamErrorKind;
use async_nats::jetstream::stream::{Config, DiscardPolicy, StorageType};
use async_nats::jetstream::{Context, object_store};
use tokio::time::{Instant, sleep};

use crate::monitor::ServerFault;
use crate::options::{LARGEST_MESSAGE, RealmName};

/// The replicas of a stream on several servers.
const REPLICAS: usize = 3;

/// JetStream's error for more than one replica on a server that is alone.
const ALONE: u64 = 10_074;

/// JetStream's error for a stream that exists with other settings.
const DIFFERENT: u64 = 10_058;

/// How long servers that just started have until they make a stream.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The pause between two attempts.
pub(crate) const AGAIN: Duration = Duration::from_millis(500);

/// Why the log cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message says what the fields are")]
pub enum OpenError {
    #[error("--cluster: no server of {servers} can be used: {why}")]
    Unreachable { servers: String, why: String },
    #[error("--cluster-credentials: the key file is not usable: {why}")]
    Credentials { why: String },
    #[error("--cluster: {0}")]
    Server(#[from] ServerFault),
    #[error("--cluster: the stream {stream} {fault}")]
    Stream { stream: String, fault: SettingFault },
    #[error("--cluster: the snapshots in {bucket} cannot be read: {why}")]
    Snapshots { bucket: String, why: String },
}

/// What is wrong with a stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingFault {
    /// It exists with other settings.
    #[error(
        "exists with other settings than this server makes it with; `nats stream edit` changes \
         them, or --cluster-realm names another realm"
    )]
    Different,
    /// It does not exist.
    #[error("does not exist: no member has made it, or the servers have lost it")]
    Absent,
    /// It cannot be made.
    #[error("cannot be made: {0}")]
    Unmade(String),
    /// It holds what no member of this version wrote.
    #[error("holds what is no identity of a realm")]
    Identity,
}

/// Makes the streams of a realm, or finds them, and returns the number of their replicas.
pub(crate) async fn make(
    client: &Client,
    context: &Context,
    realm: &RealmName,
) -> Result<usize, OpenError> {
    let place = (client, context);
    let replicas = match create(place, log_config(realm, REPLICAS)).await {
        Err(Unmade::Alone) => {
            let alone = create(place, log_config(realm, 1)).await;
            alone.map_err(|unmade| unmade.of(realm.stream()))?;
            1
        }
        other => {
            other.map_err(|unmade| unmade.of(realm.stream()))?;
            REPLICAS
        }
    };
    let identity = Config {
        max_messages: 1,
        deny_purge: true,
        ..config(realm.identity_stream(), realm.subject("identity"), replicas)
    };
    let made = create(place, identity).await;
    made.map_err(|unmade| unmade.of(realm.identity_stream()))?;
    let bucket = object_store::Config {
        bucket: realm.bucket(),
        storage: StorageType::File,
        num_replicas: replicas,
        max_bytes: -1,
        ..object_store::Config::default()
    };
    create_bucket(place, bucket).await?;
    Ok(replicas)
}

/// Makes the bucket of the snapshots, or finds it.
async fn create_bucket(
    (client, context): (&Client, &Context),
    config: object_store::Config,
) -> Result<(), OpenError> {
    let until = Instant::now() + PATIENCE;
    loop {
        let Err(error) = context.create_object_store(config.clone()).await else {
            return Ok(());
        };
        if Instant::now() >= until {
            let (bucket, why) = (config.bucket, error.to_string());
            return Err(OpenError::Snapshots { bucket, why });
        }
        try_another(client).await;
    }
}

/// Connects to another server after a while. This one may be cut off from the others.
async fn try_another(client: &Client) {
    // The connection is closed only when the process ends.
    let _ = client.force_reconnect().await;
    sleep(AGAIN).await;
}

fn log_config(realm: &RealmName, replicas: usize) -> Config {
    Config {
        // A read of any replica is a source for records that others have lost.
        allow_direct: true,
        max_message_size: i32::try_from(LARGEST_MESSAGE).unwrap_or(i32::MAX),
        ..config(realm.stream(), realm.subject("log"), replicas)
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

enum Unmade {
    Alone,
    Fault(SettingFault),
}

impl Unmade {
    fn of(self, stream: String) -> OpenError {
        let fault = match self {
            Self::Alone => SettingFault::Unmade("the server is alone".into()),
            Self::Fault(fault) => fault,
        };
        OpenError::Stream { stream, fault }
    }
}

/// Makes a stream. One with the same settings is as good as made.
async fn create((client, context): (&Client, &Context), config: Config) -> Result<(), Unmade> {
    let until = Instant::now() + PATIENCE;
    loop {
        let Err(error) = context.create_stream(config.clone()).await else {
            return Ok(());
        };
        if let CreateStreamErrorKind::JetStream(error) = error.kind() {
            match error.error_code().0 {
                ALONE => return Err(Unmade::Alone),
                DIFFERENT => return Err(Unmade::Fault(SettingFault::Different)),
                _ => {}
            }
        }
        if Instant::now() >= until {
            return Err(Unmade::Fault(SettingFault::Unmade(error.to_string())));
        }
        try_another(client).await;
    }
}
