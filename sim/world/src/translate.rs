//! Translation between virtual users' words and the core's types. Each value is translated once, at
//! the border.

mod listing;

pub use listing::lists;

use std::sync::Arc;

use chat_core::{Address, Call, Caller, Reader, RequestKey, SecretHash, Seq};
use sim_model::protocol::{Op, ReadBy};
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
pub fn call(who: Credential, from: Address, key: Option<u128>, op: Op) -> Arc<Call> {
    let handle = handle(who.secret);
    let caller = match who.is_new {
        true => Caller::New {
            handle,
            reader: reader_id(handle),
            from,
        },
        false => Caller::Handle(handle),
    };
    Arc::new(match op {
        Op::Command(command) => Call::Command {
            caller,
            key: key.map(RequestKey),
            command,
        },
        Op::Read { read, by } => Call::Read {
            reader: reader(handle, by),
            read,
        },
    })
}

/// The opening of a stream as a call to the node.
#[must_use]
pub fn open_stream(secret: u64, by: ReadBy, after: Option<u64>) -> Arc<Call> {
    Arc::new(Call::OpenStream {
        reader: reader(handle(secret), by),
        after: after.map(Seq),
    })
}
