//! The longest wait or the largest number of times bypassed, which a search for starvation
//! compares.

use crate::protocol::User;

chat_types::listed! {
    /// A kind of starvation.
    Seek {
        /// A wait for a match, from the request to its answer or event.
        QueueWait "queue-wait",
        /// A wait for a stick, from the request to its answer or event.
        StickWait "stick-wait",
        /// Being bypassed in the queue or in the line of a stick.
        Overtaking "overtaking",
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
