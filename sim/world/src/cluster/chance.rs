//! Chance between servers and in their log. What is drawn depends on the instant and on what it is
//! drawn for, so that a smaller run draws the same for what it shares with a larger one.

use chat_types::{Span, Time, mix};

use super::Cluster;

/// What is drawn. Each purpose goes with the number of whom it is drawn for: a member, a user, a
/// record of a member, or 0.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// The way from a member to the log.
    ToLog = 0,
    /// The time of an append.
    Append = 1,
    /// Whether a log without a leader refuses an append or is silent.
    Silence = 2,
    /// When the second copy of a report comes.
    SecondReport = 3,
    /// Whether an append that came twice is refused.
    Refused = 4,
    /// The way of what was read to a member.
    Found = 5,
    /// The way of new records to a member.
    Records = 6,
    /// The way between the door of a user and the owner.
    Door = 7,
    /// The member that a fault strikes.
    Struck = 8,
    /// The replica that a fault strikes.
    Replica = 9,
    /// The record that a fault strikes.
    Record = 10,
    /// When a record comes a second time.
    SecondRecord = 11,
    /// The secret of request keys.
    Keys = 12,
}

impl Cluster {
    /// The time of a packet that leaves one machine for another now.
    pub(super) fn hop(&self, now: Time, purpose: (Purpose, u64)) -> Span {
        Span::micros(100 + self.below(now, purpose, 900))
    }

    /// Draws a number below `n` for something at this instant.
    pub(super) fn below(&self, now: Time, (purpose, of): (Purpose, u64), n: u64) -> u64 {
        self.draw.below(now, mix(purpose as u64, of), n)
    }

    /// Draws 64 bits for something at this instant.
    pub(super) fn bits(&self, now: Time, (purpose, of): (Purpose, u64)) -> u64 {
        self.draw.bits(now, mix(purpose as u64, of))
    }
}
