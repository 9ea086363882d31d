//! A server as a member of a cluster. The cluster has one node, which its owner runs.
//!
//! ```text
//!  doors ──► NodeClient ──► driver ──► MemberEngine ──► Member ◄──► log (server-nats)
//!                │                                         │
//!                └──── not the owner ──► Door ── call ──► the owner's `serve` ──► its NodeClient
//! ```
//!
//! A member with a folder keeps a journal of the log there, and a history: see `keeper`.
//!
//! Every member has the same secrets, so that handles and reader ids are valid at each.

mod beginning;
mod door;
mod engine;
mod keeper;
mod lateness;
mod log_pace;
mod measures;
mod owner;
mod pause;
mod remote_stream;
mod repair;
mod resign;
mod standing;
mod status;
mod verify;
mod wire;

use std::sync::Arc;

use chat_cluster::{
    FORMAT, LogSnapshot, LogSnapshotError, Member, MemberError, MemberId, Now, Reads, Settings,
};
use chat_journal::Identity;
use server_chat::driver::{self, NodeClient, Running};
use server_chat::identity::Secrets;
use server_chat::metrics::Metrics;
use server_chat::service::Service;
use server_chat::task;
use server_nats::{Calls, Log, LogOptions, LogReader, OpenError, RealmNameError, Vouching};
use server_settings::ClusterSettings;
use server_settings::cli::ReadsRule;
use server_storage::clock::{self, Clock};
use server_storage::history::{Copiers, History, HistoryOptions};
use server_storage::journal::{self, FoundJournal, KeepError};
use sha2::{Digest as _, Sha256};

pub(crate) use repair::{Repair, repair};
pub(crate) use resign::resign;
pub(crate) use status::status;
pub(crate) use verify::verify;

use door::Door;
use engine::MemberEngine;
use keeper::Keeper;
use resign::Resignation;
use standing::Standings;

/// The records of the log between two snapshots.
const SNAPSHOT_EVERY: u64 = 20_000;

/// How another version goes on with a chat whose log it cannot read.
const NEW_LOG: &str = "stop its members in good order, and make a log of this version from a member's \
                       folder: `talking-stick cluster repair --from DIR --cluster-realm NEW`";

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
    #[error(
        "--cluster: the newest snapshot is not usable: {0}. If another version wrote it, start that \
         version, or {NEW_LOG}"
    )]
    Snapshot(#[from] LogSnapshotError),
    /// Members of another version write records that this one cannot read.
    #[error(
        "--cluster: record {sequence} of the log has format {format}, and this version reads format \
         {FORMAT}. Start the version that wrote it, or {NEW_LOG}"
    )]
    Format {
        /// The sequence of the record.
        sequence: u64,
        /// Its format.
        format: u16,
    },
    /// The limits do not fit.
    #[error("--cluster: {0}")]
    Limits(#[from] MemberError),
    /// The journal of this member cannot be used.
    #[error(transparent)]
    Journal(#[from] server_storage::journal::OpenError),
    /// The journal of this member cannot be written.
    #[error("{folder}: {why}")]
    Unwritten {
        /// The folder.
        folder: String,
        /// The reason.
        why: KeepError,
    },
    /// The journal is of another realm.
    #[error(
        "{folder} has the journal of another realm than the log: name another folder with --data, \
         or another realm with --cluster-realm"
    )]
    Foreign {
        /// The folder.
        folder: String,
    },
    /// The log lacks entries that the journal has.
    #[error(
        "{folder} has a journal up to position {last}, and the log of the cluster lacks entries of \
         it. If the log is lost, or this is the journal of a single server, `talking-stick cluster \
         repair` makes a log from it; if not, start with another folder, or with --accept-loss, \
         which keeps the journal beside a new one"
    )]
    Lost {
        /// The folder.
        folder: String,
        /// The position of its last entry.
        last: u64,
    },
    /// The log ends before the newest snapshot.
    #[error(
        "--cluster: the log ends at record {last}, and a snapshot of it is at {sequence}: the servers \
         have lost records. `talking-stick cluster repair` makes a log from a member's folder"
    )]
    Shorter {
        /// The last record.
        last: u64,
        /// The sequence of the snapshot.
        sequence: u64,
    },
    /// The log cannot be compared with the journal.
    #[error(
        "--cluster: the log does not answer with the record at which this member's journal ends"
    )]
    Unanswered,
    /// There is no journal to make a log from.
    #[error("{folder}: there is no journal with entries; --from names the folder of one")]
    NoEntries {
        /// The folder.
        folder: String,
    },
    /// The realm has no log.
    #[error("the servers have no log of the realm {realm}: no member has made it, or it is lost")]
    NoRealm {
        /// The name of the realm.
        realm: String,
    },
    /// Members of the realm run.
    #[error("{members} members of the realm run: stop them first")]
    Running {
        /// Their number.
        members: usize,
    },
    /// The realm is not empty.
    #[error(
        "the realm {realm} has {what}, and nothing was changed: its log is not lost. Delete its \
         streams to make a log anew, or name another realm with --cluster-realm"
    )]
    Taken {
        /// The name of the realm.
        realm: String,
        /// What it has.
        what: String,
    },
    /// The journal to compare with cannot be read.
    #[error(transparent)]
    Upkeep(#[from] crate::upkeep::UpkeepError),
    /// The system has no thread.
    #[error(
        "the member's journal has no thread: {}",
        server_settings::os_error::reason(_0)
    )]
    Thread(std::io::Error),
    /// There is no member to ask.
    #[error("no member of the realm is the owner now")]
    NoOwner,
    /// The owner may or may not resign.
    #[error("the owner does not answer: `talking-stick cluster status` shows whether it resigned")]
    OwnerSilent,
    /// The log has no owner any more.
    #[error("{member} resigned, and no member took over within 15 seconds")]
    NotTakenOver {
        /// The owner before.
        member: String,
    },
    /// The machine has no randomness.
    #[error("the machine has no randomness to make secrets of: {0}")]
    Randomness(#[from] getrandom::Error),
}

