//! Records in a few words, for people; and outcomes in a number, for the trace hash.

use std::sync::Arc;

use chat_types::{mix, mix_bytes};

use crate::history::{ClientEvent, WakerRecord, WorldRecord, server_name};
use crate::plan::Delivery;
use crate::protocol::{
    Answer, Body, Command, InboxEvent, Op, Outcome, Reply, Response, Room, User, WasWaiting, Who,
};

/// The mark of what is as it should be; that of what broke is another.
pub const FINE: &str = "·";

/// A client's action or observation with its mark; none for those that would only fill a page: polls,
/// whose events are shown.
#[must_use]
pub fn client(what: &ClientEvent<'_>, me: Option<User>) -> Option<(&'static str, String)> {
    const BROKEN: &str = "✗";
    Some(match what {
        ClientEvent::Called { op, .. } => {
            return (op.verb() != "check").then(|| ("→", called(op)));
        }
        ClientEvent::Retried { op, .. } => {
            return (op.verb() != "check").then(|| ("→", format!("{} again", op.verb())));
        }
        ClientEvent::Answered { op, outcome, .. }
        | ClientEvent::AnsweredAgain { op, outcome, .. } => {
            return answered(op, outcome).map(|words| ("←", words));
        }
        ClientEvent::Abandoned { op, .. } => (BROKEN, format!("gave up {}", op.verb())),
        ClientEvent::Received { event, .. } => ("←", event_words(*event, me)),
        ClientEvent::StreamOpened => (FINE, "stream open".to_owned()),
        ClientEvent::StreamClosed => (BROKEN, "stream closed".to_owned()),
        ClientEvent::Forgot { .. } => (BROKEN, "forgot its handle".to_owned()),
        ClientEvent::Vanished => (BROKEN, "gone for good".to_owned()),
        ClientEvent::Finished { .. } => (FINE, "flow finished".to_owned()),
        ClientEvent::Drained => (FINE, "inbox drained".to_owned()),
        ClientEvent::Stuck { waiting_for } => (BROKEN, format!("stuck, no {waiting_for}")),
    })
}

/// A report of the world, if it explains clients' observations.
#[must_use]
pub fn world(record: &WorldRecord<'_>) -> Option<String> {
    match record {
        WorldRecord::Down { how } => Some(format!("server down: {}", how.name())),
        WorldRecord::Restarted => Some("server up again".to_owned()),
        WorldRecord::ClockJumped { by } => Some(format!("server clock jumped by {by}")),
        WorldRecord::Cluster { server, what } => {
            Some(format!("{} {}", server_name(*server), what.words()))
        }
        WorldRecord::DiskDamaged { damage } => Some(format!("disk damaged: {damage}")),
        WorldRecord::StartRefused { why } => Some(format!("server start refused: {why}")),
        WorldRecord::Operated { verb, user, .. } => Some(match user {
            Some(user) => format!("operator: {verb} user_{}", user.0),
            None => format!("operator: {verb}"),
        }),
        WorldRecord::FaultMade { name } => Some(format!("fault: {name}")),
        WorldRecord::FaultMended { name } => Some(format!("mended: {name}")),
        WorldRecord::Healed => Some("all faults healed".to_owned()),
        WorldRecord::Waker { what, .. } => waker(what),
        WorldRecord::Sizes { .. } | WorldRecord::Ended => None,
    }
}

/// A report of a waker, if it explains what its user does.
#[must_use]
pub fn waker(record: &WakerRecord<'_>) -> Option<String> {
    match record {
        WakerRecord::Knocked { last, fate } => Some(match fate {
            Delivery::After(_) => format!("knock for all up to #{last}"),
            Delivery::Lost => format!("knock for all up to #{last}, lost at the door"),
        }),
        WakerRecord::Crashed => Some("waker crashed".to_owned()),
        WakerRecord::Started { .. } => Some("waker started".to_owned()),
        WakerRecord::Read { .. }
        | WakerRecord::Unanswered
        | WakerRecord::Kept
        | WakerRecord::Ended => None,
    }
}

/// A call: its verb and its arguments.
#[must_use]
pub fn called(op: &Op) -> String {
    let verb = op.verb();
    if let Some(text) = op.text() {
        return format!("{verb} {}", quoted(text));
    }
    if let Some(user) = op.about() {
        return format!("{verb} {user}");
    }
    if let Op::Command(Command::Login { room, .. }) = op {
        return format!("{verb} {room}");
    }
    if let Op::Command(Command::TakeBreak { kind, .. }) = op {
        return format!("{verb}: {}", kind.name());
    }
    verb.to_owned()
}

/// A call's answer; none for a read, whose events are shown.
#[must_use]
pub fn answered(op: &Op, outcome: &Outcome) -> Option<String> {
    match outcome {
        Err(refusal) => Some(format!("{} refused: {}", op.verb(), refusal.code)),
        Ok(Response::Done(Reply::Done)) => Some(format!("{} done", op.verb())),
        Ok(Response::Read(Answer::Page { .. })) => None,
        Ok(response) => Some(response_words(response)),
    }
}

/// A description of an answer.
#[must_use]
pub fn response_words(response: &Response) -> String {
    match response {
        Response::Done(reply) => reply_words(reply),
        Response::Read(Answer::Page { page, .. }) => format!("read up to {}", page.cursor),
        Response::Read(Answer::History { messages, .. }) => {
            format!("{} past messages", messages.len())
        }
        Response::Read(Answer::Members { members, .. }) => format!("{} members", members.len()),
        Response::Read(Answer::Mood { stress, boss_alert }) => mood_words(*stress, *boss_alert),
        Response::Streaming => "streaming".to_owned(),
    }
}

