//! Operators' mutes and bans, as a server stores them and operators read them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Address, SecretHash, Time, Who};

/// An operator's measure against a participant or an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Measure {
    /// Its messages are refused.
    Mute,
    /// Its registrations and calls are refused.
    Ban,
}

/// A mute or a ban of a name, a handle or an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ban {
    /// Mute or ban.
    pub measure: Measure,
    /// The instant of the operator's act.
    pub at: Time,
    /// The operator's name.
    pub by: Arc<str>,
    /// The operator's reason.
    pub reason: Arc<str>,
}

/// The place of a mute or ban in the order of all: names, then handles, then addresses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MeasurePlace {
    /// The place of a display name or a public id, given by its folded form in lower case.
    Name(Box<str>),
    /// The place of a handle, given by its hash.
    Handle(SecretHash),
    /// The place of an address.
    Address(Address),
}

/// What a mute or a ban applies to, as operators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeasureTarget {
    /// A display name or a public id, as the participant that chose it spelled it.
    Name(Arc<str>),
    /// The handle of this participant, as others saw it at the time. Unbanning its name removes it.
    Handle(Arc<Who>),
    /// An address.
    Address(Address),
}
