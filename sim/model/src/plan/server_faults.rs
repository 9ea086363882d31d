//! What happens to several servers and to the log that they share.

/// How many servers a fault needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServersNeeded {
    /// One, with a journal of its own.
    One,
    /// Several, with a log that they share.
    Several,
    /// Several whose owner answers reads strictly: leases do not allow for the fault.
    Strict,
}

/// By how many percent clocks may be wrong so that leases hold: a lease of two seconds by a clock
/// that is so slow is over before a silence of three seconds by a clock that is so fast.
pub const LEASE_DRIFT: u32 = 10;

pub use chat_types::OwnerReads;

chat_types::listed! {
    /// What happens to one of several servers.
    MemberHarm {
        /// It crashes, and starts again.
        Crash "crash" "server crash",
        /// It shuts down: it hands over, and starts again.
        Stop "stop" "server stop",
        /// Its process is suspended.
        Pause "pause" "server pause",
        /// Its machine stands still, and its clock with it.
        Freeze "freeze" "server freeze",
        /// Its clock runs too fast.
        Fast "fast" "clock too fast",
        /// Its clock runs too slow.
        Slow "slow" "clock too slow",
        /// It is cut off from the log and from the other servers.
        Cut "cut" "server cut",
        /// It sends nothing to the log and to the other servers, and hears all.
        Mute "mute" "server mute",
        /// It hears nothing of the log and of the other servers, and sends.
        Deaf "deaf" "server deaf",
    }
}

impl MemberHarm {
    /// Whether it changes the rate of the server's clock.
    #[must_use]
    pub const fn is_drift(self) -> bool {
        matches!(self, Self::Fast | Self::Slow)
    }

    /// Whether it is beyond what leases allow for: a clock that stands still, or one that is wrong
    /// by more than [`LEASE_DRIFT`]. Only strict reads are right then.
    #[must_use]
    pub const fn is_beyond_leases(self, percent: u32) -> bool {
        matches!(self, Self::Freeze) || self.is_drift() && percent > LEASE_DRIFT
    }

    /// This harm, if reads of this kind stay right under it. A frozen machine becomes a suspended process
    /// with leases.
    #[must_use]
    pub const fn within(self, reads: OwnerReads) -> Self {
        match (self, reads) {
            (Self::Freeze, OwnerReads::Lease) => Self::Pause,
            (harm, OwnerReads::Lease | OwnerReads::Strict) => harm,
        }
    }

    /// What happens to the server, in words; its clock is wrong by so many percent, if it drifts.
    pub(super) fn words(self, which: Which, percent: u32) -> String {
        let (name, which) = (self.name(), which.words());
        if self.is_drift() {
            format!("the clock of {which} is {percent} % too {name}")
        } else {
            format!("{name} of {which}")
        }
    }

    /// Its label on a timeline.
    #[must_use]
    pub const fn label(self) -> &'static str {
        self.word(1)
    }
}

chat_types::listed! {
    /// Which of several servers.
    Which {
        /// The one that owns the chat.
        Owner "owner" "the owner",
        /// One that does not, drawn.
        Standby "standby" "a standby",
    }
}

chat_types::listed! {
    /// What happens to a shared log.
    LogHarm {
        /// It has no leader.
        NoLeader "no_leader" "no leader",
        /// One replica is behind.
        Lag "lag" "replica behind",
        /// One replica has lost one of the next records.
        Lose "lose" "record lost",
        /// A bit of one of the next records flips in one replica.
        Flip "flip" "bit flipped",
        /// Reports of appends, and records for servers that follow the log, come a second time,
        /// late.
        Double "double" "reports doubled",
    }
}

impl Which {
    /// The server in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        self.word(1)
    }
}

impl LogHarm {
    /// Whether the harm stays when the fault ends.
    #[must_use]
    pub const fn stays(self) -> bool {
        matches!(self, Self::Lose | Self::Flip)
    }

    /// Its label on a timeline.
    #[must_use]
    pub const fn label(self) -> &'static str {
        self.word(1)
    }
}
