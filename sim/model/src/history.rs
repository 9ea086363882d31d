//! Histories: what clients did and observed, and what the world and the network did. Metrics, traces
//! and diagrams follow from them, and the verdict on a live server.

use std::sync::{Mutex, PoisonError};

use chat_types::{Span, Time};

use crate::cluster::ClusterFact;
use crate::listing::Listed;
use crate::plan::{Delivery, Fault, Opening, Outage};
use crate::protocol::{Agent, CallId, InboxEvent, Op, Outcome, Page, Room, User};
use crate::server::ServerRecord;

/// An action or an observation of one client.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The instant, by the world's clock.
    pub at: Time,
    /// The virtual user.
    pub agent: Agent,
    /// Its name in the scenario, such as `penpal#12`; empty where there is no scenario.
    pub name: &'a str,
    /// The client's participant at that moment; none before the first registration.
    pub user: Option<User>,
    /// The action or observation.
    pub what: ClientEvent<'a>,
}

/// The request key of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKey {
    /// The call has none.
    None,
    /// One of its own.
    Own,
    /// That of the client's previous call.
    Previous,
}

impl RequestKey {
    /// Whether the call has one.
    #[must_use]
    pub const fn is_some(self) -> bool {
        !matches!(self, Self::None)
    }
}

/// The kinds of actions and observations.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum ClientEvent<'a> {
    /// The first attempt of a call left. `intended` is the planned time.
    Called {
        call: CallId,
        op: &'a Op,
        intended: Time,
        key: RequestKey,
    },
    /// A later attempt of the call left.
    Retried {
        call: CallId,
        op: &'a Op,
        why: Retry,
    },
    /// The call's first answer arrived. `called_at` is the time of its first attempt. For a call
    /// that registered, the record's `user` is the new participant.
    Answered {
        call: CallId,
        op: &'a Op,
        called_at: Time,
        intended: Time,
        outcome: &'a Outcome,
    },
    /// A second answer to the call arrived, because the network duplicated it or a retry
    /// overlapped.
    AnsweredAgain {
        call: CallId,
        op: &'a Op,
        outcome: &'a Outcome,
    },
    /// The client gave the call up. Whether it took effect is unknown.
    Abandoned { call: CallId, op: &'a Op },
    /// An event of the inbox arrived. `sent_at` is the server's timestamp. `first` is false if the
    /// client has received this `seq` before; clients ignore those.
    Received {
        seq: u64,
        sent_at: Time,
        event: InboxEvent<'a>,
        path: DeliveryPath,
        first: bool,
    },
    /// The event stream is open.
    StreamOpened,
    /// The event stream broke, or the client closed it, or gave up one that was being opened. The
    /// server may have opened and closed that one.
    StreamClosed,
    /// The client forgot its participant: `user` does not occur in later records. `returns`: it
    /// registers again by the same handle.
    Forgot { returns: bool },
    /// The client disconnected permanently, at any point of its flow.
    Vanished,
    /// The client finished its flow. From here on it only drains its inbox. `cut_short`: the heal took
    /// rounds of its loops away, or an `await`.
    Finished { cut_short: bool },
    /// The client's inbox is drained: a `check` after the heal returned nothing.
    Drained,
    /// A flow's `await` timed out.
    Stuck { waiting_for: &'a str },
}

/// Why a client retries a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Its timeout passed without an answer.
    Silence,
    /// The client dropped its connections while it waited for an answer.
    Dropped,
    /// The server asked it to retry later.
    PutOff,
}

chat_types::listed! {
    /// The path of an event to a client.
    DeliveryPath {
        /// Pushed on the event stream.
        Stream "stream",
        /// In the answer of a `check`, which has the same time.
        Check "check",
    }
}

