//! A virtual user's connection state: its identities at the server, and its requests in flight.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use chat_types::Time;
use tokio::task::AbortHandle;

use super::caller::{Message, Session};
use super::listening::Opening;
use super::pool::Sent;
use super::reply::Credentials;
use sim_model::protocol::CallId;
use sim_user::VirtualUser;

/// A client.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) user: VirtualUser,
    /// The server at which its identities begin.
    door: usize,
    /// The instant at which the user's timer is scheduled. The timer may have moved later since.
    pub(super) timer_at: Time,
    /// All identities that it has had at the server, the present one last.
    pub(super) identities: Vec<Identity>,
    pub(super) in_flight: Vec<InFlight>,
    pub(super) stream: Option<Stream>,
    /// Nothing passes between it and the server until then.
    pub(super) cut_until: Time,
    /// Its process is stopped until then, and these messages came meanwhile.
    pub(super) asleep_until: Time,
    pub(super) kept: Vec<Message>,
    /// The microsecond until which it reads nothing from its stream, shared with the stream's task.
    pub(super) slow_until: Arc<AtomicU64>,
    pub(super) done: bool,
}

/// A present or past identity of a client.
#[derive(Debug)]
pub(super) struct Identity {
    /// The number that determined its handle.
    secret: u64,
    pub(super) credentials: Option<Credentials>,
    pub(super) session: Arc<Session>,
}

/// An attempt of a call in flight.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) call: CallId,
    pub(super) attempt: u32,
    pub(super) sent: Sent,
    /// The secret of the identity that makes it.
    pub(super) secret: u64,
    /// The moves of its session when it began.
    pub(super) moves: usize,
}

/// A stream, or its opening.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) opening: Arc<Opening>,
    pub(super) task: AbortHandle,
    /// The last event that was read for the stream.
    pub(super) cursor: u64,
    /// The request that reads a page, for protocols that do not push events.
    pub(super) reading: Option<Sent>,
    /// Whether the inbox has grown since that was sent.
    pub(super) has_grown: bool,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Identity {
    /// A new identity without credentials, at this server.
    pub(super) fn new(secret: u64, door: usize) -> Self {
        Self {
            secret,
            credentials: None,
            session: Arc::new(Session::at(door)),
        }
    }

    pub(super) fn handle(&self) -> Option<Arc<str>> {
        let credentials = self.credentials.as_ref()?;
        Some(Arc::clone(&credentials.handle))
    }
}

impl Client {
    pub(super) fn new(user: VirtualUser, door: usize) -> Self {
        Self {
            user,
            door,
            timer_at: Time::MAX,
            identities: Vec::new(),
            in_flight: Vec::new(),
            stream: None,
            cut_until: Time(0),
            asleep_until: Time(0),
            kept: Vec::new(),
            slow_until: Arc::default(),
            done: false,
        }
    }

    /// The identity with this secret, created if it is new.
    pub(super) fn identity(&mut self, secret: u64) -> &mut Identity {
        let found = self
            .identities
            .iter()
            .position(|identity| identity.secret == secret);
        let index = found.unwrap_or_else(|| {
            self.identities.push(Identity::new(secret, self.door));
            self.identities.len() - 1
        });
        &mut self.identities[index]
    }

    /// Removes an attempt that ended or was cancelled.
    pub(super) fn take(&mut self, is_it: impl Fn(&InFlight) -> bool) -> Option<InFlight> {
        let index = self.in_flight.iter().position(is_it)?;
        Some(self.in_flight.swap_remove(index))
    }
}
