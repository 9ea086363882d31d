//! One line of a trace.

use std::collections::BTreeMap;

use chat_types::{Span, Time};
use serde::Serialize;
use serde_json::{Value, json};

use sim_model::history::{
    ClientEvent, ClusterEvent, Record, WakerRecord, WorldRecord, server_name,
};
use sim_model::outcome::START;
use sim_model::plan::Outage;
use sim_model::protocol::{
    Answer, Body, CallId, Command, InboxEvent, Op, Outcome, Read, Reply, Response, Room, User,
};

/// The most characters of a text in a trace.
const TEXT_LIMIT: usize = 80;

/// The fields of a line, in the order in which they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Field {
    TMs,
    Agent,
    /// The user's name in the scenario.
    Name,
    User,
    Kind,
    Verb,
    Event,
    Room,
    RoomSeq,
    Seq,
    Call,
    Outcome,
    Code,
    /// The participant it is about: the sender, the partner, the holder, or the new name.
    Who,
    Epoch,
    Place,
    Stress,
    BossAlert,
    Reason,
    Text,
    Path,
    /// Written only if false: the client already had this event.
    First,
    Lost,
    ByMs,
    Rooms,
    Sizes,
}

/// A line. Fields that do not apply are omitted.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(super) struct TraceLine(BTreeMap<Field, Value>);

fn milliseconds(span: Span) -> f64 {
    span.0 as f64 / 1_000.0
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT_LIMIT) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

impl TraceLine {
    /// Sets a field, unless there is nothing to write.
    fn set(&mut self, field: Field, value: impl Into<Value>) {
        let value = value.into();
        if ![Value::Null, json!([]), json!({})].contains(&value) {
            self.0.insert(field, value);
        }
    }

    /// What a client did or observed.
    pub(super) fn of(record: &Record<'_>) -> Self {
        let mut line = Self::default();
        line.set(Field::TMs, milliseconds(record.at.since(START)));
        line.set(Field::Agent, record.agent.0);
        line.set(Field::Name, record.name);
        line.set(Field::User, record.user.map(|user| user.to_string()));
        line.set(Field::Kind, kind_of(&record.what));
        match record.what {
            ClientEvent::Called { call, op, .. } | ClientEvent::Abandoned { call, op } => {
                line.add_op(call, op)
            }
            ClientEvent::Retried { call, op, .. } => line.add_call(call, op),
            ClientEvent::Answered {
                call, op, outcome, ..
            }
            | ClientEvent::AnsweredAgain { call, op, outcome } => {
                line.add_call(call, op);
                line.add_outcome(outcome);
            }
            ClientEvent::Received {
                seq,
                event,
                path,
                first,
                ..
            } => {
                line.set(Field::Seq, seq);
                line.set(Field::Path, path.name());
                line.set(Field::First, (!first).then_some(false));
                line.add_event(event, record.user);
            }
            ClientEvent::Stuck { waiting_for } => line.set(Field::Reason, waiting_for),
            ClientEvent::StreamOpened
            | ClientEvent::StreamClosed
            | ClientEvent::Forgot { .. }
            | ClientEvent::Vanished
            | ClientEvent::Finished { .. }
            | ClientEvent::Drained => {}
        }
        line
    }

    /// What the world did.
    pub(super) fn of_world(at: Time, record: &WorldRecord<'_>) -> Self {
        let mut line = Self::default();
        let (event, reason) = match *record {
            WorldRecord::Down { how } => match how {
                Outage::Stop => ("stopped", None),
                Outage::Crash => ("crashed", None),
                Outage::CrashUnsynced => ("crashed", Some("unsynced entries are lost")),
            },
            WorldRecord::Restarted => ("restarted", None),
            WorldRecord::Cluster { server, what } => {
                line.set(Field::Who, server_name(server));
                if let ClusterEvent::BecameOwner { epoch } = what {
                    line.set(Field::Epoch, epoch);
                }
                (what.name(), None)
            }
            WorldRecord::ClockJumped { by } => {
                line.set(Field::ByMs, milliseconds(by));
                ("clock_jumped", None)
            }
            WorldRecord::DiskDamaged { damage } => ("disk_damaged", Some(damage)),
            WorldRecord::StartRefused { why } => ("start_refused", Some(why)),
            WorldRecord::Operated { verb, user, room } => {
                line.set(Field::Verb, verb);
                line.set(Field::Who, user.map(|user| user.to_string()));
                line.add_room(room);
                ("operated", None)
            }
            WorldRecord::Waker { agent, what } => {
                line.set(Field::Who, agent.0);
                if let WakerRecord::Knocked { last, .. } = *what {
                    line.set(Field::Seq, last);
                }
                (what.name(), None)
            }
            WorldRecord::FaultMade { name } => ("fault_made", Some(name)),
            WorldRecord::FaultMended { name } => ("fault_mended", Some(name)),
            WorldRecord::Healed => ("healed", None),
            WorldRecord::Sizes { sizes, .. } => {
                let sizes = sizes.iter();
                let sizes = sizes.map(|(name, size, limit)| (*name, json!([size, limit])));
                line.set(Field::Sizes, sizes.collect::<Value>());
                ("sizes", None)
            }
            WorldRecord::Ended => ("ended", None),
        };
        line.set(Field::TMs, milliseconds(at.since(START)));
        line.set(Field::Kind, "world");
        line.set(Field::Event, event);
        line.set(Field::Reason, reason);
        line
    }

