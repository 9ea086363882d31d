//! What a switch turns on or off, each as a type of its own.

/// Whether a username replaces a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usernames {
    /// It does: for older clients, on loopback.
    Trusted,
    /// It does not.
    NotTrusted,
}

/// Whether the list of tools has the schemas of results. They are two fifths of it, and few clients
/// show them to models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputSchemas {
    /// It has.
    Listed,
    /// It has not.
    LeftOut,
}

/// Whether each request is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessLog {
    /// It is.
    Written,
    /// It is not.
    #[default]
    Absent,
}

/// Whether the fixtures of the official conformance suite are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConformanceFixtures {
    /// They are.
    Served,
    /// They are not.
    Absent,
}
