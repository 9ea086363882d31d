//! What happens to several servers and to the log that they share.

/// How many servers a fault needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServersNeeded {
    /// One, with a journal of its own.
    One,
    /// Several, with a log that they share.
    Several,
}

chat_types::listed! {
    /// What happens to one of several servers.
    MemberHarm {
        /// It crashes, and starts again.
        Crash "crash",
        /// It shuts down: it hands over, and starts again.
        Stop "stop",
        /// Its process is suspended.
        Pause "pause",
        /// It is cut off from the log and from the other servers.
        Cut "cut",
        /// It sends nothing to the log and to the other servers, and hears all.
        Mute "mute",
        /// It hears nothing of the log and of the other servers, and sends.
        Deaf "deaf",
    }
}

impl MemberHarm {
    /// Its label on a timeline.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Crash => "server crash",
            Self::Stop => "server stop",
            Self::Pause => "server pause",
            Self::Cut => "server cut",
            Self::Mute => "server mute",
            Self::Deaf => "server deaf",
        }
    }
}

chat_types::listed! {
    /// Which of several servers.
    Which {
        /// The one that owns the chat.
        Owner "owner",
        /// One that does not, drawn.
        Standby "standby",
    }
}

chat_types::listed! {
    /// What happens to a shared log.
    LogHarm {
        /// It has no leader.
        NoLeader "no_leader",
        /// One replica is behind.
        Lag "lag",
        /// One replica has lost one of the next records.
        Lose "lose",
        /// A bit of one of the next records flips in one replica.
        Flip "flip",
    }
}

impl Which {
    /// The server in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Owner => "the owner",
            Self::Standby => "a standby",
        }
    }
}

impl LogHarm {
    /// Its label on a timeline.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::NoLeader => "no leader",
            Self::Lag => "replica behind",
            Self::Lose => "record lost",
            Self::Flip => "bit flipped",
        }
    }
}
