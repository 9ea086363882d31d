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
//!
//! # On NATS
//!
//! The driver drives an *engine*: a node with its journal, or a member with the log. The doors see
//! neither of them, but a `NodeClient`. Its calls go to the engine of its own server first. A member
//! that is not the owner gives them back as *moved*; then the `Door` asks the owner over the
//! connections of the log. Only the owner subscribes to `ts.<realm>.call`, so that a call without an
//! owner fails at once, and is tried again until its time is up.
//!
//! - **Exactly once.** The client draws a request key for each command that has none. So every
//!   attempt at any member, before and after a change of the owner, is one request.
//! - **Nothing late.** Request keys are remembered in a limited number. So a call must not have its
//!   effect long after its client gave it up: a process that was paused for two seconds refuses what
//!   it takes in the three seconds after, a door without a connection to the log asks nobody, and the owner
//!   refuses a question whose door had not yet applied what the owner applied three seconds ago: the
//!   network held it back.
//! - **Streams.** The door pulls: one request for one delivery, which acknowledges the ones before.
//!   The owner keeps the last delivery until then. Thus a lost answer loses nothing, and one page is
//!   on its way at most. The owner's end ends the stream, and its client opens it anew where it left
//!   off.
//! - **Views.** What doors show without a call (lists, counts) is the state that their own member has
//!   applied. An answer names the owner's sequence, and the door holds it back until its member has
//!   applied that, so that no view is older than an answer before it.
//! - **A journal for each.** A member with `--data` writes every batch that it applies to a journal,
//!   which has the records of a single server's journal and, in the same transaction, the place in
//!   the log behind them. The `keeper`'s thread writes it, behind a queue of 64 MiB. No call waits
//!   for it: what does not fit, or what a failing disk did not take, is read from the log again,
//!   checked by the same chain. Where the log is purged, the old journal is set aside, and a new one
//!   begins at a snapshot, so that none has a gap. The history follows the journal's file as it does
//!   on a single server; reads wait until it has what their member has applied. A start continues
//!   from the journal's own place if the log has the record there; a log that lacks entries of the
//!   journal is refused.
//! - **A new log** (`cluster repair`) begins with a snapshot at sequence 0: the state of a journal's
//!   end, whose place continues the journal's link, epoch and positions. So no record of the lost log
//!   continues it, and members whose journals end there go on without a gap.
//! - **One identity.** The first member draws the seed and the secret, and appends them to a stream
//!   that takes one message. The servers keep the secret: who can read their disks can forge handles.
//!
//! An append is a request with `Nats-Expected-Last-Sequence` and a time limit of its own; the
//! library's own publishing, which repeats, is not used. Of JetStream's errors only those count as a
//! refusal that the server checks before it proposes the record. The servers must sync each record
//! before they acknowledge it: a start asks their monitoring, and is refused otherwise.
//!
//! Limits, on purpose: one realm is one log and one owner, and is not split. The owner's end takes 3
//! to 4 seconds to heal, a resignation a round trip. A time without entries counts as downtime when
//! another owner resumes, as at a restart: deadlines move by it.

mod beginning;
mod door;
mod engine;
mod keeper;
mod measures;
mod owner;
mod repair;
mod standing;
mod status;
mod verify;
mod wire;

use std::error::Error;
use std::io;
use std::sync::Arc;

use chat_cluster::{LogSnapshot, Member, MemberId, Now, Settings};
use chat_core::OwnerReads;
use chat_journal::Identity;
use server_chat::driver::{self, Running};
use server_chat::identity::Secrets;
use server_chat::metrics::Metrics;
use server_chat::service::Service;
use server_nats::{Log, LogReader};
use server_settings::ClusterSettings;
use server_settings::cli::ReadsRule;
use server_settings::os_error::reason;
use server_storage::clock::{self, Clock};
use server_storage::history::{History, HistoryOptions};
use server_storage::journal::{self, DatabaseError, FoundJournal};
use server_storage::random;
use sha2::{Digest as _, Sha256};

pub(crate) use repair::repair;
pub(crate) use status::{resign, status};
pub(crate) use verify::verify;

