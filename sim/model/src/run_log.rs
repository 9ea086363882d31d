//! The log of a run: what clients, the network and the world did, in order. Each message refers to its
//! later effects. Only a run that is drawn, told or written as steps has a log; an exploration makes none.

use std::collections::{BTreeMap, VecDeque};

use chat_types::{Span, Time};

use crate::history::{
    ClientEvent, ClusterEvent, DeliveryPath, FaultRecord, NetworkRecord, Observer, Record,
    RequestKey, Retry, RunEvent, WorldRecord,
};
use crate::plan::{Delivery, Outage};
use crate::protocol::{Agent, CallId, Op, Response, Room, User};
use crate::words;

/// A run as it went.
#[derive(Clone, Debug, Default)]
pub struct RunLog {
    /// What happened, in order.
    pub entries: Vec<Entry>,
    /// Whether later entries are missing, because the log was full.
    pub is_cut: bool,
    /// The calls, in the order of their first attempts.
    pub calls: Vec<Call>,
    /// The clients, by their numbers.
    pub clients: BTreeMap<Agent, Recipient>,
    numbers: BTreeMap<(Agent, CallId), usize>,
}

/// What happened at one instant.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The instant, by the world's clock.
    pub at: Time,
    /// The client that did or observed it, or whose traffic it is.
    pub agent: Option<Agent>,
    /// The client's participant at that moment.
    pub user: Option<User>,
    /// What clients and the world did in words for people, behind a mark.
    pub said: Option<(&'static str, String)>,
    /// What happened.
    pub what: Logged,
    /// The entries of its effects. A request leads to the service and the replies of it and of its copy, a
    /// reply to the answer that arrives, an answer and a push to the events in them, and the opening of a
    /// stream to the open stream, at the server and at the client.
    pub then: Vec<usize>,
}

/// The kinds of entries. The number of a call is its place in the log.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum Logged {
    /// A client made a call.
    Called(usize),
    /// The client made a further attempt.
    Retried(usize, Retry),
    /// The client gave the call up.
    Abandoned(usize),
    /// An answer arrived, the first to its call or another. `place` is that of the accepted message.
    Answered {
        is_first: bool,
        is_refused: bool,
        room: Option<Room>,
        place: Option<(Room, u64)>,
    },
    /// An event of the inbox arrived.
    Received {
        seq: u64,
        kind: &'static str,
        place: Option<(Room, u64)>,
        is_first: bool,
    },
    /// The client forgot its participant.
    Forgot {
        returns: bool,
    },
    /// The client disconnected permanently.
    Vanished,
    /// The client finished its flow.
    Finished,
    /// What is all in its words.
    Said,
    /// The server went down, and up again.
    Down(Outage),
    Restarted,
    /// The server's clock jumped ahead.
    ClockJumped(Span),
    /// Something happened to one of several servers, or to their log.
    Cluster(Option<u32>, ClusterEvent),
    /// All faults ended.
    Healed,
    /// The run is over.
    Ended,
    /// Traffic, which no client observes.
    Network(NetworkRecord),
    /// What a fault did.
    Fault(FaultRecord),
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The client.
    pub agent: Agent,
    /// Its number at the client.
    pub id: CallId,
    /// When its first attempt left.
    pub at: Time,
    /// What it asks for.
    pub op: Op,
    /// Its request key.
    pub key: RequestKey,
    /// The entry of each attempt that left.
    pub sent: BTreeMap<u32, usize>,
    /// The entry of the first answer that arrived.
    pub answered: Option<usize>,
    /// The entries of the answers that arrived to known replies.
    pub heard: Vec<usize>,
    /// The replies under way, each with its arrival.
    under_way: Vec<(Time, usize)>,
}

/// A client, and the entries of what is under way to it.
#[derive(Clone, Debug, Default)]
pub struct Recipient {
    /// Its name in the scenario.
    pub name: String,
    /// The end of each push.
    pushes: VecDeque<(u64, usize)>,
    /// The latest opening of its stream.
    opening: Option<usize>,
    /// The events of a check whose answer follows.
    page: Vec<usize>,
}

impl Entry {
    /// Whether a client did or observed it.
    #[must_use]
    pub const fn is_of_client(&self) -> bool {
        self.agent.is_some() && !matches!(self.what, Logged::Network(_))
    }
}

