//! Who waited longest, or was passed over most: what a search for starvation compares.

use crate::protocol::User;

/// What may starve somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seek {
    /// Waiting in line for a match, from asking to being told.
    QueueWait,
    /// Waiting for a stick, from asking to being told.
    StickWait,
    /// Being passed over, in line or for a stick.
    Overtaking,
}

impl Seek {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::QueueWait, Self::StickWait, Self::Overtaking];

    /// As the command line writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueWait => "queue-wait",
            Self::StickWait => "stick-wait",
            Self::Overtaking => "overtaking",
        }
    }
}

/// The worst that happened to anyone in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worst {
    /// Microseconds waited until it ended well, or how many times passed over.
    pub figure: u64,
    /// To whom, where that is known.
    pub user: Option<User>,
}

impl Worst {
    /// The worse of the two; the earlier one if they are alike.
    pub fn take(&mut self, other: Self) {
        if other.figure > self.figure {
            *self = other;
        }
    }
}
