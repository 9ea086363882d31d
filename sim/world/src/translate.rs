//! Translation between virtual users' words and the core's types. Each value is translated once, at
//! the border.

mod answer;
mod command;
mod listing;
mod server;

pub use answer::{notice, response};
pub use listing::lists;
pub use server::{batch, decided, entry, operate, page, secret};

use std::sync::Arc;

use chat_core::{Address, Call, Read, Reader, RequestKey, RoomSeq, SecretHash, Seq};

use command::{Counterpart, command};
use sim_model::protocol::{CHECK_MAX, Op, ReadBy};
use sim_model::server::{Caller, Handle, ServerCall};
use sim_user::Credential;

/// The hash of the handle that follows from a virtual user's secret.
fn handle(Handle(secret): Handle) -> SecretHash {
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
fn reader_id(Handle(secret): Handle) -> SecretHash {
    hash(secret, 1)
}

fn reader(of: Handle, by: ReadBy) -> Reader {
    match by {
        ReadBy::Handle => Reader::Handle(handle(of)),
        ReadBy::ReaderId => Reader::ReaderId(reader_id(of)),
    }
}

/// A call to the node, from this address.
#[must_use]
pub fn ask(who: Credential, from: Address, key: Option<u128>, op: Op) -> Arc<ServerCall> {
    // A caller without a handle cannot read.
    let is_read = op.kind().is_read();
    let caller = match who {
        Credential::New { secret } if !is_read => Caller::New(Handle(secret), from.0),
        Credential::New { secret } | Credential::Handle { secret } => Caller::Known(Handle(secret)),
    };
    let key = key.filter(|_| !is_read);
    Arc::new(ServerCall::Call { caller, key, op })
}

/// The opening of a stream as a call to the node.
#[must_use]
pub fn open_stream(who: Credential, by: ReadBy, after: Option<u64>) -> Arc<ServerCall> {
    let (Credential::New { secret } | Credential::Handle { secret }) = who;
    let handle = Handle(secret);
    Arc::new(ServerCall::OpenStream { handle, after, by })
}

/// A client's request as a call of the node.
#[must_use]
pub fn call(ask: &ServerCall) -> Call {
    match ask {
        ServerCall::Call { caller, key, op } => {
            if let (Caller::Known(of), Some((by, read))) = (caller, as_read(op)) {
                let reader = reader(*of, by);
                return Call::Read { reader, read };
            }
            let caller = match *caller {
                Caller::Known(of) => chat_core::Caller::Handle(handle(of)),
                Caller::New(of, from) => chat_core::Caller::New {
                    handle: handle(of),
                    reader: reader_id(of),
                    from: Address(from),
                },
            };
            Call::Command {
                caller,
                key: key.map(RequestKey),
                command: command(op),
            }
        }
        ServerCall::OpenStream {
            handle: of,
            after,
            by,
        } => Call::OpenStream {
            reader: reader(*of, *by),
            after: after.map(Seq),
        },
        ServerCall::Operate(_) => {
            unreachable!("operators are no clients: their acts are the core's own")
        }
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
            room: room.counterpart(),
            before: before.map(RoomSeq),
            limit: usize::try_from(*limit).unwrap_or(usize::MAX),
        }
    } else if let Op::ListUsers { room } = op {
        Read::Members {
            room: room.counterpart(),
        }
    } else if *op == Op::Mood {
        Read::Mood
    } else {
        return None;
    };
    Some((ReadBy::Handle, read))
}
