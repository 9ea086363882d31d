//! Hand-written histories, in short form: calls, answers and received events.

use std::collections::BTreeMap;
use std::sync::Arc;

use chat_types::{Config, Epoch, RoomSeq, Seq, Span, Time};
use sim_model::draw::{Quantiles, Ratio, Shape};
use sim_model::history::{ClientEvent, DeliveryPath, Observer as _, Record, RequestKey, RunEvent};
use sim_model::names::PROPERTIES;
use sim_model::plan::{Capacity, Client, Network, OwnerReads, Plan, Schedule, Workload};
use sim_model::protocol::{
    Addressees, Agent, Answer, Body, CallId, Command, EndReason, Event, Gap, InboxEvent, Op,
    Outcome, Page, ReadBy, Reply, Response, Room, User, Who,
};
use sim_model::recipe::Recipe;

use crate::{Judge, Judgement};

pub(super) const ANN: User = User(1);
pub(super) const BEN: User = User(2);
pub(super) const CAT: User = User(3);
/// A participant whose client is not observed.
pub(super) const STRANGER: User = User(9);
pub(super) const PAIR: Room = Room(1);
pub(super) const NEXT: Room = Room(2);
pub(super) const LOBBY: Room = Room(7);

pub(crate) fn plan() -> Plan {
    let none = Arc::new(Quantiles::new(Shape::Fixed(0)));
    Plan {
        name: "story".into(),
        about: String::new(),
        seed: 1,
        duration: Span::secs(60),
        liveness: Span::secs(60),
        servers: 1,
        reads: OwnerReads::Lease,
        server: Config::default(),
        capacity: Capacity {
            service: none.clone(),
            commit: none.clone(),
            queue: 4_096,
            snapshot_every: 20_000,
        },
        client: Client {
            timeout: Span::millis(500),
            backoff: 2,
            max: Span::secs(8),
            attempts: 8,
        },
        workload: Workload::Steps {
            users: Vec::new(),
            steps: Vec::new(),
        },
        network: Network {
            latency: none,
            loss: Ratio::NEVER,
            duplicate: Ratio::NEVER,
            stream_break: Ratio::NEVER,
            addresses: None,
        },
        schedule: Schedule::Plain,
        recipe: Recipe::default(),
        allow_stuck: Ratio::NEVER,
        faults: Vec::new(),
        properties: PROPERTIES.to_vec(),
        expect_sometimes: Vec::new(),
        thresholds: Vec::new(),
    }
}

/// One history. Each record is a millisecond after the previous one.
pub(super) struct HistoryBuilder {
    judge: Judge,
    pub(super) now: Time,
    calls: u32,
    inboxes: BTreeMap<User, u64>,
}

impl HistoryBuilder {
    pub(super) fn new() -> Self {
        Self {
            judge: Judge::live(&plan(), None),
            now: Time(1_000_000),
            calls: 0,
            inboxes: BTreeMap::new(),
        }
    }

    /// Ann and Ben are matched.
    pub(super) fn of_a_pair() -> Self {
        let mut history = Self::new();
        history.finds(PAIR, ANN, BEN);
        history.finds(PAIR, BEN, ANN);
        history
    }

    /// Ann, Ben and Cat join the lobby: its events 1 to 3.
    pub(super) fn in_the_lobby() -> Self {
        let mut history = Self::new();
        for (place, user) in [(1, ANN), (2, BEN), (3, CAT)] {
            for there in [ANN, BEN, CAT].into_iter().take(place) {
                history.sees(there, &about(place as u64, user, Body::Joined));
            }
        }
        history
    }

    fn record(&mut self, user: User, what: ClientEvent<'_>) {
        self.record_as(user, Some(user), what);
    }

    fn record_as(&mut self, client: User, user: Option<User>, what: ClientEvent<'_>) {
        self.now += Span::millis(1);
        self.judge.observe(RunEvent::Client(&Record {
            at: self.now,
            agent: Agent(u32::try_from(client.0).expect("few users")),
            name: "",
            user,
            what,
        }));
    }

    /// The client of this participant sends a registering request.
    pub(super) fn registers(&mut self, user: User) {
        self.calls_as(user, None, &push());
    }