/// Connects to the log, and follows it from the end of the member's own journal on, or from the newest
/// snapshot.
///
/// # Errors
/// The log or its contents cannot be used, or the journal lacks or has what the log has not.
pub(crate) async fn start(
    cluster: &ClusterSettings,
    server: &server_settings::Settings,
) -> Result<(Service, Running), ClusterError> {
    let limits = &server.limits;
    let found = server.journal.as_ref();
    let mut own = found
        .map(|given| journal::find(given, limits))
        .transpose()?;
    let log_options = options(cluster)?;
    let log = Log::open(&log_options).await?;
    let identity = beginning::identity(&log, own.as_ref()).await?;
    let origin = identity.origin();
    let settings = Settings {
        id: member_id(&cluster.member)?,
        address: cluster.member.as_str().into(),
        origin,
        config: limits.clone(),
        snapshot_every: SNAPSHOT_EVERY,
        reads: match cluster.reads {
            ReadsRule::Lease => Reads::Leased,
            ReadsRule::Strict => Reads::Strict,
        },
    };
    let reader = log.reader().clone();
    let start = beginning::choose(&reader, &origin, limits, own.as_mut()).await?;
    let clock = Clock::start_after(start.hub().now());
    let now = Now {
        wall: clock.now(),
        boot: clock::since_boot(),
    };
    let keeper = match own {
        Some(own) => Some(keep(own, (&identity, &start), (server, reader))?),
        None => None,
    };
    let history = keeper.as_ref().map(|keeper| keeper.history().clone());
    let member = Member::restored(settings, start, now)?;
    let calls = log.reader().calls();
    let metrics = Metrics::new(server.realm_label()).with_member(&cluster.realm);
    let metrics = Arc::new(metrics);
    let state = log.reader().clone();
    let (engine, standing) = MemberEngine::new(member, (log, keeper), origin, Arc::clone(&metrics));
    let resignation = engine.resignation();
    let (local, running) = driver::start_engine(Box::new(engine), clock, Arc::clone(&metrics));
    let (known, measured) = (standing.clone(), Arc::clone(&metrics));
    task::keep("measures", move || {
        measures::watch(state.clone(), known.clone(), Arc::clone(&measured))
    });
    let known = standing.clone();
    task::keep("servers", move || {
        measures::watch_servers(log_options.clone(), known.clone(), Arc::clone(&metrics))
    });
    let asked = (calls.clone(), local.clone(), standing.clone());
    serve_members(&cluster.member, asked, resignation);
    let door = Arc::new(Door::new(calls, local.clone(), standing));
    let service = Service::new(local.with_remote(door), Secrets::new(&identity.secret));
    Ok((service.remembering(history), running))
}

/// Answers the calls of other members and of operators.
fn serve_members(
    name: &str,
    (calls, local, standing): (Calls, NodeClient, Standings),
    resignation: Resignation,
) {
    let name = name.to_owned();
    let (asked, node, known) = (calls.clone(), local.clone(), standing.clone());
    task::keep("owner", move || {
        owner::serve(asked.clone(), node.clone(), known.clone())
    });
    let (asked, member, known) = (calls.clone(), name.clone(), standing.clone());
    task::keep("resign", move || {
        let (asked, member) = (asked.clone(), member.clone());
        resign::serve(asked, member, known.clone(), resignation.clone())
    });
    task::keep("status", move || {
        let known = (name.clone(), standing.clone());
        status::serve(calls.clone(), local.clone(), known)
    });
}

/// Starts to keep the member's journal, which continues where the member starts, and its history.
fn keep(
    own: FoundJournal,
    (identity, start): (&Identity, &LogSnapshot),
    (server, reader): (&server_settings::Settings, LogReader),
) -> Result<Keeper, ClusterError> {
    let folder = own.path().to_owned();
    let kept = own.keep(identity, start);
    let kept = kept.map_err(|why| ClusterError::Unwritten {
        folder: folder.display().to_string(),
        why,
    })?;
    let origin = identity.origin();
    let past = HistoryOptions {
        origin,
        end: kept.place().chain().last(),
        retention: server.history,
        copiers: Copiers::Members,
        server: server.history_server.clone(),
    };
    let past = History::start(&folder, &server.limits, &past).map_err(ClusterError::Thread)?;
    Keeper::start(kept, (reader, origin), past).map_err(ClusterError::Thread)
}

fn options(cluster: &ClusterSettings) -> Result<LogOptions, ClusterError> {
    Ok(LogOptions {
        servers: cluster.servers.clone(),
        credentials: cluster.credentials.clone(),
        authority: cluster.authority.clone(),
        realm: cluster.realm.parse()?,
        monitors: cluster.monitors.clone(),
        vouching: match cluster.trust_servers {
            false => Vouching::Servers,
            true => Vouching::Operator,
        },
    })
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
