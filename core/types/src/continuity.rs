//! Whether a journal goes on with all that it had.

use serde::{Deserialize, Serialize};

/// Whether entries whose answers have left may be missing at the end of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Continuity {
    /// The journal has all of them.
    Whole,
    /// It was restored from a backup, or its damaged end was given up: a life of the server is lost.
    Broken,
}
