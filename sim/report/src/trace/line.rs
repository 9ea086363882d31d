//! One line of a trace. The order of the fields is the order in the file.

use std::collections::BTreeMap;

use chat_types::{Span, Time};
use serde::Serialize;

use sim_model::history::{
    ClientEvent, ClusterEvent, DeliveryPath, Record, WorldRecord, server_name,
};
use sim_model::plan::Outage;
use sim_model::protocol::{
    Answer, Body, CallId, Command, InboxEvent, Op, Outcome, Read, Reply, Response, Room, User,
};

/// The most characters of a text in a trace.
const TEXT_LIMIT: usize = 80;

/// The fields of a line; fields that do not apply are omitted.
#[derive(Debug, Default, Serialize)]
pub(super) struct TraceLine<'a> {
    t_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<u32>,
    /// The user's name in the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    verb: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    room: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    room_seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    /// The participant it is about: the sender, the partner, the holder, or the new name.
    #[serde(skip_serializing_if = "Option::is_none")]
    who: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stress: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    boss_alert: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'static str>,
    /// Written only if false: the client already had this event.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_ms: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rooms: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    sizes: BTreeMap<&'static str, [u64; 2]>,
}

fn milliseconds(span: Span) -> f64 {
    span.0 as f64 / 1_000.0
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT_LIMIT) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

impl<'a> TraceLine<'a> {
    /// What a client did or observed.
    pub(super) fn of(record: &Record<'a>, start: Time) -> Self {
        let mut line = Self {
            t_ms: milliseconds(record.at.since(start)),
            agent: Some(record.agent.0),
            name: Some(record.name),
            user: record.user.map(|user| user.to_string()),
            kind: kind_of(&record.what),
            ..Self::default()
        };
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
                line.seq = Some(seq);
                line.path = Some(match path {
                    DeliveryPath::Stream => "stream",
                    DeliveryPath::Check => "check",
                });
                line.first = (!first).then_some(false);
                line.add_event(event, record.user);
            }
            ClientEvent::Stuck { waiting_for } => line.reason = Some(waiting_for),
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
    pub(super) fn of_world(record: &WorldRecord<'a>, start: Time) -> Self {
        let mut line = Self {
            kind: "world",
            ..Self::default()
        };
        let (at, event, reason) = match *record {
            WorldRecord::Down { at, how } => match how {
                Outage::Stop => (at, "stopped", None),
                Outage::Crash => (at, "crashed", None),
                Outage::CrashUnsynced => (at, "crashed", Some("unsynced entries are lost")),
            },
            WorldRecord::Restarted { at } => (at, "restarted", None),
            WorldRecord::Cluster { at, server, what } => {
                line.who = Some(server_name(server));
                if let ClusterEvent::BecameOwner { epoch } = what {
                    line.epoch = Some(epoch);
                }
                (at, what.name(), None)
            }
            WorldRecord::ClockJumped { at, by } => {
                line.by_ms = Some(milliseconds(by));
                (at, "clock_jumped", None)
            }
            WorldRecord::DiskDamaged { at, damage } => (at, "disk_damaged", Some(damage)),
            WorldRecord::StartRefused { at, why } => (at, "start_refused", Some(why)),
            WorldRecord::Operated {
                at,
                verb,
                user,
                room,
            } => {
                line.verb = Some(verb);
                line.who = user.map(|user| user.to_string());
                line.room = room.map(|room| room.to_string());
                (at, "operated", None)
            }
            WorldRecord::FaultMade { at, name } => (at, "fault_made", Some(name)),
            WorldRecord::FaultMended { at, name } => (at, "fault_mended", Some(name)),
            WorldRecord::Healed { at } => (at, "healed", None),
            WorldRecord::Sizes { at, sizes, .. } => {
                let sizes = sizes.iter();
                let sizes = sizes.map(|&(name, size, limit)| (name, [size, limit]));
                line.sizes = sizes.collect();
                (at, "sizes", None)
            }
            WorldRecord::Ended { at } => (at, "ended", None),
        };
        Self {
            t_ms: milliseconds(at.since(start)),
            event: Some(event),
            reason,
            ..line
        }
    }

