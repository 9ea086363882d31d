//! Ids: small numbers, each a type of its own, and hashes of secrets.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty) $shown:literal) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub struct $name(pub $inner);

        impl $name {
            /// The successor.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($shown, "{}"), self.0)
            }
        }
    };
}

number! {
    /// A participant's id. Ids are assigned in order and never reused. Shown as `user_7`.
    UserId(u32) "user_"
}
number! {
    /// A room's id. Ids are assigned in order and never reused. Shown as `room_3`.
    RoomId(u32) "room_"
}
number! {
    /// A place in one participant's inbox, from 1. A cursor is the `Seq` of the last event read.
    Seq(u64) ""
}
number! {
    /// A place in one room's order of events, from 1, without gaps.
    RoomSeq(u64) ""
}
number! {
    /// The number of a grant of one room's stick, from 1. Speaking with an older one is refused.
    Epoch(u64) ""
}
number! {
    /// A place in the journal, from 1.
    Position(u64) ""
}

/// A message's public id: its room and its place there. Shown as `msg_3_18`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub RoomId, pub RoomSeq);

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "msg_{}_{}", self.0.0, self.1.0)
    }
}

/// The hash of a secret (a handle or a reader id), truncated to 128 bits. The core never sees the
/// secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SecretHash(pub [u8; 16]);

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash(…)")
    }
}

/// The hash of a request key, which is a text chosen by the client, truncated to 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestKey(pub u128);

/// The origin of a call (an IP address, or a process on stdio), hashed by the shell.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Address(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_named_by_its_room_and_its_place() {
        assert_eq!(MessageId(RoomId(3), RoomSeq(18)).to_string(), "msg_3_18");
    }
}
