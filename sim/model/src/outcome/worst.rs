//! The longest wait or the largest number of times bypassed, which a search for starvation
//! compares.

use crate::protocol::User;

/// A kind of starvation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seek {
    /// A wait for a match, from the request to its answer or event.
    QueueWait,
    /// A wait for a stick, from the request to its answer or event.
    StickWait,
    /// Being bypassed in the queue or in the line of a stick.
    Overtaking,
}

impl Seek {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::QueueWait, Self::StickWait, Self::Overtaking];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueWait => "queue-wait",
            Self::StickWait => "stick-wait",
            Self::Overtaking => "overtaking",
        }
    }
}

/// The worst case of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worst {
    /// The wait in microseconds until it ended well, or the number of times bypassed.
    pub figure: u64,
    /// The user, if it is known.
    pub user: Option<User>,
}

impl Worst {
    /// Keeps the worse of the two; of equal ones, the earlier.
    pub fn take(&mut self, other: Self) {
        if other.figure > self.figure {
            *self = other;
        }
    }
}
