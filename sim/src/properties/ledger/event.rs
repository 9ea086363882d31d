//! An event of a room's order, as all who see it should see it.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use crate::protocol::{EndReason, Moderated, Presence, Saw, StickChange, User};

/// What stands at one place of a room's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Nobody knows.
    Unknown,
    Message {
        sender: User,
        epoch: Option<u64>,
    },
    Found,
    Ended(EndReason),
    PartnerAway,
    PartnerBack,
    Member(User, Presence),
    Stick(User, StickChange),
    Moderation(Option<User>, Moderated),
}

impl Event {
    /// The event, without what differs from one who sees it to the next. None for a gap.
    pub(crate) fn of(saw: &Saw<'_>) -> Option<Self> {
        Some(match *saw {
            Saw::Found { .. } => Self::Found,
            Saw::Message { sender, epoch, .. } => Self::Message { sender, epoch },
            Saw::Ended { reason, .. } => Self::Ended(reason),
            Saw::PartnerAway { .. } => Self::PartnerAway,
            Saw::PartnerBack { .. } => Self::PartnerBack,
            Saw::Member { user, change, .. } => Self::Member(user, change),
            Saw::Stick { user, change, .. } => Self::Stick(user, change),
            Saw::Moderation { user, act, .. } => Self::Moderation(user, act),
            Saw::Gap { .. } => return None,
        })
    }

    /// A fingerprint by which two sights of one place are compared; never 0. `text` is the
    /// message's, from `text_print`.
    pub(crate) fn print(self, text: u64) -> u64 {
        let parts = match self {
            Self::Unknown => [0, 0, 0],
            Self::Message { sender, epoch } => {
                [1 | wide(sender.0), text, epoch.map_or(0, |e| e + 1)]
            }
            Self::Found => [2, 0, 0],
            Self::Ended(reason) => [3 | wide(reason as u32), 0, 0],
            Self::PartnerAway => [4, 0, 0],
            Self::PartnerBack => [5, 0, 0],
            Self::Member(user, change) => [6 | wide(user.0), change as u64, 0],
            Self::Stick(user, change) => match change {
                StickChange::Claimed { place } => [7 | wide(user.0), u64::from(place), 0],
                StickChange::Granted { epoch, lease } => [8 | wide(user.0), epoch, lease.0],
                StickChange::Released { epoch } => [9 | wide(user.0), epoch, 0],
                StickChange::Expired { epoch } => [10 | wide(user.0), epoch, 0],
            },
            Self::Moderation(user, act) => [11, user.map_or(0, |u| u64::from(u.0) + 1), act as u64],
        };
        let mut print = 0x9e37_79b9_7f4a_7c15_u64;
        for part in parts {
            print = (print ^ part).wrapping_mul(0xd6e8_feb8_6659_fd93);
            print ^= print >> 32;
        }
        print | 1
    }
}

const fn wide(n: u32) -> u64 {
    (n as u64) << 8
}

/// A fingerprint of a text.
pub(crate) fn text_print(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}
