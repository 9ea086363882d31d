//! The in-flight table: requests, answers, pushes and streams between clients and server.

use std::sync::Arc;

use chat_core::{Earlier, Page, Ticket};
use chat_types::Time;

use super::slab::Slab;
use sim_model::plan::{Delivery, Net};
use sim_model::protocol::{CallId, Outcome, Room, User};
use sim_model::server::Call;

/// An entry of the in-flight table.
#[derive(Clone, Debug)]
pub(super) enum InFlight {
    Request(Request),
    /// An answer on its way to the client.
    Answer(RequestOrigin, Outcome),
    Stream(Stream),
    /// Events on their way to a client.
    Push {
        agent: u32,
        stream: u32,
        page: Page,
    },
    /// An operator's call.
    Operator(Act),
}

/// A request.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) origin: RequestOrigin,
    /// Its call, which is taken when it is submitted.
    pub(super) ask: Option<Arc<Call>>,
    pub(super) net: Option<Box<Net>>,
    pub(super) stage: RequestStage,
    /// At a door: until when it tries the call.
    pub(super) tried_until: Option<Time>,
    /// At a door: what is known of earlier attempts.
    pub(super) earlier: Option<Earlier>,
}

impl Request {
    /// What is known of earlier attempts of a call that the server has not read.
    pub(super) fn unasked(&self) -> Earlier {
        match self.ask.as_deref() {
            Some(Call::Command { key: Some(_), .. }) => Earlier::Unknown,
            Some(_) | None => Earlier::Unasked,
        }
    }

    /// The scripted fate of its answer.
    pub(super) fn scripted_reply(&self) -> Option<Delivery> {
        self.net.as_ref().and_then(|net| net.reply)
    }
}

/// The server's end of a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    pub(super) agent: u32,
    pub(super) stream: u32,
    /// The time at which all sent events have arrived.
    pub(super) up_at: Time,
    pub(super) state: StreamState,
}

/// An operator's act: its verb, its user and its room.
pub(super) type Act = (&'static str, Option<User>, Option<Room>);

/// How far a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestStage {
    /// In the network.
    InNetwork,
    /// At its client's server, which finds the owner of the chat.
    AtDoor,
    /// At the server that owns the chat, where a crash loses it.
    AtServer,
    /// Submitted to the node of one of several servers.
    Submitted,
}

/// The state of a stream's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamState {
    /// The client reads.
    Reading,
    /// The client does not read.
    Stalled,
    /// Broken, and not yet noticed by the server.
    Broken,
}

/// An attempt of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    pub(super) agent: u32,
    pub(super) call: CallId,
    pub(super) attempt: u32,
    /// The number of times that all connections were dropped before it.
    pub(super) drops: u32,
    /// Whether it is the network's duplicate.
    pub(super) copy: bool,
}

/// The origin of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestOrigin {
    Call(Attempt),
    /// The opening of a stream.
    Stream {
        agent: u32,
        stream: u32,
    },
    /// A look of the user's waker into its inbox.
    Look {
        agent: u32,
        look: u32,
    },
}

impl RequestOrigin {
    /// The origin of the network's duplicate.
    pub(super) const fn duplicate(mut self) -> Self {
        if let Self::Call(attempt) = &mut self {
            attempt.copy = true;
        }
        self
    }

    pub(super) const fn agent(self) -> u32 {
        match self {
            Self::Call(Attempt { agent, .. })
            | Self::Stream { agent, .. }
            | Self::Look { agent, .. } => agent,
        }
    }
}

/// The in-flight table.
pub(super) type InFlightTable = Slab<InFlight>;

impl InFlightTable {
    pub(super) fn request(&mut self, ticket: Ticket) -> Option<&mut Request> {
        if let InFlight::Request(request) = self.get_mut(ticket)? {
            return Some(request);
        }
        None
    }

    /// Whether a request has come so far.
    pub(super) fn is_at(&mut self, ticket: Ticket, stage: RequestStage) -> bool {
        self.request(ticket).is_some_and(|it| it.stage == stage)
    }

    pub(super) fn stream(&mut self, ticket: Ticket) -> Option<&mut Stream> {
        if let InFlight::Stream(stream) = self.get_mut(ticket)? {
            return Some(stream);
        }
        None
    }

    /// The tickets of all streams, in order.
    pub(super) fn streams(&self) -> Vec<Ticket> {
        self.find(|entry| matches!(entry, InFlight::Stream(_)))
    }

    /// The tickets of the requests that have come as far as one of these stages, in order.
    pub(super) fn requests_at(&self, stages: &[RequestStage]) -> Vec<Ticket> {
        self.find(|entry| matches!(entry, InFlight::Request(it) if stages.contains(&it.stage)))
    }
}