/// What the world reports to its judges: the conditions of the clients' observations.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum WorldRecord<'a> {
    /// The server went down.
    Down { how: Outage },
    /// The server has restarted.
    Restarted,
    /// The server's clock jumped ahead.
    ClockJumped { by: Span },
    /// Something happened to one of several servers; without one, to their log.
    Cluster {
        server: Option<u32>,
        what: ClusterEvent,
    },
    /// A stored file was damaged.
    DiskDamaged { damage: &'a str },
    /// The server refused to start from damaged files.
    StartRefused { why: &'a str },
    /// An operator's act took effect: `verb` is mute, unmute, kick, close or ban.
    Operated {
        verb: &'a str,
        user: Option<User>,
        room: Option<Room>,
    },
    /// The waker of this user did something, or something befell it.
    Waker {
        agent: Agent,
        what: &'a WakerRecord<'a>,
    },
    /// The nemesis of a live run made a fault of this name.
    FaultMade { name: &'a str },
    /// The nemesis mended it.
    FaultMended { name: &'a str },
    /// All faults and losses ended: the liveness phase begins.
    Healed,
    /// Sizes of the server's collections (name, size, limit), and the lists that operators read,
    /// where they were read.
    Sizes {
        sizes: &'a [(&'static str, u64, u64)],
        lists: Option<&'a [Listed]>,
        /// Whether the lists have the rooms as an archive takes them, too.
        archived: bool,
    },
    /// The run is over.
    Ended,
}

/// What the waker of a sleeping user does, and what befalls it.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum WakerRecord<'a> {
    /// It starts with the inbox of this participant, or again after a crash. It knocks at most
    /// `per_hour` times an hour.
    Started { reader: User, per_hour: u16 },
    /// A look into the inbox brought this page, behind what was delivered or behind the page before it.
    /// The look is over if nothing is left unread.
    Read { page: &'a Page },
    /// A look had no answer, or a refusal.
    Unanswered,
    /// It knocked for what is unread up to this place. The door has the knock, or loses it.
    Knocked { last: u64, fate: Delivery },
    /// It kept its mark in its file.
    Kept,
    /// It crashed. Only its file is left.
    Crashed,
    /// Its participant is not registered any more.
    Ended,
}

impl WakerRecord<'_> {
    /// Its name in traces.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Started { .. } => "waker_started",
            Self::Read { .. } => "waker_read",
            Self::Unanswered => "waker_unanswered",
            Self::Knocked { .. } => "knocked",
            Self::Kept => "mark_kept",
            Self::Crashed => "waker_crashed",
            Self::Ended => "waker_ended",
        }
    }
}

/// What happens to one of several servers, or to the log that they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterEvent {
    /// It owns the chat: its claim with this number is in the log.
    BecameOwner {
        /// The number.
        epoch: u64,
    },
    /// It owns the chat no more.
    LostOwnership,
    /// It crashed.
    Crashed,
    /// It ended cleanly.
    Stopped,
    /// It started.
    Started,
    /// Its process is suspended.
    Paused,
    /// Its process continues.
    Continued,
    /// It is cut off from the log and from the other servers.
    CutOff,
    /// It is connected again.
    Connected,
    /// Its clock runs too fast or too slow.
    ClockDrifts,
    /// Its clock runs at the right rate again.
    ClockRuns,
    /// The log has no leader.
    NoLeader,
    /// The log has a leader again.
    Leader,
    /// A replica of the log lost a record.
    RecordLost,
    /// A bit of a record flipped in a replica of the log.
    RecordFlipped,
    /// Reports of appends to the log, and records of it, come twice.
    ReportsDoubled,
    /// They come once again.
    ReportsSingle,
}

impl ClusterEvent {
    /// Its name in traces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// The event in a few words, after the name of a server or `the log`.
    #[must_use]
    pub const fn words(self) -> &'static str {
        self.row().1
    }

    const fn row(self) -> (&'static str, &'static str) {
        match self {
            Self::BecameOwner { .. } => ("became_owner", "owns the chat"),
            Self::LostOwnership => ("lost_ownership", "owns the chat no more"),
            Self::Crashed => ("server_crashed", "crashed"),
            Self::Stopped => ("server_stopped", "stopped"),
            Self::Started => ("server_started", "started"),
            Self::Paused => ("server_paused", "is suspended"),
            Self::Continued => ("server_continued", "continues"),
            Self::CutOff => ("server_cut_off", "is cut off"),
            Self::Connected => ("server_connected", "is connected again"),
            Self::ClockDrifts => ("server_clock_drifts", "has a clock that drifts"),
            Self::ClockRuns => ("server_clock_runs", "has a clock that runs right again"),
            Self::NoLeader => ("log_without_leader", "has no leader"),
            Self::Leader => ("log_with_leader", "has a leader"),
            Self::RecordLost => ("record_lost", "lost a record in a replica"),
            Self::RecordFlipped => ("record_flipped", "has a flipped bit in a replica"),
            Self::ReportsDoubled => ("reports_doubled", "reports twice"),
            Self::ReportsSingle => ("reports_single", "reports once again"),
        }
    }
}

/// The name of one of several servers: `server a`; without one, `the log`.
#[must_use]
pub fn server_name(server: Option<u32>) -> String {
    let letter = |number: u32| char::from(b'a' + u8::try_from(number % 26).unwrap_or_default());
    server.map_or_else(
        || "the log".to_owned(),
        |number| format!("server {}", letter(number)),
    )
}

