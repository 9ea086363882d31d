//! The facts that a witness's finding cites.

use sim_model::protocol::{Outcome, Room, User};

use crate::model::Event;

/// One fact from the clients' histories, or the rule that a fact breaks. A finding cites two that
/// contradict each other.
#[derive(Clone, Debug)]
pub(crate) enum Fact {
    /// The reader received the event at this position of its inbox.
    Received(User, u64, Event),
    /// The answer to the sender's send or push has this `room_seq`.
    Accepted(User, Room, u64),
    /// The answer to the participant's call of this verb.
    Answered(User, &'static str, Outcome),
    /// The reader has neither an event nor a gap at this position of its inbox.
    Vacant(User, u64),
    /// The reader, a member, read past this `room_seq` and has no event with it.
    Absent(User, Room, u64),
    /// A rule of the protocol that the other fact breaks.
    Rule(&'static str),
}

impl Fact {
    /// The affected participant.
    pub(crate) const fn user(&self) -> Option<User> {
        match self {
            Self::Received(user, ..)
            | Self::Accepted(user, ..)
            | Self::Answered(user, ..)
            | Self::Vacant(user, _)
            | Self::Absent(user, ..) => Some(*user),
            Self::Rule(_) => None,
        }
    }
}
