//! One virtual user's side of the network: by what the server knows it, and what is under way.

use std::sync::Arc;

use chat_types::Time;
use tokio::task::AbortHandle;

use super::caller::Session;
use super::reply::Credentials;
use sim_model::protocol::CallId;
use sim_user::VirtualUser;

/// A client.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) user: VirtualUser,
    /// When the user's clock is written down for; it may have moved later since.
    pub(super) timer_at: Time,
    /// Everybody whom it has been to the server, the present one last.
    seats: Vec<Seat>,
    pub(super) in_flight: Vec<InFlight>,
    pub(super) stream: Option<Stream>,
    pub(super) done: bool,
}

/// One whom a client is, or was, to the server.
#[derive(Debug)]
pub(super) struct Seat {
    /// What the user makes its handle from.
    secret: u64,
    pub(super) credentials: Option<Credentials>,
    pub(super) session: Arc<Session>,
}

/// One attempt of a call that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub(super) call: CallId,
    pub(super) attempt: u32,
    pub(super) ticket: u64,
}

/// A stream, or its opening.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) number: u32,
    pub(super) task: AbortHandle,
    pub(super) inbox: Option<Arc<str>>,
    pub(super) session: Arc<Session>,
    /// How far the inbox has been read for the stream.
    pub(super) cursor: u64,
    pub(super) reading: Reading,
}

/// Where a protocol does not push events themselves: the page that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// None.
    Idle,
    /// By this request.
    Page { ticket: u64 },
    /// The same, and the inbox has grown since.
    PageAndMore { ticket: u64 },
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Seat {
    /// Nobody yet.
    pub(super) fn new(secret: u64) -> Self {
        Self {
            secret,
            credentials: None,
            session: Arc::default(),
        }
    }
}

impl Client {
    pub(super) fn new(user: VirtualUser) -> Self {
        Self {
            user,
            timer_at: Time::MAX,
            seats: Vec::new(),
            in_flight: Vec::new(),
            stream: None,
            done: false,
        }
    }

    /// Whom the client is by this secret; nobody yet if it never was.
    pub(super) fn seat(&mut self, secret: u64) -> &mut Seat {
        let found = self.seats.iter().position(|seat| seat.secret == secret);
        let index = found.unwrap_or_else(|| {
            self.seats.push(Seat::new(secret));
            self.seats.len() - 1
        });
        &mut self.seats[index]
    }

    /// Everybody whom it has been.
    pub(super) fn seats(&self) -> &[Seat] {
        &self.seats
    }

    /// This attempt is over, or given up: takes its request.
    pub(super) fn take(&mut self, call: CallId, attempt: u32) -> Option<u64> {
        let same = |one: &InFlight| (one.call, one.attempt) == (call, attempt);
        let index = self.in_flight.iter().position(same)?;
        Some(self.in_flight.swap_remove(index).ticket)
    }
}
