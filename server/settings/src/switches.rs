//! What a switch turns on or off, each as a type of its own.

/// Whether a username replaces a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usernames {
    /// A username stands for its handle: for older clients, on loopback.
    Trusted,
    /// A call needs a handle.
    NotTrusted,
}

/// Whether the list of tools has the schemas of results. They are two fifths of it, and few clients
/// show them to models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputSchemas {
    /// The list has the schemas.
    Listed,
    /// The list leaves the schemas out.
    LeftOut,
}

/// Whether each request is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessLog {
    /// The log has a line for each request.
    Written,
    /// The log has no line for a request.
    #[default]
    Absent,
}

/// Whether the fixtures of the official conformance suite are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConformanceFixtures {
    /// The server serves the fixtures.
    Served,
    /// The server has no fixtures.
    Absent,
}