/// The most entries.
const MOST: usize = if cfg!(test) { 3 } else { 4_000_000 };

impl Observer for RunLog {
    fn observe(&mut self, event: RunEvent<'_>) {
        if self.entries.len() == MOST {
            self.is_cut = true;
            return;
        }
        let entry = |at, agent, what| Entry {
            at,
            agent,
            user: None,
            said: None,
            what,
            then: Vec::new(),
        };
        let here = self.entries.len();
        let new = match event {
            RunEvent::Client(record) => {
                let what = self.client(here, record);
                let client = self.clients.entry(record.agent).or_default();
                if client.name.is_empty() {
                    record.name.clone_into(&mut client.name);
                }
                let is_answer = matches!(what, Logged::Answered { .. });
                let page = is_answer.then(|| std::mem::take(&mut client.page));
                Entry {
                    user: record.user,
                    said: words::client(&record.what, record.user),
                    then: page.unwrap_or_default(),
                    ..entry(record.at, Some(record.agent), what)
                }
            }
            RunEvent::World(at, WorldRecord::Waker { agent, what }) => Entry {
                said: words::waker(what).map(|words| ("", words)),
                ..entry(at, Some(*agent), Logged::Said)
            },
            RunEvent::World(at, record) => Entry {
                said: words::world(record).map(|words| ("", words)),
                ..entry(at, None, world(record))
            },
            RunEvent::Network(at, agent, record) => {
                self.network(here, (at, agent), record);
                entry(at, Some(agent), Logged::Network(*record))
            }
            RunEvent::Fault(at, record) => entry(at, None, Logged::Fault(record.clone())),
            RunEvent::Server(..)
            | RunEvent::Cluster(..)
            | RunEvent::Committed(_)
            | RunEvent::Arrived(..) => return,
        };
        self.entries.push(new);
    }
}

impl RunLog {
    /// The call of a client.
    ///
    /// # Panics
    /// If the client never made it.
    #[must_use]
    pub fn call(&self, agent: Agent, call: CallId) -> &Call {
        &self.calls[self.numbers[&(agent, call)]]
    }

    /// The effects of an entry.
    pub fn then(&self, entry: &Entry) -> impl Iterator<Item = &Entry> {
        entry.then.iter().map(|entry| &self.entries[*entry])
    }

    fn client(&mut self, here: usize, record: &Record<'_>) -> Logged {
        let (at, agent) = (record.at, record.agent);
        let client = self.clients.entry(agent).or_default();
        match record.what {
            ClientEvent::Called { call, op, key, .. } => {
                let number = self.calls.len();
                self.numbers.insert((agent, call), number);
                self.calls.push(Call::new((at, agent), call, op, key));
                Logged::Called(number)
            }
            ClientEvent::Retried { call, why, .. } => {
                Logged::Retried(self.numbers[&(agent, call)], why)
            }
            ClientEvent::Abandoned { call, .. } => Logged::Abandoned(self.numbers[&(agent, call)]),
            ClientEvent::Answered { call, outcome, .. }
            | ClientEvent::AnsweredAgain { call, outcome, .. } => {
                let is_first = matches!(record.what, ClientEvent::Answered { .. });
                let call = &mut self.calls[self.numbers[&(agent, call)]];
                if is_first {
                    call.answered = Some(here);
                }
                if let Some(reply) = call.hears(at, here) {
                    self.entries[reply].then.push(here);
                }
                let (room, place) = match outcome {
                    Ok(Response::Done(reply)) => (reply.room(), reply.place()),
                    _ => (None, None),
                };
                Logged::Answered {
                    is_first,
                    is_refused: outcome.is_err(),
                    room,
                    place: place.map(|(room, seq)| (room, seq.0)),
                }
            }
            ClientEvent::Received {
                seq,
                event,
                path,
                first,
                ..
            } => {
                if path == DeliveryPath::Check {
                    client.page.push(here);
                } else if let Some((_, push)) = client.brings(seq) {
                    self.entries[push].then.push(here);
                }
                Logged::Received {
                    seq,
                    kind: event.kind(),
                    place: event.place(),
                    is_first: first,
                }
            }
            ClientEvent::Forgot { returns } => {
                // The server may still open a stream that nobody waits for.
                client.opening.take_if(|_| !returns);
                Logged::Forgot { returns }
            }
            ClientEvent::Vanished => Logged::Vanished,
            ClientEvent::Finished { .. } => Logged::Finished,
            ClientEvent::StreamOpened => {
                if let Some(opening) = client.opening {
                    self.entries[opening].then.push(here);
                }
                Logged::Said
            }
            ClientEvent::StreamClosed | ClientEvent::Drained | ClientEvent::Stuck { .. } => {
                Logged::Said
            }
        }
    }

