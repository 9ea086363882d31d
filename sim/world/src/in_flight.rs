//! The in-flight table: requests, answers, pushes and streams between clients and server.

use std::sync::Arc;

use chat_core::{Earlier, Page, Ticket};
use chat_types::Time;

use sim_model::plan::{Delivery, Net};
use sim_model::protocol::{CallId, Outcome, Room, User};
use sim_model::server::Call;

/// The id of an entry. A slot is reused under another generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot {
    pub(super) index: u32,
    pub(super) generation: u32,
}

impl Slot {
    /// The node's ticket for it.
    pub(super) fn ticket(self) -> Ticket {
        Ticket((u64::from(self.generation) << 32) | u64::from(self.index))
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the two halves of the number"
    )]
    pub(super) fn of(ticket: Ticket) -> Self {
        Self {
            index: ticket.0 as u32,
            generation: (ticket.0 >> 32) as u32,
        }
    }
}

/// An entry of the in-flight table.
#[derive(Clone, Debug)]
pub(super) enum InFlight {
    /// A request. Its call is taken when it is submitted.
    Request {
        origin: RequestOrigin,
        ask: Option<Arc<Call>>,
        net: Option<Box<Net>>,
        stage: RequestStage,
        /// At a door: until when it tries the call.
        tried_until: Option<Time>,
        /// At a door: what is known of earlier attempts.
        earlier: Option<Earlier>,
    },
    /// An answer on its way to the client.
    Answer {
        origin: RequestOrigin,
        outcome: Outcome,
    },
    /// The server's end of a stream. `up_at` is the time at which all sent events have arrived.
    Stream {
        agent: u32,
        stream: u32,
        up_at: Time,
        state: StreamState,
    },
    /// Events on their way to a client.
    Push { agent: u32, stream: u32, page: Page },
    /// An operator's call.
    Operator {
        verb: &'static str,
        user: Option<User>,
        room: Option<Room>,
    },
}

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

/// The origin of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestOrigin {
    /// An attempt of a call, with the number of times that all connections were dropped before it.
    Call {
        agent: u32,
        call: CallId,
        attempt: u32,
        drops: u32,
        /// Whether it is the network's duplicate.
        copy: bool,
    },
    /// The opening of a stream.
    Stream { agent: u32, stream: u32 },
}

impl RequestOrigin {
    /// The origin of the network's duplicate.
    pub(super) const fn duplicate(self) -> Self {
        match self {
            Self::Call {
                agent,
                call,
                attempt,
                drops,
                ..
            } => Self::Call {
                agent,
                call,
                attempt,
                drops,
                copy: true,
            },
            Self::Stream { .. } => self,
        }
    }

    pub(super) const fn agent(self) -> u32 {
        match self {
            Self::Call { agent, .. } | Self::Stream { agent, .. } => agent,
        }
    }
}

/// The scripted fate of an answer, given by its request.
pub(super) fn scripted_reply(net: Option<&Net>) -> Option<Delivery> {
    net.and_then(|net| net.reply)
}

/// The in-flight table.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlightTable {
    entries: Vec<(u32, Option<InFlight>)>,
    free: Vec<u32>,
}

impl InFlightTable {
    pub(super) fn insert(&mut self, entry: InFlight) -> Slot {
        if let Some(index) = self.free.pop() {
            let (generation, cell) = &mut self.entries[index as usize];
            *cell = Some(entry);
            return Slot {
                index,
                generation: *generation,
            };
        }
        let index = u32::try_from(self.entries.len()).expect("fewer entries than fit in memory");
        self.entries.push((0, Some(entry)));
        Slot {
            index,
            generation: 0,
        }
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> Option<&mut InFlight> {
        let (generation, entry) = self.entries.get_mut(slot.index as usize)?;
        if *generation == slot.generation {
            entry.as_mut()
        } else {
            None
        }
    }

    pub(super) fn remove(&mut self, slot: Slot) -> Option<InFlight> {
        let (generation, cell) = self.entries.get_mut(slot.index as usize)?;
        if *generation != slot.generation {
            return None;
        }
        let entry = cell.take()?;
        *generation = generation.wrapping_add(1);
        self.free.push(slot.index);
        Some(entry)
    }

    /// The slots whose entries match, in order.
    pub(super) fn find(&self, which: impl Fn(&InFlight) -> bool) -> Vec<Slot> {
        let slots = self
            .entries
            .iter()
            .enumerate()
            .filter_map(|(index, (generation, entry))| {
                let index = u32::try_from(index).ok()?;
                entry.as_ref().filter(|t| which(t)).map(|_| Slot {
                    index,
                    generation: *generation,
                })
            });
        slots.collect()
    }
}