/// The traffic between a client and the server, with its treatment by the network. It serves
/// diagrams and recording as steps; no property judges by it.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum NetworkRecord {
    /// An attempt of a call left its client; `copy` is the network's duplicate.
    Sent {
        call: CallId,
        attempt: u32,
        fate: Delivery,
        copy: Option<Delivery>,
    },
    /// The server started to serve it, or the `copy` of it.
    Served {
        call: CallId,
        attempt: u32,
        copy: bool,
    },
    /// The answer to it, or to the `copy` of it, left the server. `refused` is the code of a refusal.
    Replied {
        call: CallId,
        attempt: u32,
        copy: bool,
        refused: Option<&'static str>,
        fate: Delivery,
    },
    /// The opening of a stream left its client: how it is opened, and whether beside another.
    Opening { opening: Opening, fate: Delivery },
    /// The server opened the stream that its client asked for last; `fate` is that of the answer.
    Opened { fate: Delivery },
    /// Events of the inbox from `first_seq` on left the server on a stream. If they were lost, the
    /// stream broke instead.
    Pushed {
        first_seq: u64,
        events: u32,
        fate: Delivery,
    },
    /// The client's stream broke.
    StreamBroke,
    /// The client dropped all its connections, for a while or permanently.
    Disconnected { length: Option<Span> },
}

/// What faults do, for diagrams and recording as steps.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum FaultRecord {
    /// A mishap, a fault that is not in the plan, will follow. Its index follows those of the plan
    /// and of earlier mishaps.
    Mishap(Box<Fault>),
    /// A fault of the plan (an index into its faults) was applied to these users.
    Applied { fault: usize, victims: Vec<u32> },
    /// The operator's act of this fault names this room.
    RoomNamed { fault: usize, room: Room },
}

/// What happens in a run, as its observers receive it.
#[derive(Clone, Copy, Debug)]
pub enum RunEvent<'a> {
    /// An action or an observation of a client.
    Client(&'a Record<'a>),
    /// A report of the world, at this instant.
    World(Time, &'a WorldRecord<'a>),
    /// Traffic of a client, at this instant of the world's clock.
    Network(Time, Agent, &'a NetworkRecord),
    /// What a fault did, at this instant.
    Fault(Time, &'a FaultRecord),
    /// An act of the server, at this instant of its clock.
    Server(Time, &'a ServerRecord<'a>),
    /// A fact about several servers and their log.
    Cluster(Time, &'a ClusterFact),
    /// A batch was committed in this time.
    Committed(Span),
    /// A user arrived, of the persona with this index in the plan.
    Arrived(Agent, usize),
}

/// A receiver of the events of a run. It implements `observe`; the other methods only name what they
/// report.
pub trait Observer {
    /// Receives an event.
    fn observe(&mut self, event: RunEvent<'_>);

    /// Whether it uses records of traffic, which are a third of all. Else it need not receive any.
    fn sees_traffic(&self) -> bool {
        true
    }

    /// Reports what the world did.
    fn observe_world(&mut self, at: Time, record: &WorldRecord<'_>) {
        self.observe(RunEvent::World(at, record));
    }

    /// Reports traffic.
    fn observe_network(&mut self, at: Time, agent: Agent, record: &NetworkRecord) {
        self.observe(RunEvent::Network(at, agent, record));
    }

    /// Reports an act of the server.
    fn observe_server(&mut self, at: Time, record: &ServerRecord<'_>) {
        self.observe(RunEvent::Server(at, record));
    }
}

/// An optional observer.
impl<O: Observer + ?Sized> Observer for Option<&mut O> {
    fn observe(&mut self, event: RunEvent<'_>) {
        if let Some(observer) = self {
            observer.observe(event);
        }
    }

    fn sees_traffic(&self) -> bool {
        self.as_ref()
            .is_some_and(|observer| observer.sees_traffic())
    }
}

/// An optional observer that several runs share.
impl<O: Observer> Observer for Option<&Mutex<O>> {
    fn observe(&mut self, event: RunEvent<'_>) {
        if let Some(observer) = self {
            let mut observer = observer.lock().unwrap_or_else(PoisonError::into_inner);
            observer.observe(event);
        }
    }
}

/// Two observers.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn observe(&mut self, event: RunEvent<'_>) {
        self.0.observe(event);
        self.1.observe(event);
    }

    fn sees_traffic(&self) -> bool {
        self.0.sees_traffic() || self.1.sees_traffic()
    }
}
