//! The `sometimes` points that clients can observe.

use chat_types::{Span, Time};

use crate::history::{
    ClientEvent, ClusterEvent, DeliveryPath, Observer, Record, RunEvent, WorldRecord,
};
use crate::outcome::{Point, Tally};
use crate::protocol::{
    Agent, Answer, Body, CallId, Command, EVENTS, EndReason, InboxEvent, Op, OpKind, Outcome,
    ReadBy, Refusal, Reply, Response, Room, User, WasWaiting,
};

/// Counts the points that show in client records.
///
/// The world adds those that only it can observe: `stream_broken`, `slow_reader_cut`,
/// `unsynced_lost`, `from_snapshot`, `damage_survived`, `start_refused`, `timer_fired`, `swapped`.
#[derive(Clone, Debug, Default)]
pub struct PointCounter {
    /// The counts so far, to which the world adds.
    pub tally: Tally,
    clients: Vec<Client>,
    /// The last events counted, one in each place: an event that several members receive counts
    /// once.
    counted: Vec<(Room, u64)>,
    jumped: Span,
    /// Events that clients received, by the index of their type in `EVENTS`.
    received: [u64; EVENTS.len()],
}

/// The number of unusual calls that are remembered for each client.
const REMEMBERED: usize = 16;

/// The delay of an answer to a break at the highest alert level.
const HELD: Span = Span::secs(20);

/// The number of places for counted events: a power of two.
const PLACES: usize = 4_096;

/// The part of one client's history that points depend on.
#[derive(Clone, Debug, Default)]
struct Client {
    in_flight: u32,
    retried: Vec<CallId>,
    was_told_to_wait: bool,
    waits_for_stick: bool,
    last_partner: Option<User>,
    last_match: Option<Room>,
    forgot: bool,
    /// The epoch under which the draft began, and the latest granted epoch.
    draft_epoch: Option<u64>,
    epoch: u64,
    last_check: Option<CallId>,
    /// The boss's alert level in the last answer.
    boss_alert: u8,
    /// The timestamp of the newest event of the check that is being answered.
    checked: Option<Time>,
}

impl Observer for PointCounter {
    fn observe(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::Client(record) => self.record_client(record),
            RunEvent::World(_, record) => self.record_world(record),
            RunEvent::Server(..)
            | RunEvent::Network(..)
            | RunEvent::Fault(..)
            | RunEvent::Cluster(..)
            | RunEvent::Committed(_)
            | RunEvent::Arrived(..) => {}
        }
    }
}

impl PointCounter {
    fn record_world(&mut self, record: &WorldRecord<'_>) {
        match record {
            WorldRecord::Down { .. } => self.tally.reach(Point::Crash),
            WorldRecord::ClockJumped { by } => self.jumped = self.jumped + *by,
            WorldRecord::Operated { verb, .. } => {
                self.reach_if(*verb == "ban", Point::Banned);
                self.reach_if(*verb == "unban", Point::Unbanned);
            }
            WorldRecord::Cluster { what, .. } => {
                let is_later = matches!(what, ClusterEvent::BecameOwner { epoch } if *epoch > 1);
                self.reach_if(is_later, Point::OwnerChanged);
            }
            WorldRecord::Restarted
            | WorldRecord::DiskDamaged { .. }
            | WorldRecord::StartRefused { .. }
            | WorldRecord::Waker { .. }
            | WorldRecord::FaultMade { .. }
            | WorldRecord::FaultMended { .. }
            | WorldRecord::Healed
            | WorldRecord::Sizes { .. }
            | WorldRecord::Ended => {}
        }
    }

    fn record_client(&mut self, record: &Record<'_>) {
        match record.what {
            ClientEvent::Received {
                sent_at,
                event,
                path,
                first,
                ..
            } => {
                self.received[event.number()] += 1;
                self.received(record, sent_at, (event, path, first));
            }
            ClientEvent::Called { call, op, .. } => self.record_call(record.agent, call, op),
            ClientEvent::Answered {
                call,
                op,
                called_at,
                outcome,
                ..
            } => self.answered(record, (call, called_at), op, outcome),
            ClientEvent::AnsweredAgain { .. } => self.tally.reach(Point::AnsweredTwice),
            ClientEvent::Retried { call, .. } => {
                remember(&mut self.client(record.agent).retried, call)
            }
            ClientEvent::Abandoned { .. } => {
                self.tally.reach(Point::Abandoned);
                let client = self.client(record.agent);
                client.in_flight = client.in_flight.saturating_sub(1);
            }
            ClientEvent::Forgot { .. } => {
                *self.client(record.agent) = Client {
                    forgot: true,
                    ..Client::default()
                };
            }
            ClientEvent::StreamOpened
            | ClientEvent::StreamClosed
            | ClientEvent::Vanished
            | ClientEvent::Finished { .. }
            | ClientEvent::Drained
            | ClientEvent::Stuck { .. } => {}
        }
    }

    fn reach_if(&mut self, is_reached: bool, point: Point) {
        if is_reached {
            self.tally.reach(point);
        }
    }

