//! A server as a member of a cluster. The cluster has one node, which its owner runs.
//!
//! ```text
//!  doors ──► NodeClient ──► driver ──► MemberEngine ──► Member ◄──► log (server-nats)
//!                │                                         │
//!                └──── not the owner ──► Door ── call ──► the owner's `serve` ──► its NodeClient
//! ```
//!
//! Every member has the same secrets, so that handles and reader ids are valid at each.

mod door;
mod engine;
mod lateness;
mod owner;
mod pause;
mod remote_stream;
mod standing;
mod status;
mod wire;

use std::sync::Arc;

use chat_cluster::{LogSnapshot, LogSnapshotError, Member, MemberError, MemberId, Now, Settings};
use chat_core::Time;
use chat_journal::Identity;
use server_nats::{Log, LogOptions, OpenError, RealmNameError, Vouching};
use sha2::{Digest as _, Sha256};

use crate::clock::{self, Clock};
use crate::driver::{self, NodeClient, Running};
use crate::identity::Secrets;
use crate::journal::new_identity;
use crate::settings::{ClusterSettings, SyncProof};

pub(crate) use status::status;

use door::Door;
use engine::MemberEngine;

/// The records of the log between two snapshots.
const SNAPSHOT_EVERY: u64 = 20_000;

/// Why a member cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The log cannot be used.
    #[error(transparent)]
    Log(#[from] OpenError),
    /// The name of the realm is none.
    #[error("--cluster-realm: {0}")]
    Realm(#[from] RealmNameError),
    /// The stored identity is none.
    #[error("--cluster: the realm's identity is damaged, or a newer version wrote it")]
    Identity,
    /// The newest snapshot is not usable.
    #[error("--cluster: the newest snapshot is not usable: {0}")]
    Snapshot(#[from] LogSnapshotError),
    /// The limits do not fit.
    #[error("--cluster: {0}")]
    Limits(#[from] MemberError),
    /// The machine has no randomness.
    #[error("the machine has no randomness to make secrets of: {0}")]
    Randomness(#[from] getrandom::Error),
}

/// A running member.
pub(crate) struct Started {
    /// The client for doors.
    pub(crate) client: NodeClient,
    /// The driver.
    pub(crate) running: Running,
    /// The secrets that all members share.
    pub(crate) secrets: Secrets,
}

/// Connects to the log, and follows it from the newest snapshot on.
///
/// # Errors
/// The log or its contents cannot be used.
pub(crate) async fn start(
    cluster: &ClusterSettings,
    limits: &chat_core::Config,
) -> Result<Started, ClusterError> {
    if let Some(folder) = &cluster.unused_folder {
        let folder = folder.display();
        tracing::warn!(%folder, "--data has no effect: the cluster's log keeps all");
    }
    let log = Log::open(&options(cluster)?).await?;
    let identity = identity(&log).await?;
    let origin = identity.origin();
    let settings = Settings {
        id: member_id(&cluster.member)?,
        address: cluster.member.as_str().into(),
        origin,
        config: limits.clone(),
        snapshot_every: SNAPSHOT_EVERY,
    };
    let snapshot = log.newest_snapshot().await?;
    let snapshot = snapshot.map(|bytes| LogSnapshot::read(&origin, &bytes));
    let snapshot = snapshot.transpose()?;
    let last = snapshot.as_ref().map_or(Time(0), |found| found.hub().now());
    let clock = Clock::start_after(last);
    let now = Now {
        wall: clock.now(),
        boot: clock::since_boot(),
    };
    let member = match snapshot {
        Some(snapshot) => Member::restored(settings, snapshot, now)?,
        None => Member::new(settings, now)?,
    };
    let calls = log.calls();
    let (engine, standing) = MemberEngine::new(member, log, origin);
    let (local, running) = driver::start_engine(Box::new(engine), clock, Arc::default());
    tokio::spawn(owner::serve(calls.clone(), local.clone(), standing.clone()));
    tokio::spawn(status::serve(
        calls.clone(),
        local.clone(),
        (cluster.member.clone(), standing.clone()),
    ));
    let door = Arc::new(Door::new(calls, local.clone(), standing));
    Ok(Started {
        client: local.with_remote(door),
        running,
        secrets: Secrets::new(&identity.secret),
    })
}

fn options(cluster: &ClusterSettings) -> Result<LogOptions, ClusterError> {
    Ok(LogOptions {
        servers: cluster.servers.clone(),
        credentials: cluster.credentials.clone(),
        realm: cluster.realm.parse()?,
        monitors: cluster.monitors.clone(),
        vouching: match cluster.sync_proof {
            SyncProof::Asked => Vouching::Servers,
            SyncProof::Vouched => Vouching::Operator,
        },
    })
}

/// The identity of the realm, which the first member draws.
async fn identity(log: &Log) -> Result<Identity, ClusterError> {
    let drawn = postcard::to_stdvec(&new_identity()?).map_err(|_| ClusterError::Identity)?;
    let found = log.identity(&drawn).await?;
    postcard::from_bytes(&found).map_err(|_| ClusterError::Identity)
}

/// This process as a member: another start of it is another member to the log.
fn member_id(name: &str) -> Result<MemberId, ClusterError> {
    let hash = Sha256::digest(name);
    let mut number = [0; 8];
    number.copy_from_slice(&hash[..8]);
    let mut incarnation = [0; 8];
    getrandom::fill(&mut incarnation)?;
    Ok(MemberId {
        number: u64::from_le_bytes(number),
        incarnation: u64::from_le_bytes(incarnation),
    })
}