    /// Adds a packet to the effects of its cause, or to what is under way.
    fn network(&mut self, here: usize, (at, agent): (Time, Agent), record: &NetworkRecord) {
        let client = self.clients.entry(agent).or_default();
        let cause = match *record {
            NetworkRecord::Sent { call, attempt, .. } => {
                let call = &mut self.calls[self.numbers[&(agent, call)]];
                call.sent.insert(attempt, here);
                None
            }
            NetworkRecord::Served { call, attempt, .. } => {
                self.call(agent, call).sent.get(&attempt).copied()
            }
            NetworkRecord::Replied {
                call,
                attempt,
                fate,
                ..
            } => {
                let call = &mut self.calls[self.numbers[&(agent, call)]];
                if let Delivery::After(took) = fate {
                    call.under_way.push((at + took, here));
                }
                call.sent.get(&attempt).copied()
            }
            NetworkRecord::Opening { .. } => {
                client.opening = Some(here);
                None
            }
            NetworkRecord::Opened { .. } => client.opening,
            NetworkRecord::Pushed {
                first_seq,
                events,
                fate,
            } => {
                if fate != Delivery::Lost {
                    let end = first_seq + u64::from(events);
                    client.pushes.push_back((end, here));
                }
                None
            }
            NetworkRecord::StreamBroke | NetworkRecord::Disconnected { .. } => None,
        };
        if let Some(entry) = cause {
            self.entries[entry].then.push(here);
        }
    }
}

impl Call {
    fn new((at, agent): (Time, Agent), id: CallId, op: &Op, key: RequestKey) -> Self {
        Self {
            agent,
            id,
            at,
            op: op.clone(),
            key,
            sent: BTreeMap::new(),
            answered: None,
            heard: Vec::new(),
            under_way: Vec::new(),
        }
    }

    /// The reply whose answer arrives here: the first of those under way that can have.
    fn hears(&mut self, at: Time, here: usize) -> Option<usize> {
        let arrived = |reply: &(Time, usize)| reply.0 <= at;
        let found = self.under_way.iter().position(arrived)?;
        self.heard.push(here);
        Some(self.under_way.swap_remove(found).1)
    }
}

impl Recipient {
    /// The push that brings this place of the inbox. A stream keeps its order: an earlier one that has
    /// not arrived never will.
    fn brings(&mut self, seq: u64) -> Option<(u64, usize)> {
        while self.pushes.len() > 1 && self.pushes[0].0 <= seq {
            self.pushes.pop_front();
        }
        self.pushes.front().copied()
    }
}

fn world(record: &WorldRecord<'_>) -> Logged {
    match *record {
        WorldRecord::Down { how } => Logged::Down(how),
        WorldRecord::Restarted => Logged::Restarted,
        WorldRecord::ClockJumped { by } => Logged::ClockJumped(by),
        WorldRecord::Cluster { server, what } => Logged::Cluster(server, what),
        WorldRecord::Healed => Logged::Healed,
        WorldRecord::Ended => Logged::Ended,
        WorldRecord::DiskDamaged { .. }
        | WorldRecord::StartRefused { .. }
        | WorldRecord::Operated { .. }
        | WorldRecord::Waker { .. }
        | WorldRecord::FaultMade { .. }
        | WorldRecord::FaultMended { .. }
        | WorldRecord::Sizes { .. } => Logged::Said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_keeps_its_first_entries_and_says_that_it_is_cut() {
        let mut log = RunLog::default();
        let restarts = |log: &mut RunLog, from: u64, to: u64| {
            for at in (from..to).map(Time) {
                log.observe_world(at, &WorldRecord::Restarted);
            }
        };
        restarts(&mut log, 0, 3);
        assert!(!log.is_cut);
        restarts(&mut log, 3, 9);
        assert!(log.is_cut);
        let kept: Vec<u64> = log.entries.iter().map(|entry| entry.at.0).collect();
        assert_eq!(kept, [0, 1, 2]);
    }
}
