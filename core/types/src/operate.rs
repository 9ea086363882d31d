//! Operators' acts.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Address, RoomId, UserId};

/// An operator's act.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operate {
    /// Mute a participant until it is unmuted.
    Mute {
        /// The participant.
        user: UserId,
        /// The reason, which the participant's rooms receive.
        reason: Arc<str>,
    },
    /// Unmute a participant.
    Unmute {
        /// The participant.
        user: UserId,
    },
    /// Remove a participant from a room.
    Kick {
        /// The participant.
        user: UserId,
        /// The room.
        room: RoomId,
        /// The reason, which the room receives.
        reason: Arc<str>,
    },
    /// Close a room.
    Close {
        /// The room to close.
        room: RoomId,
        /// The reason, which the room receives.
        reason: Arc<str>,
    },
    /// End a participant's registration. Neither its handle nor its name can be registered again.
    BanUser {
        /// The participant.
        user: UserId,
        /// The reason.
        reason: Arc<str>,
    },
    /// Mute all present and future participants of this address, until it is unbanned.
    MuteAddress {
        /// The hash of the address.
        address: Address,
        /// The reason, which the rooms of these participants receive.
        reason: Arc<str>,
    },
    /// Refuse all calls from this address.
    BanAddress {
        /// The hash of the address.
        address: Address,
        /// The reason.
        reason: Arc<str>,
    },
    /// Remove the mute or the ban of a name.
    Unban {
        /// The name, in any spelling.
        name: Arc<str>,
    },
    /// Remove the mute or the ban of an address.
    UnbanAddress {
        /// The hash of the address.
        address: Address,
    },
}
