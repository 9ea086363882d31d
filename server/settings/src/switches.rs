//! What a switch turns on or off, each as a type of its own.

/// Declares the type of a switch: what it is with the flag, then what it is without.
macro_rules! switch {
    ($(#[$of:meta])* $name:ident { $(#[$is_on:meta])* $on:ident, $(#[$is_off:meta])* $off:ident }) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $name { $(#[$is_on])* $on, $(#[$is_off])* #[default] $off }

        impl From<bool> for $name {
            fn from(given: bool) -> Self {
                match given {
                    true => Self::$on,
                    false => Self::$off,
                }
            }
        }
    };
}

switch! {
    /// Whether a username replaces a handle.
    Usernames {
        /// A username stands for its handle: for older clients, on loopback.
        Trusted,
        /// A call needs a handle.
        NotTrusted
    }
}

switch! {
    /// Whether the list of tools has the schemas of results. They are two fifths of it, and few
    /// clients show them to models.
    OutputSchemas {
        /// The list leaves the schemas out.
        LeftOut,
        /// The list has the schemas.
        Listed
    }
}

switch! {
    /// Whether each request is logged.
    AccessLog {
        /// The log has a line for each request.
        Written,
        /// The log has no line for a request.
        Absent
    }
}

switch! {
    /// Whether a server starts from a journal that has lost acknowledged entries.
    LossRule {
        /// The server starts: an operator accepts the loss.
        Accepted,
        /// The server refuses to start.
        Refused
    }
}

switch! {
    /// Who says that the servers of a cluster sync each record to their disks before they
    /// acknowledge it.
    SyncProof {
        /// The operator.
        Vouched,
        /// Their monitoring.
        Asked
    }
}
