//! Ids: small numbers, each a type of its own, and hashes of secrets.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        number! { $(#[$doc])* #[derive(Serialize, Deserialize)] $name "" }
    };
    ($(#[$doc:meta])* $name:ident $shown:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl $name {
            /// The successor.
            #[must_use]
            #[inline]
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

/// An id that texts name by its kind: so JSON does, too.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident $shown:literal) => {
        number! { $(#[$doc])* $name $shown }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                if to.is_human_readable() {
                    to.collect_str(self)
                } else {
                    to.serialize_newtype_struct(stringify!($name), &self.0)
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                if !from.is_human_readable() {
                    return u64::deserialize(from).map(Self);
                }
                let text = String::deserialize(from)?;
                let number = text.strip_prefix($shown).unwrap_or(&text).parse();
                number.map(Self).map_err(D::Error::custom)
            }
        }
    };
}

named! {
    /// A participant's id. Ids are assigned in order and never reused. Shown as `user_7`.
    UserId "user_"
}
named! {
    /// A room's id. Ids are assigned in order and never reused. Shown as `room_3`.
    RoomId "room_"
}
number! {
    /// A place in one participant's inbox, from 1. A cursor is the `Seq` of the last event read.
    Seq
}
number! {
    /// A place in one room's order of events, from 1, without gaps.
    RoomSeq
}
number! {
    /// The number of a grant of one room's stick, from 1. Speaking with an older one is refused.
    Epoch
}
number! {
    /// A place in the journal, from 1.
    Position
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

    #[test]
    fn a_participant_is_a_text_in_json_also_as_a_key() {
        let marks = std::collections::BTreeMap::from([(UserId(7), Seq(18))]);
        let text = serde_json::to_string(&marks).unwrap();
        assert_eq!(text, r#"{"user_7":18}"#);
        for text in [&text, r#"{"7":18}"#] {
            assert_eq!(serde_json::from_str(text).ok(), Some(marks.clone()));
        }
        assert!(serde_json::from_str::<UserId>(r#""user_x""#).is_err());
    }
}
