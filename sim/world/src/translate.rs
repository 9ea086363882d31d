//! Translation between virtual users' words and the core's types. Each value is translated once, at
//! the border.

mod answer;
mod command;
mod event;
mod server;

pub use answer::{notice, response};
pub use event::{event, gap, lost_ranges};
pub use server::{ask, batch, decided, entry, judged, page, user_of};

use std::sync::Arc;

use chat_core::{Address, Call, Caller, Read, Reader, RequestKey, RoomSeq, SecretHash, Seq, Who};

use command::{Crosses, command};
use sim_model::protocol::{CHECK_MAX, Op, ReadBy, Shown};
use sim_user::Credential;

/// The hash of the handle that follows from a virtual user's secret.
fn handle(secret: u64) -> SecretHash {
    hash(secret, 0)
}

/// A stand-in for a cryptographic hash, which only needs to be free of collisions.
fn hash(secret: u64, kind: u64) -> SecretHash {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&secret.to_le_bytes());
    bytes[8..].copy_from_slice(&kind.to_le_bytes());
    SecretHash(bytes)
}

/// The hash of the reader id that is minted with the handle of this secret.
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

/// A call to the node, from this address.
#[must_use]
pub fn call(who: Credential, from: Address, key: Option<u128>, op: &Op) -> Call {
    // A caller without a handle cannot read; its stress check becomes an `arrive`.
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

/// The opening of a stream as a call to the node.
#[must_use]
pub fn open_stream(who: Credential, by: ReadBy, after: Option<u64>) -> Call {
    Call::OpenStream {
        reader: reader(who, by),
        after: after.map(Seq),
    }
}

/// The read of an operation, and the secret by which it reads; none for a command.
fn as_read(op: &Op) -> Option<(ReadBy, Read)> {
    if let Op::Check { after, wait, by } = op {
        let read = Read::Check {
            after: after.map(Seq),
            wait: *wait,
            max: CHECK_MAX,
        };
        return Some((*by, read));
    }
    let read = if let Op::History {
        room,
        before,
        limit,
    } = op
    {
        Read::History {
            room: room.crossed(),
            before: before.map(RoomSeq),
            limit: usize::try_from(*limit).unwrap_or(usize::MAX),
        }
    } else if let Op::ListUsers { room } = op {
        Read::Members {
            room: room.crossed(),
        }
    } else if *op == Op::Mood {
        Read::Mood
    } else {
        return None;
    };
    Some((ReadBy::Handle, read))
}

/// A participant as others see it, borrowed.
fn shown(who: &Who) -> Shown<&str> {
    Shown {
        chosen_id: who.chosen_id.as_deref(),
        name: &who.name,
    }
}

/// A participant as others see it, owned, for an answer.
fn shown_for_good(who: &Who) -> Shown<Arc<str>> {
    shown(who).to_owned()
}
