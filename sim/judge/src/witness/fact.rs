//! What clients know for certain, as a finding cites it.

use std::fmt;
use std::sync::Arc;

use sim_model::protocol::{Outcome, Room, User};

use crate::difference::OutcomeText;
use crate::model::Event;

/// One fact from the clients' histories. A witness's finding cites two that exclude each other.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum Fact {
    /// The reader received the event at this place of its inbox.
    Received {
        reader: User,
        seq: u64,
        event: Event,
    },
    /// The answer to a send or a push names this place of the room.
    Accepted {
        sender: User,
        room: Room,
        room_seq: u64,
        text: Option<Arc<str>>,
    },
    /// The answer to a call.
    Answered {
        user: User,
        verb: &'static str,
        outcome: Outcome,
    },
    /// The answer to a check ends at this place of the inbox.
    Read { reader: User, cursor: u64 },
    /// A stream carried the event of this place, or a gap up to it.
    Streamed { reader: User, seq: u64 },
    /// The reader has nothing at this place of its inbox, neither an event nor a gap.
    Vacant { reader: User, seq: u64 },
    /// The reader, a member by then, did not receive the event of this place of the room.
    Absent {
        reader: User,
        room: Room,
        room_seq: u64,
    },
    /// No call of the sender said the text in this room.
    Unsaid { sender: User, room: Room },
    /// The reader is the one that the event is about.
    Itself(User),
    /// The participant never took a break.
    NeverRested(User),
    /// No grant of the room's stick came before.
    Unused(Room),
    /// The room was answered as one of these two.
    Pair { room: Room, pair: [User; 2] },
    /// A bound of the protocol.
    Bound { what: &'static str, most: u8 },
}

impl Fact {
    /// The participants concerned.
    pub(crate) fn users(&self) -> Vec<User> {
        match self {
            Self::Received { reader: user, .. }
            | Self::Accepted { sender: user, .. }
            | Self::Answered { user, .. }
            | Self::Read { reader: user, .. }
            | Self::Streamed { reader: user, .. }
            | Self::Vacant { reader: user, .. }
            | Self::Absent { reader: user, .. }
            | Self::Unsaid { sender: user, .. }
            | Self::Itself(user)
            | Self::NeverRested(user) => vec![*user],
            Self::Pair { pair, .. } => pair.to_vec(),
            Self::Bound { .. } | Self::Unused(_) => Vec::new(),
        }
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Received { reader, seq, event } => {
                write!(f, "{reader} received {event} at place {seq} of its inbox")
            }
            Self::Accepted {
                sender,
                room,
                room_seq,
                text,
            } => {
                write!(f, "the server accepted event {room_seq} of {room}, ")?;
                match text {
                    None => write!(f, "a push by {sender}"),
                    Some(text) => write!(f, "\"{text:.24}\" by {sender}"),
                }
            }
            Self::Answered {
                user,
                verb,
                outcome,
            } => write!(f, "{user}'s {verb} was answered {}", OutcomeText(outcome)),
            Self::Read { reader, cursor } => {
                write!(
                    f,
                    "the answer to a check of {reader} ends at place {cursor}"
                )
            }
            Self::Streamed { reader, seq } => {
                write!(f, "a stream of {reader} carried place {seq}")
            }
            Self::Vacant { reader, seq } => {
                write!(f, "place {seq} of {reader}'s inbox did not arrive")
            }
            Self::Absent {
                reader,
                room,
                room_seq,
            } => write!(
                f,
                "{reader}, a member, read past event {room_seq} of {room} and did not receive it"
            ),
            Self::Unsaid { sender, room } => {
                write!(f, "no call of {sender} says that in {room}")
            }
            Self::Itself(user) => write!(f, "the reader is {user} itself"),
            Self::NeverRested(user) => write!(f, "{user} took no break"),
            Self::Unused(room) => write!(f, "{room}'s stick was not granted before"),
            Self::Pair {
                room,
                pair: [one, other],
            } => write!(f, "{room} is the pair room of {one} and {other}"),
            Self::Bound { what, most } => write!(f, "the {what} is at most {most}"),
        }
    }
}
