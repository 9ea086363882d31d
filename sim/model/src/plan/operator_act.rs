//! The acts of operators.

use std::sync::Arc;

use super::{ScriptUser, user_name};

/// An operator's act and its user; without one, any registered user is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorAct {
    /// The act.
    pub verb: OperatorVerb,
    /// The user: an index into `users` of the steps form.
    pub user: Option<u32>,
    /// The number of the room that a kick or a close names; without one, a room of the user.
    pub room: Option<u64>,
    /// The operator's reason; without one, a usual one.
    pub reason: Option<Arc<str>>,
}

impl OperatorAct {
    /// The act on a drawn user.
    #[must_use]
    pub const fn drawn(verb: OperatorVerb) -> Self {
        Self {
            verb,
            user: None,
            room: None,
            reason: None,
        }
    }

    /// The act in words: `operator mutes alice`.
    pub(super) fn words(&self, users: &[ScriptUser]) -> String {
        let whom = self.user.map_or("one user", |user| user_name(users, user));
        format!("operator {} {whom}", self.verb.word(1))
    }
}

impl OperatorVerb {
    /// Whether the act names a room.
    #[must_use]
    pub const fn names_room(self) -> bool {
        matches!(self, Self::Kick | Self::Close)
    }

    /// Whether the act has a reason. One that lifts another has none.
    #[must_use]
    pub const fn has_reason(self) -> bool {
        !matches!(self, Self::Unmute | Self::Unban | Self::UnbanAddress)
    }
}

chat_types::listed! {
    /// The kinds of operators' acts, each with what an operator does, before the user's name.
    OperatorVerb {
        /// Mutes the user.
        Mute "mute" "mutes",
        /// Unmutes the user; without one, the user that was muted last.
        Unmute "unmute" "unmutes",
        /// Removes the user from a room.
        Kick "kick" "kicks",
        /// Closes a room of the user.
        Close "close" "closes the room of",
        /// Bans the user.
        Ban "ban" "bans",
        /// Lifts the ban or the mute of a user by its name; without a user, the latest.
        Unban "unban" "lifts the ban or the mute of",
        /// Mutes the user's address.
        MuteAddress "mute_address" "mutes the address of",
        /// Bans the user's address.
        BanAddress "ban_address" "bans the address of",
        /// Lifts the mute or the ban of an address; without a user, the latest.
        UnbanAddress "unban_address" "lifts the mute or the ban of the address of",
    }
}
