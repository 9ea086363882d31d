//! The identity of a journal.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::link::Link;

/// The values drawn once for a journal, which never change.
///
/// The first link of a journal is made of its identity. A journal whose identity was changed or
/// exchanged therefore breaks at its first record or snapshot: a server never starts with a secret
/// for which all handles are unknown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The number that distinguishes this journal from all others.
    pub realm: u128,
    /// The seed of all the core's randomness.
    pub seed: u64,
    /// The server's secret, from which handles and their hashes are derived.
    pub secret: [u8; 32],
}

impl Identity {
    /// The beginning of this journal.
    #[must_use]
    pub fn origin(&self) -> Origin {
        let link = Link::NONE
            .over(&self.realm.to_le_bytes())
            .over(&self.seed.to_le_bytes())
            .over(&self.secret);
        Origin {
            realm: self.realm,
            seed: self.seed,
            link,
        }
    }
}

/// The beginning of a journal: all that reading it takes, without the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The number that distinguishes this journal from all others.
    pub realm: u128,
    /// The seed of all the core's randomness.
    pub seed: u64,
    /// The link before the first record.
    pub link: Link,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({:032x}, …)", self.realm)
    }
}