use door::Door;
use engine::MemberEngine;
use keeper::Keeper;
use standing::Membership;

/// The records of the log between two snapshots.
const SNAPSHOT_EVERY: u64 = 20_000;

/// Why a member cannot start, or a command on the cluster fails: a sentence for operators.
pub type ClusterError = Box<dyn Error + Send + Sync>;

/// The stored identity is none, or what goes with it is missing.
const NO_IDENTITY: &str = "--cluster: the realm's identity is damaged, or a newer version wrote it";

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
    let log = Log::open(cluster).await?;
    let identity = beginning::identity(log.reader(), own.as_ref()).await?;
    let origin = identity.origin();
    let settings = Settings {
        id: member_id(&cluster.member)?,
        address: cluster.member.as_str().into(),
        origin,
        config: limits.clone(),
        snapshot_every: SNAPSHOT_EVERY,
        reads: match cluster.reads {
            ReadsRule::Lease => OwnerReads::Lease,
            ReadsRule::Strict => OwnerReads::Strict,
        },
    };
    let reader = log.reader().clone();
    let start = beginning::choose(&reader, &origin, limits, own.as_mut()).await?;
    let clock = Clock::start_after(start.hub.now());
    let now = Now {
        wall: clock.now(),
        boot: clock::since_boot(),
    };
    let keeper = match own {
        Some(own) => Some(keep(own, (&identity, &start), (server, reader.clone()))?),
        None => None,
    };
    let history = keeper.as_ref().map(|keeper| keeper.history.clone());
    let member = Member::restored(settings, start, now);
    let member = member.map_err(|why| format!("--cluster: {why}"))?;
    let metrics = Metrics::new(server.realm_label()).with_member(&cluster.realm);
    let metrics = Arc::new(metrics);
    let (engine, standing) = MemberEngine::new(member, (log, keeper), origin, Arc::clone(&metrics));
    let resignation = engine.resignation.clone();
    let (local, running) = driver::start_engine(Box::new(engine), clock, metrics);
    let membership = Membership {
        name: cluster.member.clone(),
        log: reader,
        local,
        standing,
    };
    membership.keep("measures", measures::watch);
    let watched = cluster.clone();
    membership.keep("servers", move |member| {
        measures::watch_servers(member, watched.clone())
    });
    membership.keep("owner", owner::serve);
    membership.keep("resign", move |member| {
        status::serve_resignations(member, resignation.clone())
    });
    membership.keep("status", status::serve);
    let local = membership.local.clone();
    let door = Arc::new(Door(membership));
    let service = Service::new(local.with_remote(door), Secrets::new(&identity.secret));
    Ok((service.remembering(history), running))
}

/// Starts to keep the member's journal, which continues where the member starts, and its history.
fn keep(
    own: FoundJournal,
    (identity, start): (&Identity, &LogSnapshot),
    (server, reader): (&server_settings::Settings, LogReader),
) -> Result<Keeper, ClusterError> {
    let folder = own.path().to_owned();
    let kept = own.keep(identity, start);
    let kept = kept.map_err(|why| format!("{}: {why}", folder.display()))?;
    let origin = identity.origin();
    let past = HistoryOptions {
        folder,
        origin,
        end: kept.place().chain.last(),
        retention: server.history,
        is_shared: true,
        server: server.history_server.clone(),
    };
    let no_thread = |why: io::Error| {
        let why = reason(&why);
        format!("the member's journal has no thread: {why}")
    };
    let past = History::start(past).map_err(no_thread)?;
    Ok(Keeper::start(kept, (reader, origin), past).map_err(no_thread)?)
}

/// This process as a member: another start of it is another member to the log.
fn member_id(name: &str) -> Result<MemberId, ClusterError> {
    let hash = Sha256::digest(name);
    let mut number = [0; 8];
    number.copy_from_slice(&hash[..8]);
    let incarnation = random().map_err(DatabaseError::from)?;
    Ok(MemberId {
        number: u64::from_le_bytes(number),
        incarnation: u64::from_le_bytes(incarnation),
    })
}
