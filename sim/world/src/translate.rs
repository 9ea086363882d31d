//! The border between the words of virtual users and the core's own types. Each is translated
//! once, on its way across.

mod answer;
mod event;
mod server;

pub use answer::{notice, response};
pub use event::{event, gap, lost_ranges};
pub use server::{ask, batch, decided, entry, judged, page, user_of};

use std::sync::Arc;

use chat_core::{
    Address, Call, Caller, Command, EnterQueue, Epoch, Read, Reader, RequestKey, RoomId, RoomSeq,
    SecretHash, Seq, UserId, Who,
};

use sim_model::protocol::{CHECK_MAX, Op, ReadBy, Room, Shown};
use sim_user::Credential;

/// The hash of the handle that a virtual user makes from its secret.
fn handle(secret: u64) -> SecretHash {
    hash(secret, 0)
}

/// The virtual users' stand-in for a cryptographic hash: it only has to be free of collisions.
fn hash(secret: u64, kind: u64) -> SecretHash {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&secret.to_le_bytes());
    bytes[8..].copy_from_slice(&kind.to_le_bytes());
    SecretHash(bytes)
}

/// The hash of the reader id that a server mints with the handle of this secret.
fn reader_id(secret: u64) -> SecretHash {
    hash(secret, 1)
}

fn reader(who: Credential, by: ReadBy) -> Reader {
    let (Credential::New { secret } | Credential::Handle { secret }) = who;
    match by {
        ReadBy::Handle => Reader::Handle(handle(secret)),
        ReadBy::ReaderId => Reader::ReaderId(reader_id(secret)),
    }
}

/// A request as the server's door sees it, from this address.
#[must_use]
pub fn call(who: Credential, from: Address, key: Option<u128>, op: &Op) -> Call {
    // Who has no handle yet cannot read: one that looks at its stress arrives.
    let is_newcomer = matches!(who, Credential::New { .. });
    if let Some((by, read)) = as_read(op)
        && !(is_newcomer && *op == Op::Mood)
    {
        return Call::Read {
            reader: reader(who, by),
            read,
        };
    }
    let caller = match who {
        Credential::New { secret } => Caller::New {
            handle: handle(secret),
            reader: reader_id(secret),
            from,
        },
        Credential::Handle { secret } => Caller::Handle(handle(secret)),
    };
    Call::Command {
        caller,
        key: key.map(RequestKey),
        command: command(op),
    }
}

/// The opening of a stream as the server's door sees it.
#[must_use]
pub fn open_stream(who: Credential, by: ReadBy, after: Option<u64>) -> Call {
    Call::OpenStream {
        reader: reader(who, by),
        after: after.map(Seq),
    }
}

fn id(room: &Option<Room>) -> Option<RoomId> {
    room.map(|room| RoomId(room.0))
}

/// What is read, and by which secret; none for a command.
fn as_read(op: &Op) -> Option<(ReadBy, Read)> {
    let (by, read) = match op {
        Op::Check { after, wait, by } => (
            *by,
            Read::Check {
                after: after.map(Seq),
                wait: *wait,
                max: CHECK_MAX,
            },
        ),
        Op::History {
            room,
            before,
            limit,
        } => (
            ReadBy::Handle,
            Read::History {
                room: id(room),
                before: before.map(RoomSeq),
                limit: usize::try_from(*limit).unwrap_or(usize::MAX),
            },
        ),
        Op::ListUsers { room } => (ReadBy::Handle, Read::Members { room: id(room) }),
        Op::Mood => (ReadBy::Handle, Read::Mood),
        Op::EnterQueue { .. }
        | Op::LeaveQueue
        | Op::Login { .. }
        | Op::Send { .. }
        | Op::LeaveChat { .. }
        | Op::TalkingStick { .. }
        | Op::Append { .. }
        | Op::Undo { .. }
        | Op::Reset { .. }
        | Op::Push { .. }
        | Op::Typing { .. }
        | Op::Block { .. }
        | Op::Unblock { .. }
        | Op::Report { .. }
        | Op::Break { .. }
        | Op::Unregister => return None,
    };
    Some((by, read))
}

fn command(op: &Op) -> Command {
    match op {
        Op::EnterQueue {
            user_id,
            display_name,
            interests,
        } => Command::EnterQueue(EnterQueue {
            user_id: user_id.clone(),
            display_name: display_name.clone(),
            interests: interests.clone(),
        }),
        Op::LeaveQueue => Command::LeaveQueue,
        Op::Login { username, room } => Command::Login {
            username: username.clone(),
            room: room.clone(),
        },
        Op::Send { room, text, epoch } => Command::SendMessage {
            room: id(room),
            text: text.clone(),
            epoch: epoch.map(Epoch),
        },
        Op::LeaveChat { room } => Command::LeaveChat { room: id(room) },
        Op::TalkingStick { room, epoch } => Command::TalkingStick {
            room: id(room),
            epoch: epoch.map(Epoch),
        },
        Op::Append { room, text, epoch } => Command::Append {
            room: id(room),
            text: text.clone(),
            epoch: epoch.map(Epoch),
        },
        Op::Undo { room, epoch } => Command::Undo {
            room: id(room),
            epoch: epoch.map(Epoch),
        },
        Op::Reset { room, epoch } => Command::Reset {
            room: id(room),
            epoch: epoch.map(Epoch),
        },
        Op::Push { room, epoch } => Command::Push {
            room: id(room),
            epoch: epoch.map(Epoch),
        },
        Op::Typing { room } => Command::Typing { room: id(room) },
        Op::Block { user } => Command::BlockUser {
            user: UserId(user.0),
        },
        Op::Unblock { user } => Command::UnblockUser {
            user: UserId(user.0),
        },
        Op::Report { user, reason } => Command::ReportUser {
            user: UserId(user.0),
            reason: reason.clone(),
        },
        Op::Break { kind, excuse } => Command::TakeBreak {
            kind: *kind,
            excuse: excuse.clone(),
        },
        Op::Unregister => Command::Unregister,
        Op::Mood => Command::Arrive,
        Op::Check { .. } | Op::History { .. } | Op::ListUsers { .. } => {
            unreachable!("reads are no commands, and were above")
        }
    }
}

/// A participant as others see it, borrowed.
fn shown(who: &Who) -> Shown<&str> {
    Shown {
        chosen_id: who.chosen_id.as_deref(),
        name: &who.name,
    }
}

/// A participant as others see it, in an answer that outlives it.
fn shown_for_good(who: &Who) -> Shown<Arc<str>> {
    shown(who).to_owned()
}
