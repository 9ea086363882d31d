//! What happens to clients, to the server and to its files.

use super::super::{ScriptUser, user_name};
use crate::draw::{Draw, Ratio};

/// The victims of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Victims {
    /// Each present user, with this probability.
    Share(Ratio),
    /// These users (indices into `users` of the steps form).
    Users(Vec<u32>),
}

impl Victims {
    /// The victims of one fault, in order; a share is drawn from those who are there.
    pub fn strike(&self, there: impl Iterator<Item = u32>, draw: &mut Draw) -> Vec<u32> {
        match self {
            Self::Share(share) => there.filter(|_| draw.chance(*share)).collect(),
            Self::Users(users) => users.clone(),
        }
    }

    /// The victims in words: `1/4`, `alice, bob`.
    pub(super) fn words(&self, users: &[ScriptUser]) -> String {
        match self {
            Self::Share(share) => share.to_string(),
            Self::Users(those) => {
                let names: Vec<&str> = those.iter().map(|user| user_name(users, *user)).collect();
                names.join(", ")
            }
        }
    }
}

chat_types::listed! {
    /// What happens to clients, in the simulator and in a live run alike.
    ClientHarm {
        /// No packet passes between them and the server.
        Partition "partition",
        /// They read nothing from their streams.
        SlowReaders "slow_readers",
        /// Their processes are suspended: they neither send nor read nor handle timeouts.
        Suspend "suspend",
    }
}

impl ClientHarm {
    /// Its label on a timeline.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Partition => "partition",
            Self::SlowReaders => "slow readers",
            Self::Suspend => "suspend",
        }
    }

    /// The state of one victim in words.
    #[must_use]
    pub const fn state(self) -> &'static str {
        match self {
            Self::Partition => "link cut",
            Self::SlowReaders => "reads nothing",
            Self::Suspend => "suspended",
        }
    }
}

chat_types::listed! {
    /// The kinds of damage to a stored file.
    Harm {
        /// One bit changes.
        Flip "flip",
        /// Its end is missing.
        Tear "tear",
        /// It is missing.
        Lose "lose",
    }
}

chat_types::listed! {
    /// The kinds of stored files.
    Stored {
        /// A record of the journal.
        Journal "journal",
        /// A snapshot.
        Snapshot "snapshot",
        /// The file of marks, which says up to where answers have left. Torn, it has one mark of
        /// two.
        Mark "mark",
    }
}

impl Stored {
    /// Its damage on a timeline.
    #[must_use]
    pub const fn damaged(self) -> &'static str {
        match self {
            Self::Journal => "journal damaged",
            Self::Snapshot => "snapshot damaged",
            Self::Mark => "marks damaged",
        }
    }
}

impl Harm {
    /// The damage in words, such as `a bit of a snapshot flips`.
    #[must_use]
    pub fn of(self, stored: Stored) -> String {
        let file = match stored {
            Stored::Journal => "a record of the journal",
            Stored::Snapshot => "a snapshot",
            Stored::Mark => "the file of marks",
        };
        match self {
            Self::Flip => format!("a bit of {file} flips"),
            Self::Tear => format!("{file} is torn"),
            Self::Lose => format!("{file} is lost"),
        }
    }
}

/// The kinds of outages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// A shutdown: the server refuses new calls, and finishes admitted ones first.
    Stop,
    /// A crash; an append in progress was written.
    Crash,
    /// A crash; an append in progress is lost.
    CrashUnsynced,
}

impl Outage {
    /// Its name in reports.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Crash => "crash",
            Self::CrashUnsynced => "crash, unsynced entries lost",
        }
    }
}
