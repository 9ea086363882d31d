//! The result of replaying a server's journal.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{PropertyResult, Violation};

/// A replayed journal, and what was found in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Replayed {
    /// The number that distinguishes this journal from all others, in hexadecimal.
    pub realm: String,
    /// The first replayed position.
    pub first: u64,
    /// The last replayed position.
    pub last: u64,
    /// The instant of the first entry, in microseconds since 1970.
    pub began_unix_us: u64,
    /// The instant of the last entry, too.
    pub ended_unix_us: u64,
    /// The number of entries of each kind: a tool, or an entry of the server.
    pub entries: BTreeMap<&'static str, u64>,
    /// The number of refused calls by code.
    pub refused: BTreeMap<&'static str, u64>,
    /// The registered participants at the end.
    pub participants: u64,
    /// The rooms at the end.
    pub rooms: u64,
    /// The restarts of the server.
    pub restarts: Vec<JournalRestart>,
    /// The result of each property that a decision exercised.
    pub properties: BTreeMap<&'static str, PropertyResult>,
    /// The first decision that differs from the protocol's.
    pub violation: Option<JournalViolation>,
    /// Why decisions could not be judged.
    pub unjudged: Option<String>,
    /// The number of snapshots whose digest was compared.
    pub digests: u64,
    /// The positions at which the digest differs from the server's.
    pub other_digests: Vec<u64>,
    /// The number of positions at which all invariants of the state were checked.
    pub validated: u64,
    /// The first broken invariant.
    pub broken: Option<BrokenInvariant>,
    /// The names in the journal, if the followed participant is not one of them.
    #[serde(skip)]
    pub other_names: Option<Vec<String>>,
    /// Remarks on the journal.
    pub warnings: Vec<String>,
    /// 0 if all that was checked held, 1 if not, 4 if nothing was judged.
    pub exit_code: u8,
}

/// A restart of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct JournalRestart {
    /// The position of its first entry.
    pub position: u64,
    /// The instant, in microseconds since 1970.
    pub unix_us: u64,
    /// The time since the entry before.
    pub down_us: u64,
}

/// A decision that differs from the protocol's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JournalViolation {
    /// The position of its entry.
    pub position: u64,
    /// The violation; its time counts from the first entry.
    #[serde(flatten)]
    pub violation: Violation,
}

/// An invariant of the state that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenInvariant {
    /// The position after whose entry it was found.
    pub position: u64,
    /// The invariant.
    pub why: String,
}