    /// The next event of the inbox arrives, on the stream.
    pub(super) fn sees<'a>(&mut self, user: User, event: impl Into<InboxEvent<'a>>) {
        let seq = self.inboxes.get(&user).copied().unwrap_or(0) + 1;
        self.sees_at(user, seq, event);
    }

    pub(super) fn sees_at<'a>(&mut self, user: User, seq: u64, event: impl Into<InboxEvent<'a>>) {
        self.sees_of(user, seq, Time(500), event);
    }

    pub(super) fn sees_of<'a>(
        &mut self,
        user: User,
        seq: u64,
        sent_at: Time,
        event: impl Into<InboxEvent<'a>>,
    ) {
        self.inboxes.insert(user, seq);
        let (event, path, first) = (event.into(), DeliveryPath::Stream, true);
        self.record(
            user,
            ClientEvent::Received {
                seq,
                sent_at,
                event,
                path,
                first,
            },
        );
    }

    pub(super) fn all_see(&mut self, users: &[User], event: &Event) {
        for user in users {
            self.sees(*user, event);
        }
    }

    pub(super) fn finds(&mut self, room: Room, user: User, partner: User) {
        self.sees(user, &found(room, user, partner));
    }

    pub(super) fn calls(&mut self, user: User, op: &Op) -> (CallId, Time) {
        self.calls_as(user, Some(user), op)
    }

    fn calls_as(&mut self, client: User, user: Option<User>, op: &Op) -> (CallId, Time) {
        let (call, intended, key) = (CallId(self.calls), self.now, RequestKey::Own);
        self.calls += 1;
        let called = ClientEvent::Called {
            call,
            op,
            intended,
            key,
        };
        self.record_as(client, user, called);
        (call, self.now)
    }

    pub(super) fn asks(&mut self, user: User, op: &Op, outcome: Outcome) {
        let (call, called_at) = self.calls(user, op);
        let (intended, outcome) = (called_at, &outcome);
        self.record(
            user,
            ClientEvent::Answered {
                call,
                op,
                called_at,
                intended,
                outcome,
            },
        );
    }

    pub(super) fn sends(&mut self, user: User, text: &str, (room, room_seq): (Room, u64)) {
        self.asks(user, &send(room, text), sent(room, room_seq));
    }

    /// An exact check after `after` ends at `cursor`, with no further events.
    pub(super) fn reads(&mut self, user: User, after: u64, cursor: u64) {
        let op = Op::check(Some(after), Span::ZERO, ReadBy::Handle);
        let page = Page {
            cursor: Seq(cursor),
            ..Page::default()
        };
        let notices = Vec::new();
        self.asks(
            user,
            &op,
            Ok(Response::Read(Answer::Page { page, notices })),
        );
    }

    pub(super) fn ends(self) -> Judgement {
        let now = self.now;
        self.judge.finish(now)
    }

    /// The run violates this property, and no other.
    #[track_caller]
    pub(super) fn breaks(self, property: &str) {
        let judged = self.ends();
        let broken = judged.violations.iter().map(|one| one.property.as_str());
        let broken: Vec<_> = broken.collect();
        assert_eq!(broken, [property], "{:?}", judged.violations);
    }

    /// The run violates nothing. The property has this many checks and unjudged comparisons.
    #[track_caller]
    pub(super) fn keeps(self, property: &str, (checks, unjudged): (u64, u64)) {
        let judged = self.ends();
        assert_eq!(judged.violations, []);
        let result = judged.properties[property];
        assert_eq!((result.checks, result.unjudged), (checks, unjudged));
        assert_eq!(result.held, (checks > 0).then_some(true));
    }
}

pub(super) fn send(room: Room, text: &str) -> Op {
    Op::Command(Command::SendMessage {
        room: Some(room),
        text: text.into(),
        epoch: None,
        to: Addressees::ALL,
    })
}

pub(super) fn push() -> Op {
    let (room, epoch) = (None, None);
    Op::Command(Command::Push {
        room,
        epoch,
        to: Addressees::ALL,
    })
}

/// A gap that names no room.
pub(super) fn gap(from: u64, to: u64) -> Gap {
    Gap {
        from: Seq(from),
        to: Seq(to),
        rooms: Vec::new(),
        rooms_omitted: false,
    }
}

pub(super) fn sent(room: Room, room_seq: u64) -> Outcome {
    Ok(Response::Done(Reply::Sent {
        room,
        room_seq: RoomSeq(room_seq),
        at: Time(0),
        turns_left: None,
    }))
}

fn event(room: Room, room_seq: u64, body: Body) -> Event {
    Event {
        room,
        room_seq: RoomSeq(room_seq),
        at: Time(0),
        body,
    }
}

pub(super) fn message(room: Room, room_seq: u64, sender: User, text: &str) -> Event {
    said(room, room_seq, sender, text, None)
}

pub(super) fn speech(room_seq: u64, sender: User, text: &str, epoch: u64) -> Event {
    said(LOBBY, room_seq, sender, text, Some(Epoch(epoch)))
}

fn said(room: Room, room_seq: u64, sender: User, text: &str, epoch: Option<Epoch>) -> Event {
    let (sender, text) = (Who::unnamed(sender), text.into());
    let body = Body::Message {
        sender,
        text,
        epoch,
        to: [].into(),
    };
    event(room, room_seq, body)
}

pub(super) fn ended(room: Room, room_seq: u64) -> Event {
    event(room, room_seq, Body::PartnerDisconnected(EndReason::Left))
}

pub(super) fn found(room: Room, reader: User, partner: User) -> Event {
    let pair = [reader, partner].map(Who::unnamed);
    event(room, 1, Body::Found(pair))
}

/// An event of the lobby that is about this user.
pub(super) fn about(room_seq: u64, user: User, what: impl Fn(Arc<Who>) -> Body) -> Event {
    event(LOBBY, room_seq, what(Who::unnamed(user)))
}

pub(super) fn claimed(place: u32) -> impl Fn(Arc<Who>) -> Body {
    move |user| Body::StickClaimed { user, place }
}

pub(super) fn granted(epoch: u64) -> impl Fn(Arc<Who>) -> Body {
    let (epoch, lease) = (Epoch(epoch), Span::secs(4));
    move |user| Body::StickGranted { user, epoch, lease }
}

pub(super) fn released(epoch: u64) -> impl Fn(Arc<Who>) -> Body {
    let epoch = Epoch(epoch);
    move |user| Body::StickReleased { user, epoch }
}

pub(super) fn expired(epoch: u64) -> impl Fn(Arc<Who>) -> Body {
    let epoch = Epoch(epoch);
    move |user| Body::StickExpired { user, epoch }
}

pub(super) const ALL: [User; 3] = [ANN, BEN, CAT];