    /// Whether it happened in this room.
    pub(super) fn is_in(&self, room: Room) -> bool {
        let room = Value::from(room.to_string());
        let rooms = self.0.get(&Field::Rooms).and_then(Value::as_array);
        self.0.get(&Field::Room) == Some(&room) || rooms.is_some_and(|all| all.contains(&room))
    }

    fn add_call(&mut self, call: CallId, op: &Op) {
        self.set(Field::Call, call.0);
        self.set(Field::Verb, op.verb());
        self.add_room(op.room().flatten());
    }

    fn add_room(&mut self, room: Option<Room>) {
        self.set(Field::Room, room.map(|room| room.to_string()));
    }

    fn add_op(&mut self, call: CallId, op: &Op) {
        self.add_call(call, op);
        self.set(Field::Epoch, op.epoch().map(|epoch| epoch.0));
        self.set(Field::Who, op.about().map(|user| user.to_string()));
        self.set(Field::Text, op.text().map(|text| cut(text)));
        if let Op::Command(Command::ReportUser { reason, .. }) = op {
            self.set(Field::Reason, &**reason);
        } else if let Op::Command(Command::Login { username, room }) = op {
            self.set(Field::Who, &**username);
            self.set(Field::Text, cut(room));
        } else if let Op::Command(Command::TakeBreak { kind, excuse }) = op {
            self.set(Field::Reason, kind.name());
            self.set(Field::Text, excuse.as_deref().map(cut));
        } else if let Op::Read { read, .. } = op
            && let Read::Check { after, .. } = read
        {
            self.set(Field::Seq, after.map(|after| after.0));
        }
    }

    fn add_outcome(&mut self, outcome: &Outcome) {
        let answer = match outcome {
            Ok(answer) => answer,
            Err(refusal) => {
                self.set(Field::Outcome, "refused");
                return self.set(Field::Code, refusal.code);
            }
        };
        self.set(Field::Outcome, "accepted");
        match answer {
            Response::Done(reply) => self.add_reply(reply),
            Response::Read(Answer::Page { page, .. }) => self.set(Field::Seq, page.cursor.0),
            Response::Read(Answer::Mood { stress, boss_alert }) => {
                self.add_mood(*stress, *boss_alert);
            }
            Response::Read(answer) => self.add_room(answer.room()),
            Response::Streaming => {}
        }
    }

    fn add_mood(&mut self, stress: u8, boss_alert: u8) {
        self.set(Field::Stress, stress);
        self.set(Field::BossAlert, boss_alert);
    }

    fn add_reply(&mut self, reply: &Reply) {
        self.add_room(reply.room());
        match reply {
            Reply::Waiting { position, .. } => self.set(Field::Place, *position),
            Reply::Matched { partner, .. } => self.set(Field::Who, partner.id.to_string()),
            Reply::Sent { room_seq, .. } => self.set(Field::RoomSeq, room_seq.0),
            Reply::Stick { place, epoch, .. } => {
                self.set(Field::Place, *place);
                self.set(Field::Epoch, epoch.0);
            }
            Reply::OnBreak {
                stress, boss_alert, ..
            } => self.add_mood(*stress, *boss_alert),
            Reply::LoggedIn { .. }
            | Reply::LeftQueue { .. }
            | Reply::LeftChat
            | Reply::Draft { .. }
            | Reply::Done
            | Reply::Lifted { .. } => {}
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "all others say no more than whom they are about"
    )]
    fn add_event(&mut self, event: InboxEvent<'_>, reader: Option<User>) {
        self.set(Field::Event, event.kind());
        let event = match event {
            InboxEvent::Event(event) => event,
            InboxEvent::Gap(gap) => {
                self.set(Field::Lost, gap.lost());
                let rooms = gap.rooms.iter().map(|range| range.room.to_string());
                return self.set(Field::Rooms, rooms.collect::<Value>());
            }
        };
        self.add_room(Some(event.room));
        self.set(Field::RoomSeq, event.room_seq.0);
        let mut who = event.about(reader.unwrap_or_default());
        match &event.body {
            Body::Message { text, epoch, .. } => {
                self.set(Field::Text, cut(text));
                self.set(Field::Epoch, epoch.map(|epoch| epoch.0));
            }
            Body::PartnerDisconnected(reason) => self.set(Field::Reason, reason.name()),
            Body::PartnerAway(_) | Body::PartnerReconnected(_) => who = None,
            Body::StickClaimed { place, .. } => self.set(Field::Place, *place),
            Body::StickGranted { epoch, .. }
            | Body::StickReleased { epoch, .. }
            | Body::StickExpired { epoch, .. } => self.set(Field::Epoch, epoch.0),
            _ => {}
        }
        self.set(Field::Who, who.map(|who| who.id.to_string()));
    }
}

fn kind_of(what: &ClientEvent<'_>) -> &'static str {
    match what {
        ClientEvent::Called { .. } => "called",
        ClientEvent::Retried { .. } => "retried",
        ClientEvent::Answered { .. } => "answered",
        ClientEvent::AnsweredAgain { .. } => "answered_again",
        ClientEvent::Abandoned { .. } => "abandoned",
        ClientEvent::Received { .. } => "received",
        ClientEvent::StreamOpened => "stream_opened",
        ClientEvent::StreamClosed => "stream_closed",
        ClientEvent::Forgot { .. } => "forgot",
        ClientEvent::Vanished => "vanished",
        ClientEvent::Finished { .. } => "finished",
        ClientEvent::Drained => "drained",
        ClientEvent::Stuck { .. } => "stuck",
    }
}
