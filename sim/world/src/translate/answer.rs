//! Answers: from the core's types to clients' words.

use std::sync::Arc;

use chat_core::{NameHolder, Reject, Reply, Response, RoomId, WasWaiting};

use sim_model::protocol::{Answer, Notice, Outcome, Refusal};

/// The answer to an accepted command.
#[expect(clippy::too_many_lines, reason = "a row for each kind of answer")]
pub(super) fn answer(reply: &Reply) -> Answer {
    match reply {
        Reply::Waiting {
            user,
            position,
            estimated_wait,
        } => Answer::Waiting {
            user: *user,
            position: *position,
            estimated_wait: *estimated_wait,
        },
        Reply::Matched {
            user,
            room,
            partner,
        } => Answer::Matched {
            user: *user,
            room: *room,
            partner: Arc::clone(partner),
        },
        Reply::LeftQueue { left } => Answer::LeftQueue {
            left: *left == WasWaiting::Yes,
        },
        Reply::LoggedIn { user, room } => Answer::LoggedIn {
            user: *user,
            room: *room,
        },
        Reply::Sent {
            room,
            room_seq,
            at,
            turns_left,
        } => Answer::Sent {
            room: *room,
            room_seq: room_seq.0,
            at: *at,
            turns_left: *turns_left,
        },
        Reply::LeftChat => Answer::LeftChat,
        Reply::Stick {
            room,
            place,
            epoch,
            holder,
            lease_until,
        } => Answer::Stick {
            room: *room,
            place: *place,
            epoch: epoch.0,
            holder: Some(*holder),
            lease_until: *lease_until,
        },
        Reply::Draft {
            length,
            cut,
            suffix,
        } => draft((*length, *cut), suffix.as_deref()),
        Reply::OnBreak {
            user,
            stress,
            boss_alert,
            flavour,
            ..
        } => Answer::OnBreak {
            user: *user,
            stress: *stress,
            boss_alert: *boss_alert,
            flavour: *flavour,
        },
        Reply::Done => Answer::Done,
        Reply::Lifted { found } => Answer::Lifted { found: *found },
    }
}

fn draft((length, truncated): (u32, u32), suffix: Option<&str>) -> Answer {
    Answer::Draft {
        length,
        truncated,
        suffix: suffix.map(Into::into),
    }
}

/// The node's response to a call.
pub fn response(outcome: &Result<Response, Reject>) -> Outcome {
    match outcome {
        Ok(Response::Done(reply)) => Ok(answer(reply)),
        Ok(Response::Read(answer)) => Ok(read(answer)),
        Ok(Response::Streaming) => Ok(Answer::Done),
        Err(reject) => Err(refusal(reject)),
    }
}

/// The answer to a read. For a page of the inbox, its end without the events.
fn read(answer: &chat_core::Answer) -> Answer {
    match answer {
        chat_core::Answer::Page { page, notices } => page_end(page, notices),
        chat_core::Answer::Members { room, members } => Answer::Members {
            room: *room,
            members: members.as_slice().into(),
        },
        chat_core::Answer::History {
            room,
            messages,
            more,
        } => Answer::History {
            room: *room,
            messages: messages.as_slice().into(),
            more: *more,
        },
        chat_core::Answer::Mood { stress, boss_alert } => Answer::Mood {
            stress: *stress,
            boss_alert: *boss_alert,
        },
    }
}

/// The parts of a page other than its events.
fn page_end(page: &chat_core::Page, notices: &[(RoomId, chat_core::Notice)]) -> Answer {
    let notices = notices.iter().map(|(room, said)| notice(*room, said));
    Answer::Read {
        cursor: page.cursor.0,
        more: page.unread > 0,
        unread: page.unread,
        notices: notices.collect(),
    }
}

/// A notice as its reader sees it.
#[must_use]
pub fn notice(room: RoomId, notice: &chat_core::Notice) -> Notice {
    Notice {
        room,
        user: Arc::clone(&notice.user),
        kind: notice.kind,
        at: notice.at,
    }
}

/// A refusal as its client sees it.
pub(super) fn refusal(reject: &Reject) -> Refusal {
    Refusal {
        code: reject.code(),
        retry_after: reject.retry_after(),
        earlier: reject.earlier(),
        number: number(reject),
    }
}

/// The number in the message, unless it is a delay; a silence in microseconds.
fn number(reject: &Reject) -> Option<u64> {
    if let Reject::RoomAmbiguous { rooms: number }
    | Reject::MessageTooLong { limit: number }
    | Reject::DraftFull { limit: number }
    | Reject::QueueFull { limit: number }
    | Reject::RoomFull { limit: number }
    | Reject::AddressFull { limit: number } = reject
    {
        return Some((*number).into());
    }
    if let Reject::NameTaken {
        holder: NameHolder::SameAddress(silence) | NameHolder::Other(silence),
    } = reject
    {
        return Some(silence.0);
    }
    if let Reject::ChatEnded { ending } = reject {
        return Some(ending.reason as u64);
    }
    if let Reject::InvalidCursor { end } = reject {
        return Some(*end);
    }
    None
}
