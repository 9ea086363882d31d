//! Chance between servers and in their log. What is drawn depends on the instant and on what it is
//! drawn for, so that a smaller run draws the same for what it shares with a larger one.

use chat_types::{Span, Time, mix};

use super::Cluster;

/// What is drawn, and for which member or user.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// The way from a member to the log.
    ToLog(usize),
    /// The time of an append.
    Append(usize),
    /// Whether a log without a leader refuses an append or is silent.
    Silence(usize),
    /// When the second copy of a report comes.
    SecondReport(usize),
    /// When a record comes a second time.
    SecondRecord { site: usize, sequence: u64 },
    /// Whether an append that came twice is refused.
    Refused(usize),
    /// The way of what was read to a member.
    Found(usize),
    /// The way of new records to a member.
    Records(usize),
    /// The way between the door of a user and the owner.
    Door(u32),
    /// The member that a fault strikes.
    Struck,
    /// The replica that a fault strikes.
    Replica,
    /// The record that a fault strikes.
    Record,
    /// The secret of request keys.
    Keys,
}

impl Purpose {
    const fn key(self) -> u64 {
        let (kind, of) = match self {
            Self::ToLog(site) => (0, site as u64),
            Self::Append(site) => (1, site as u64),
            Self::Silence(site) => (2, site as u64),
            Self::SecondReport(site) => (3, site as u64),
            Self::Refused(site) => (4, site as u64),
            Self::Found(site) => (5, site as u64),
            Self::Records(site) => (6, site as u64),
            Self::Door(agent) => (7, agent as u64),
            Self::Struck => (8, 0),
            Self::Replica => (9, 0),
            Self::Record => (10, 0),
            Self::SecondRecord { site, sequence } => (11, (sequence << 8) | site as u64),
            Self::Keys => (12, 0),
        };
        mix(kind, of)
    }
}

impl Cluster {
    /// The time of a packet that leaves one machine for another now.
    pub(super) fn hop(&self, now: Time, purpose: Purpose) -> Span {
        Span::micros(100 + self.below(now, purpose, 900))
    }

    /// Draws a number below `n` for something at this instant.
    pub(super) fn below(&self, now: Time, purpose: Purpose, n: u64) -> u64 {
        self.draw.below(now, purpose.key(), n)
    }

    /// Draws 64 bits for something at this instant.
    pub(super) const fn bits(&self, now: Time, purpose: Purpose) -> u64 {
        self.draw.bits(now, purpose.key())
    }
}
