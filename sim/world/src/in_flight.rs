//! The in-flight table: requests, answers, pushes and streams between clients and server.

use std::sync::Arc;

use chat_core::{Earlier, Page, Ticket};
use chat_types::Time;

use sim_model::plan::{Delivery, Net};
use sim_model::protocol::{CallId, Outcome, Room, User};
use sim_model::server::Call;

/// The place of a ticket's entry in the table.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the lower half of the number"
)]
pub(super) const fn index_of(ticket: Ticket) -> u32 {
    ticket.0 as u32
}

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
            Self::Call(Attempt { agent, .. }) | Self::Stream { agent, .. } => agent,
        }
    }
}

/// The in-flight table. A place is reused under another generation, the upper half of its ticket.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlightTable {
    /// The entries with their tickets, and free places with their next ones.
    entries: Vec<(Ticket, Option<InFlight>)>,
    free: Vec<u32>,
}

impl InFlightTable {
    pub(super) fn insert(&mut self, entry: InFlight) -> Ticket {
        let index = self.free.pop().unwrap_or_else(|| {
            let index = u32::try_from(self.entries.len());
            let index = index.expect("fewer entries than fit in memory");
            self.entries.push((Ticket(index.into()), None));
            index
        });
        let (ticket, cell) = &mut self.entries[index as usize];
        *cell = Some(entry);
        *ticket
    }

    fn cell(&mut self, ticket: Ticket) -> Option<&mut (Ticket, Option<InFlight>)> {
        let cell = self.entries.get_mut(index_of(ticket) as usize)?;
        (cell.0 == ticket).then_some(cell)
    }

    pub(super) fn get_mut(&mut self, ticket: Ticket) -> Option<&mut InFlight> {
        self.cell(ticket)?.1.as_mut()
    }

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

    pub(super) fn remove(&mut self, ticket: Ticket) -> Option<InFlight> {
        let (next, cell) = self.cell(ticket)?;
        let entry = cell.take()?;
        *next = Ticket(ticket.0.wrapping_add(1 << u32::BITS));
        self.free.push(index_of(ticket));
        Some(entry)
    }

    /// The tickets of the entries that match, in the order of their places.
    pub(super) fn find(&self, which: impl Fn(&InFlight) -> bool) -> Vec<Ticket> {
        let matches = |(_, entry): &&(_, Option<InFlight>)| entry.as_ref().is_some_and(&which);
        let found = self.entries.iter().filter(matches);
        found.map(|(ticket, _)| *ticket).collect()
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
