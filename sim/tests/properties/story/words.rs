//! Calls, answers and events, as short as stories want to tell them.

use chat_core::{Span, Time};
use sim::protocol::{
    Agent, Answer, EndReason, Moderated, Op, Presence, ReadBy, Refusal, Room, Saw, Shown,
    StickChange,
};
use std::sync::Arc;

use super::{LOBBY, user};

pub(crate) fn refusal(code: &'static str) -> Refusal {
    Refusal {
        code,
        retry_after: None,
    }
}

pub(crate) fn enter_queue(interests: &[&str]) -> Op {
    Op::EnterQueue {
        user_id: None,
        display_name: Some("somebody".into()),
        interests: interests.iter().map(|&one| Arc::from(one)).collect(),
    }
}

pub(crate) fn send(room: Room, text: &str) -> Op {
    Op::Send {
        room: Some(room),
        text: text.into(),
        epoch: None,
    }
}

pub(crate) fn send_under(epoch: u64, text: &str) -> Op {
    Op::Send {
        room: Some(LOBBY),
        text: text.into(),
        epoch: Some(epoch),
    }
}

pub(crate) fn append(text: &str) -> Op {
    Op::Append {
        room: Some(LOBBY),
        text: text.into(),
        epoch: None,
    }
}

pub(crate) fn push() -> Op {
    Op::Push {
        room: Some(LOBBY),
        epoch: None,
    }
}

/// A check that names no cursor.
pub(crate) fn bare_check(wait: Span) -> Op {
    Op::Check {
        by: ReadBy::Handle,
        after: None,
        wait,
    }
}

/// The answer to a check, after which nothing is left.
pub(crate) fn read(cursor: u64) -> Answer {
    Answer::Read {
        notices: Box::default(),
        unread: 0,
        cursor,
        more: false,
    }
}

pub(crate) fn talking_stick() -> Op {
    Op::TalkingStick { room: Some(LOBBY) }
}

pub(crate) fn leave_chat(room: Room) -> Op {
    Op::LeaveChat { room: Some(room) }
}

pub(crate) fn block(other: Agent) -> Op {
    Op::Block { user: user(other) }
}

pub(crate) fn waiting(agent: Agent) -> Answer {
    Answer::Waiting {
        estimated_wait: None,
        user: user(agent),
        position: 1,
    }
}

pub(crate) fn sent(room: Room, room_seq: u64) -> Answer {
    Answer::Sent {
        room,
        room_seq,
        at: Time(0),
        turns_left: None,
    }
}

pub(crate) fn draft(length: u32) -> Answer {
    Answer::Draft {
        suffix: None,
        length,
        truncated: 0,
    }
}

pub(crate) fn stick(place: u32, epoch: u64) -> Answer {
    Answer::Stick {
        holder: None,
        lease_until: chat_core::Time(0),
        room: LOBBY,
        place,
        epoch,
    }
}

pub(crate) fn found(room: Room, partner: Agent) -> Saw<'static> {
    Saw::Found {
        shown: Shown::default(),
        room,
        room_seq: 1,
        partner: user(partner),
    }
}

pub(crate) fn message(
    room: Room,
    room_seq: u64,
    sender: Agent,
    text: &'static str,
) -> Saw<'static> {
    Saw::Message {
        shown: Shown::default(),
        room,
        room_seq,
        sender: user(sender),
        text,
        epoch: None,
    }
}

/// A message in the lobby, under an epoch.
pub(crate) fn speech(room_seq: u64, sender: Agent, text: &'static str, epoch: u64) -> Saw<'static> {
    Saw::Message {
        shown: Shown::default(),
        room: LOBBY,
        room_seq,
        sender: user(sender),
        text,
        epoch: Some(epoch),
    }
}

pub(crate) fn ended(room: Room, room_seq: u64, reason: EndReason) -> Saw<'static> {
    Saw::Ended {
        room,
        room_seq,
        reason,
    }
}

pub(crate) fn member(room_seq: u64, agent: Agent, change: Presence) -> Saw<'static> {
    Saw::Member {
        shown: Shown::default(),
        room: LOBBY,
        room_seq,
        user: user(agent),
        change,
    }
}

pub(crate) fn stick_event(room_seq: u64, agent: Agent, change: StickChange) -> Saw<'static> {
    Saw::Stick {
        shown: Shown::default(),
        room: LOBBY,
        room_seq,
        user: user(agent),
        change,
    }
}

pub(crate) fn claimed(room_seq: u64, agent: Agent, place: u32) -> Saw<'static> {
    stick_event(room_seq, agent, StickChange::Claimed { place })
}

pub(crate) fn granted(room_seq: u64, agent: Agent, epoch: u64) -> Saw<'static> {
    let lease = Span::secs(120);
    stick_event(room_seq, agent, StickChange::Granted { epoch, lease })
}

pub(crate) fn released(room_seq: u64, agent: Agent, epoch: u64) -> Saw<'static> {
    stick_event(room_seq, agent, StickChange::Released { epoch })
}

pub(crate) fn expired(room_seq: u64, agent: Agent, epoch: u64) -> Saw<'static> {
    stick_event(room_seq, agent, StickChange::Expired { epoch })
}

pub(crate) fn moderation(room_seq: u64, agent: Option<Agent>, act: Moderated) -> Saw<'static> {
    Saw::Moderation {
        reason: "",
        shown: Shown::default(),
        room: LOBBY,
        room_seq,
        user: agent.map(user),
        act,
    }
}
