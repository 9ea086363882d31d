//! `talking-stick cluster resign`: the owner hands the log over, and goes on as a follower.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use server_chat::driver::Wake;
use server_nats::{CallError, Calls, Log};
use server_settings::ClusterSettings;
use tokio::time::Instant;

use super::standing::{Standings, serve_with_node};
use super::status::members;
use super::wire::{RESIGN, Resigning, decode, encode};
use super::{ClusterError, options};

/// How long the owner has to answer.
const ANSWER: Duration = Duration::from_secs(2);

/// How long a member has to take over. One that is alone claims the log again after seven seconds.
const PATIENCE: Duration = Duration::from_secs(15);

/// The request to resign, from the connection of the log to the driver.
#[derive(Clone, Default)]
pub(super) struct Resignation(Arc<Request>);

#[derive(Default)]
struct Request {
    is_asked: AtomicBool,
    wake: OnceLock<Wake>,
}

impl Resignation {
    /// Receives, once, what wakes the driver.
    pub(super) fn attach(&self, wake: Wake) {
        // A second driver does not exist.
        let _ = self.0.wake.set(wake);
    }

    fn ask(&self) {
        self.0.is_asked.store(true, Ordering::Release);
        if let Some(wake) = self.0.wake.get() {
            wake();
        }
    }

    /// Whether the owner was asked since the last time.
    pub(super) fn take(&self) -> bool {
        self.0.is_asked.swap(false, Ordering::Acquire)
    }
}

/// Takes requests while this member has the node.
pub(super) async fn serve(
    calls: Calls,
    member: String,
    standing: Standings,
    resignation: Resignation,
) {
    let known = standing.clone();
    serve_with_node(calls, RESIGN, standing, move |call| {
        let answer = Resigning {
            member: member.clone(),
            epoch: known.borrow().epoch,
        };
        tracing::info!("this member is asked to resign");
        resignation.ask();
        call.answer(encode(&answer))
    })
    .await;
}

/// Asks the owner to resign, waits until a member owns the log under a later epoch, and returns a
/// sentence about both.
///
/// # Errors
/// The log cannot be opened, there is no owner, or no member takes over.
pub(crate) async fn resign(cluster: &ClusterSettings) -> Result<String, ClusterError> {
    let log = Log::open(&options(cluster)?).await?;
    let calls = log.reader().calls();
    let answer = calls.ask(RESIGN, encode(&()), ANSWER).await;
    let answer = answer.map_err(|error| match error {
        CallError::NoOwner => ClusterError::NoOwner,
        CallError::Unanswered => ClusterError::OwnerSilent,
    })?;
    let Resigning { member, epoch } = decode(&answer).ok_or(ClusterError::OwnerSilent)?;
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        let members = members(&calls).await;
        let mut owners = members.iter().filter(|found| found.role == "owner");
        if let Some(owner) = owners.find(|owner| owner.epoch > epoch) {
            return Ok(format!(
                "{member} resigned in epoch {epoch}\n{} is the owner in epoch {}\n",
                owner.member, owner.epoch
            ));
        }
    }
    Err(ClusterError::NotTakenOver { member })
}
