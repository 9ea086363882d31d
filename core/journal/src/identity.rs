//! Which journal it is.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::link::Link;

/// What is drawn once for a journal and never changes.
///
/// The first link of a journal is made of its identity. A journal whose identity was changed or
/// exchanged therefore breaks at its first record or snapshot: a server never starts with a secret
/// under which no handle is known.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The number of the journal among all journals.
    pub realm: u128,
    /// The seed of all the core's randomness.
    pub seed: u64,
    /// The server's secret, from which handles and their hashes follow.
    pub secret: [u8; 32],
}

impl Identity {
    /// The link before the first record.
    #[must_use]
    pub fn origin(&self) -> Link {
        Link::NONE
            .over(&self.realm.to_le_bytes())
            .over(&self.seed.to_le_bytes())
            .over(&self.secret)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({:032x}, …)", self.realm)
    }
}