    /// Whether it happened in this room.
    pub(super) fn is_in(&self, room: Room) -> bool {
        let room = room.to_string();
        self.room.as_ref() == Some(&room) || self.rooms.contains(&room)
    }

    fn add_call(&mut self, call: CallId, op: &Op) {
        self.call = Some(call.0);
        self.verb = Some(op.verb());
        self.room = op.room().flatten().map(|room| room.to_string());
    }

    fn add_op(&mut self, call: CallId, op: &'a Op) {
        self.add_call(call, op);
        self.epoch = op.epoch().map(|epoch| epoch.0);
        self.who = op.about().map(|user| user.to_string());
        self.text = op.text().map(|text| cut(text));
        if let Op::Command(Command::ReportUser { reason, .. }) = op {
            self.reason = Some(reason);
        } else if let Op::Command(Command::Login { username, room }) = op {
            self.who = Some(username.to_string());
            self.text = Some(cut(room));
        } else if let Op::Command(Command::TakeBreak { kind, excuse }) = op {
            self.reason = Some(kind.name());
            self.text = excuse.as_deref().map(cut);
        } else if let Op::Read { read, .. } = op
            && let Read::Check { after, .. } = read
        {
            self.seq = after.map(|after| after.0);
        }
    }

    fn add_outcome(&mut self, outcome: &Outcome) {
        let answer = match outcome {
            Ok(answer) => answer,
            Err(refusal) => {
                self.outcome = Some("refused");
                self.code = Some(refusal.code);
                return;
            }
        };
        self.outcome = Some("accepted");
        match answer {
            Response::Done(reply) => self.add_reply(reply),
            Response::Read(Answer::Page { page, .. }) => self.seq = Some(page.cursor.0),
            Response::Read(Answer::Mood { stress, boss_alert }) => {
                self.add_mood(*stress, *boss_alert);
            }
            Response::Read(Answer::History { room, .. } | Answer::Members { room, .. }) => {
                self.room = Some(room.to_string());
            }
            Response::Streaming => {}
        }
    }

    fn add_mood(&mut self, stress: u8, boss_alert: u8) {
        self.stress = Some(stress);
        self.boss_alert = Some(boss_alert);
    }

    fn add_reply(&mut self, reply: &Reply) {
        match reply {
            Reply::Waiting { position, .. } => self.place = Some(*position),
            Reply::Matched { room, partner, .. } => {
                self.room = Some(room.to_string());
                self.who = Some(partner.id.to_string());
            }
            Reply::LoggedIn { room, .. } => self.room = Some(room.to_string()),
            Reply::Sent { room, room_seq, .. } => {
                self.room = Some(room.to_string());
                self.room_seq = Some(room_seq.0);
            }
            Reply::Stick {
                room, place, epoch, ..
            } => {
                self.room = Some(room.to_string());
                self.place = Some(*place);
                self.epoch = Some(epoch.0);
            }
            Reply::OnBreak {
                stress, boss_alert, ..
            } => self.add_mood(*stress, *boss_alert),
            Reply::LeftQueue { .. }
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
    fn add_event(&mut self, event: InboxEvent<'a>, reader: Option<User>) {
        self.event = Some(event.kind());
        let event = match event {
            InboxEvent::Event(event) => event,
            InboxEvent::Gap(gap) => {
                self.lost = Some(gap.lost());
                self.rooms = gap
                    .rooms
                    .iter()
                    .map(|range| range.room.to_string())
                    .collect();
                return;
            }
        };
        self.room = Some(event.room.to_string());
        self.room_seq = Some(event.room_seq.0);
        let who = event.about(reader.unwrap_or_default());
        self.who = who.map(|who| who.id.to_string());
        match &event.body {
            Body::Message { text, epoch, .. } => {
                self.text = Some(cut(text));
                self.epoch = epoch.map(|epoch| epoch.0);
            }
            Body::PartnerDisconnected(reason) => self.reason = Some(reason.as_str()),
            Body::PartnerAway(_) | Body::PartnerReconnected(_) => self.who = None,
            Body::StickClaimed { place, .. } => self.place = Some(*place),
            Body::StickGranted { epoch, .. }
            | Body::StickReleased { epoch, .. }
            | Body::StickExpired { epoch, .. } => self.epoch = Some(epoch.0),
            _ => {}
        }
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