    /// The final counts.
    #[must_use]
    pub fn into_tally(mut self) -> Tally {
        for (event, times) in EVENTS.iter().zip(self.received) {
            self.tally.coverage.record_event(event, times);
        }
        self.tally
    }

    fn client(&mut self, agent: Agent) -> &mut Client {
        agent.item_of(&mut self.clients)
    }

    /// Counts an event that all members of a room receive, once.
    fn once(&mut self, (room, seq): (Room, u64), point: Point) {
        if self.counted.is_empty() {
            self.counted = vec![(Room(0), 0); PLACES];
        }
        let mixed = (room.0 ^ seq.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The highest bits give an index below `PLACES`.
        #[expect(clippy::cast_possible_truncation, reason = "twelve bits")]
        let place = &mut self.counted[(mixed >> (64 - PLACES.trailing_zeros())) as usize];
        if *place != (room, seq) {
            *place = (room, seq);
            self.tally.reach(point);
        }
    }

    fn record_call(&mut self, agent: Agent, call: CallId, op: &Op) {
        let client = self.client(agent);
        client.in_flight += 1;
        let parallel = client.in_flight > 1;
        if op.kind() == OpKind::Check {
            client.last_check = Some(call);
        }
        self.reach_if(parallel, Point::Parallel);
    }

    fn answered(
        &mut self,
        record: &Record<'_>,
        (call, called_at): (CallId, Time),
        op: &Op,
        outcome: &Outcome,
    ) {
        let client = self.client(record.agent);
        client.in_flight = client.in_flight.saturating_sub(1);
        let retried = client.retried.contains(&call);
        self.reach_if(retried && outcome.is_ok(), Point::RetrySucceeded);
        let is_outside = record.user.is_none() && outcome.is_err();
        self.reach_if(is_outside, Point::TurnedAway);
        match outcome {
            Ok(Response::Read(Answer::Page { notices, .. })) => {
                let by_reader = matches!(op, Op::Read { by, .. } if *by == ReadBy::ReaderId);
                self.reach_if(by_reader, Point::ReadByReader);
                self.reach_if(!notices.is_empty(), Point::Noticed);
                self.record_check(record, (call, called_at), op.hold());
            }
            Ok(answer) => {
                let is_held = record.at.since(called_at) >= HELD;
                self.reach_if(op.kind() == OpKind::Break && is_held, Point::BreakHeld);
                self.record_accepted(record.agent, op, answer);
            }
            Err(refusal) => {
                self.client(record.agent).checked = None;
                self.record_refusal(refusal);
            }
        }
    }

    /// Counts the levels in an answer.
    fn record_levels(&mut self, agent: Agent, stress: u8, boss_alert: u8) {
        let client = self.client(agent);
        let before = std::mem::replace(&mut client.boss_alert, boss_alert);
        self.reach_if(stress == 100, Point::StressFull);
        self.reach_if(boss_alert == 5 && before < 5, Point::BossAlarmed);
        self.reach_if(boss_alert < before, Point::BossCalmed);
    }

    fn record_check(&mut self, record: &Record<'_>, (call, called_at): (CallId, Time), wait: Span) {
        let jumped = self.jumped;
        let client = self.client(record.agent);
        let newest = client.checked.take();
        let superseded = client.last_check.is_some_and(|last| last > call);
        if wait > Span::ZERO {
            // An event that is newer than the check has ended its wait.
            let is_woken = newest.is_some_and(|newest| newest > called_at + jumped);
            self.reach_if(is_woken, Point::CheckWoken);
            let is_early = newest.is_none() && record.at < called_at + wait;
            self.reach_if(superseded && is_early, Point::CheckSuperseded);
        }
    }

    fn record_accepted(&mut self, agent: Agent, op: &Op, answer: &Response) {
        let forgot = std::mem::take(&mut self.client(agent).forgot);
        self.reach_if(forgot, Point::HandleForgotten);
        match answer {
            Response::Done(reply) => self.record_reply(agent, op, reply),
            Response::Read(Answer::Mood { stress, boss_alert }) => {
                self.record_levels(agent, *stress, *boss_alert);
            }
            Response::Read(Answer::History { messages, .. }) => {
                self.reach_if(!messages.is_empty(), Point::HistoryRead);
            }
            Response::Read(Answer::Members { .. }) => self.tally.reach(Point::UsersListed),
            Response::Read(_) | Response::Streaming => {}
        }
    }

    fn record_reply(&mut self, agent: Agent, op: &Op, reply: &Reply) {
        let client = self.client(agent);
        match reply {
            Reply::Waiting { .. } => client.was_told_to_wait = true,
            Reply::Matched { room, partner, .. } => self.record_match(agent, *room, partner.id),
            Reply::LeftQueue {
                left: WasWaiting::Yes,
            } => {
                client.was_told_to_wait = false;
                self.tally.reach(Point::QueueLeft);
            }
            Reply::Stick { place, epoch, .. } => {
                if *place == 0 {
                    client.epoch = client.epoch.max(epoch.0);
                    client.waits_for_stick = false;
                } else {
                    client.waits_for_stick = true;
                }
            }
            Reply::Draft { length, cut, .. } => {
                if *length == 0 {
                    client.draft_epoch = None;
                } else if op.kind() == OpKind::Append {
                    client.draft_epoch.get_or_insert(client.epoch);
                }
                self.reach_if(*cut > 0, Point::AppendCut);
            }
            Reply::Sent { .. } if op.kind() == OpKind::Push => {
                let began = client.draft_epoch.take();
                let outlived = began.is_some_and(|began| began != client.epoch);
                self.reach_if(outlived, Point::DraftOutlivedStick);
            }
            Reply::OnBreak {
                stress, boss_alert, ..
            } => self.record_levels(agent, *stress, *boss_alert),
            Reply::Done if *op == Op::Command(Command::Unregister) => {
                self.tally.reach(Point::Unregistered)
            }
            Reply::Done if op.kind() == OpKind::Report => self.tally.reach(Point::Reported),
            Reply::LeftQueue {
                left: WasWaiting::No,
            }
            | Reply::LoggedIn { .. }
            | Reply::Sent { .. }
            | Reply::LeftChat
            | Reply::Done
            | Reply::Lifted { .. } => {}
        }
    }

    /// Counts a refusal in a history. The world counts those that clients retry without a record,
    /// and answers from memory.
    fn record_refusal(&mut self, refusal: &Refusal) {
        let point = match refusal.code {
            "stick_required" => Point::StickRefused,
            "chat_ended" => Point::ChatEnded,
            "unknown_handle" => Point::UnknownHandle,
            "name_taken" => Point::NameTaken,
            "room_full" => Point::RoomFull,
            "name_not_allowed" => Point::NameRefused,
            "user_id_taken" => Point::IdTaken,
            "message_too_long" => Point::MessageTooLong,
            _ => return,
        };
        self.tally.reach(point);
    }

    fn record_match(&mut self, agent: Agent, room: Room, partner: User) {
        let client = self.client(agent);
        if client.last_match == Some(room) {
            return;
        }
        client.last_match = Some(room);
        let again = client.last_partner.replace(partner) == Some(partner);
        let waited = std::mem::take(&mut client.was_told_to_wait);
        // No event of a room has the position 0, which identifies the match itself.
        self.once((room, 0), Point::Match);
        if again {
            self.once((room, u64::MAX), Point::Rematch);
        }
        self.reach_if(waited, Point::MatchAfterWait);
    }

    fn received(
        &mut self,
        record: &Record<'_>,
        sent_at: Time,
        (event, path, first): (InboxEvent<'_>, DeliveryPath, bool),
    ) {
        if path == DeliveryPath::Check {
            let client = self.client(record.agent);
            client.checked = client.checked.max(Some(sent_at));
        }
        if !first {
            return self.tally.reach(Point::Redelivered);
        }
        self.reach_if(path == DeliveryPath::Check, Point::ByCheck);
        let InboxEvent::Event(event) = event else {
            return self.tally.reach(Point::Gap);
        };
        let point = match &event.body {
            Body::Message { text, .. } => {
                return self.reach_if(!text.is_ascii(), Point::BeyondAscii);
            }
            Body::Found(_) => {
                let partner = event.about(record.user.unwrap_or_default());
                let partner = partner.map(|who| who.id).unwrap_or_default();
                return self.record_match(record.agent, event.room, partner);
            }
            Body::StickGranted { user, epoch, .. } => {
                if record.user == Some(user.id) {
                    let client = self.client(record.agent);
                    client.epoch = client.epoch.max(epoch.0);
                    let waited = std::mem::take(&mut client.waits_for_stick);
                    self.reach_if(waited, Point::StickWaited);
                }
                return;
            }
            Body::PartnerDisconnected(EndReason::Timeout) => Point::PartnerTimeout,
            Body::PartnerDisconnected(EndReason::TurnLimit) => Point::TurnLimit,
            Body::PartnerDisconnected(EndReason::Blocked) => Point::Blocked,
            Body::PartnerAway(_) => Point::PartnerAway,
            Body::PartnerReconnected(_) => Point::ReconnectInGrace,
            Body::Away(_) => Point::Away,
            Body::Back(_) => Point::Back,
            Body::StickExpired { .. } => Point::StickExpired,
            Body::Muted { .. } => Point::Muted,
            Body::Kicked { .. } => Point::Kicked,
            Body::Closed { .. } => Point::RoomClosed,
            Body::PartnerDisconnected(EndReason::Left | EndReason::Closed)
            | Body::Joined(_)
            | Body::Left(_)
            | Body::StickClaimed { .. }
            | Body::StickReleased { .. } => return,
        };
        self.once((event.room, event.room_seq.0), point);
    }
}

/// Remembers a call, in place of the oldest one.
fn remember(calls: &mut Vec<CallId>, call: CallId) {
    if !calls.contains(&call) {
        if calls.len() == REMEMBERED {
            calls.remove(0);
        }
        calls.push(call);
    }
}
