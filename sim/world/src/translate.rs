//! Translation between virtual users' words and the core's types. Each value is translated once, at
//! the border.

mod listing;
mod refusal;

pub use listing::lists;
pub use refusal::{decided, outcome};

use std::sync::Arc;

use chat_core::{Address, Call, Caller, Read, Reader, RequestKey, RoomSeq, SecretHash, Seq};

use sim_model::protocol::{CHECK_MAX, Op, ReadBy};
use sim_model::server::{BatchEntry, Operate, ServerCall};
use sim_user::Credential;

/// A stand-in for a cryptographic hash, which only needs to be free of collisions: the hash of the
/// handle that follows from a virtual user's secret.
fn handle(secret: u64) -> SecretHash {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&secret.to_le_bytes());
    SecretHash(bytes)
}

/// The hash of the reader id that is minted with the handle of this hash.
const fn reader_id(SecretHash(mut bytes): SecretHash) -> SecretHash {
    bytes[8] = 1;
    SecretHash(bytes)
}

const fn reader(handle: SecretHash, by: ReadBy) -> Reader {
    match by {
        ReadBy::Handle => Reader::Handle(handle),
        ReadBy::ReaderId => Reader::ReaderId(reader_id(handle)),
    }
}

/// A call to the node, from this address.
#[must_use]
pub fn ask(who: Credential, from: Address, key: Option<u128>, op: Op) -> Arc<ServerCall> {
    // A caller without a handle cannot read.
    let is_read = op.is_read();
    let (Credential::New { secret } | Credential::Handle { secret }) = who;
    let handle = handle(secret);
    let caller = match who {
        Credential::New { .. } if !is_read => Caller::New {
            handle,
            reader: reader_id(handle),
            from,
        },
        Credential::New { .. } | Credential::Handle { .. } => Caller::Handle(handle),
    };
    let key = key.filter(|_| !is_read).map(RequestKey);
    Arc::new(ServerCall::Call { caller, key, op })
}

/// The opening of a stream as a call to the node.
#[must_use]
pub fn open_stream(who: Credential, by: ReadBy, after: Option<u64>) -> Arc<ServerCall> {
    let (Credential::New { secret } | Credential::Handle { secret }) = who;
    let handle = handle(secret);
    Arc::new(ServerCall::OpenStream { handle, after, by })
}

/// A client's request as a call of the node.
#[must_use]
pub fn call(ask: &ServerCall) -> Call {
    match ask {
        ServerCall::Call { caller, key, op } => {
            let (by, read) = match op {
                Op::Command(command) => {
                    return Call::Command {
                        caller: *caller,
                        key: *key,
                        command: command.clone(),
                    };
                }
                Op::Check { after, wait, by } => {
                    let (after, wait, max) = (after.map(Seq), *wait, CHECK_MAX);
                    (*by, Read::Check { after, wait, max })
                }
                Op::History {
                    room,
                    before,
                    limit,
                } => {
                    let limit = usize::try_from(*limit).unwrap_or(usize::MAX);
                    let (room, before) = (*room, before.map(RoomSeq));
                    let history = Read::History {
                        room,
                        before,
                        limit,
                    };
                    (ReadBy::Handle, history)
                }
                Op::ListUsers { room } => (ReadBy::Handle, Read::Members { room: *room }),
                Op::Mood => (ReadBy::Handle, Read::Mood),
            };
            let reader = reader(caller.handle(), by);
            Call::Read { reader, read }
        }
        ServerCall::OpenStream { handle, after, by } => Call::OpenStream {
            reader: reader(*handle, *by),
            after: after.map(Seq),
        },
        ServerCall::Operate(_) => {
            unreachable!("operators are no clients: their acts are the core's own")
        }
    }
}

/// A call to the node, in the judges' type.
#[must_use]
pub fn operate(done: &Operate) -> Arc<ServerCall> {
    Arc::new(ServerCall::Operate(done.clone()))
}

/// The batch in flight, in the judges' type.
#[must_use]
pub fn batch(node: &chat_core::Node) -> Vec<BatchEntry> {
    node.batch()
        .map(|(written, ticket)| match ticket {
            Some(ticket) => BatchEntry::Call(ticket),
            None => BatchEntry::Own(written.clone()),
        })
        .collect()
}