/// The outcome as a number, for the trace hash.
#[must_use]
pub fn outcome_word(outcome: &Outcome) -> u64 {
    let mood = |stress: u8, boss_alert: u8| (u64::from(stress) << 8) ^ u64::from(boss_alert);
    let list = |room: Room, length: usize| (room.0 << 32) ^ ((length as u64) << 8);
    match outcome {
        Err(refusal) => mix_bytes(9, refusal.code.as_bytes()),
        Ok(Response::Done(reply)) => match reply {
            Reply::Sent { room, room_seq, .. } => (room.0 << 32) ^ room_seq.0 ^ 1,
            Reply::Stick { epoch, place, .. } => (epoch.0 << 32) ^ u64::from(*place) ^ 2,
            Reply::Matched { room, partner, .. } => (room.0 << 32) ^ partner.id.0 ^ 3,
            Reply::Waiting { position, .. } => (u64::from(*position) << 8) ^ 5,
            Reply::LoggedIn { user, room } => (room.0 << 32) ^ user.0 ^ 6,
            Reply::Draft { length, .. } => (u64::from(*length) << 8) ^ 7,
            Reply::LeftQueue { .. } | Reply::LeftChat | Reply::Done | Reply::Lifted { .. } => 8,
            Reply::OnBreak {
                user,
                stress,
                boss_alert,
                flavour,
                ..
            } => {
                let mood = mood(*stress, *boss_alert) << 16;
                (user.0 << 32) ^ u64::from(*flavour) ^ mood ^ 10
            }
        },
        Ok(Response::Streaming) => 8,
        Ok(Response::Read(answer)) => match answer {
            Answer::Page { page, .. } => (page.cursor.0 << 8) ^ 4,
            Answer::Mood { stress, boss_alert } => (mood(*stress, *boss_alert) << 8) ^ 11,
            Answer::History { room, messages, .. } => list(*room, messages.len()) ^ 12,
            Answer::Members { room, members } => {
                let read = members.iter().map(|member| member.read_to.0);
                list(*room, members.len()) ^ read.fold(13, mix)
            }
        },
    }
}

/// A description of the answer to a command.
#[must_use]
pub fn reply_words(reply: &Reply) -> String {
    match reply {
        Reply::Waiting { position, .. } => format!("waiting, place {position}"),
        Reply::Matched { room, partner, .. } => {
            format!("matched with {}, {room}", partner.id)
        }
        Reply::LeftQueue { left } => match left {
            WasWaiting::Yes => "left the line".to_owned(),
            WasWaiting::No => "was not in the line".to_owned(),
        },
        Reply::LoggedIn { user, room } => format!("is {user} in {room}"),
        Reply::Sent { room_seq, .. } => format!("accepted, room_seq {room_seq}"),
        Reply::LeftChat => "left the chat".to_owned(),
        Reply::Stick {
            place: 0, epoch, ..
        } => format!("holds the stick, epoch {epoch}"),
        Reply::Stick { place, .. } => format!("waits for the stick, place {place}"),
        Reply::Draft { length, .. } => format!("draft of {length}"),
        Reply::OnBreak {
            stress, boss_alert, ..
        } => mood_words(*stress, *boss_alert),
        Reply::Done | Reply::Lifted { found: true } => "done".to_owned(),
        Reply::Lifted { found: false } => "nothing to lift".to_owned(),
    }
}

fn mood_words(stress: u8, boss_alert: u8) -> String {
    format!("stress {stress}, boss {boss_alert}")
}

/// An event as its reader `me` sees it.
#[must_use]
pub fn event_words(event: InboxEvent<'_>, me: Option<User>) -> String {
    let name = |who: &Arc<Who>| {
        if Some(who.id) == me {
            "me".to_owned()
        } else {
            who.id.to_string()
        }
    };
    let event = match event {
        InboxEvent::Event(event) => event,
        InboxEvent::Gap(gap) => return format!("gap, {} events gone", gap.lost()),
    };
    match &event.body {
        Body::Found(pair) => {
            let partner = pair.iter().find(|who| Some(who.id) != me);
            let partner = partner.map_or_else(String::new, name);
            format!("found {partner}, {}", event.room)
        }
        Body::Message { sender, text, .. } => {
            format!(
                "message {} from {}: {}",
                event.room_seq,
                name(sender),
                quoted(text)
            )
        }
        Body::PartnerDisconnected(reason) => format!("chat ended ({})", reason.name()),
        Body::PartnerAway(_) => "partner away".to_owned(),
        Body::PartnerReconnected(_) => "partner back".to_owned(),
        Body::Joined(who) => format!("{} joined", name(who)),
        Body::Left(who) => format!("{} left", name(who)),
        Body::Away(who) => format!("{} away", name(who)),
        Body::Back(who) => format!("{} back", name(who)),
        Body::StickClaimed { user, place } => {
            format!("stick claimed by {}, place {place}", name(user))
        }
        Body::StickGranted { user, epoch, .. } => {
            format!("stick granted to {}, epoch {epoch}", name(user))
        }
        Body::StickReleased { user, epoch } => {
            format!("stick released by {}, epoch {epoch}", name(user))
        }
        Body::StickExpired { user, epoch } => {
            format!("stick of {} expired, epoch {epoch}", name(user))
        }
        Body::Muted { user, .. } => format!("operator muted {}", name(user)),
        Body::Kicked { user, .. } => format!("operator kicked {}", name(user)),
        Body::Closed { .. } => "operator closed the room".to_owned(),
    }
}

fn quoted(text: &str) -> String {
    let shown: String = text.chars().take(24).collect();
    let dots = if shown.len() < text.len() { "…" } else { "" };
    format!("{:?}", format!("{shown}{dots}"))
}
