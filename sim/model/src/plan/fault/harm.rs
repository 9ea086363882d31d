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
        Partition "partition" "partition" "link cut",
        /// They read nothing from their streams.
        SlowReaders "slow_readers" "slow readers" "reads nothing",
        /// Their processes are suspended: they neither send nor read nor handle timeouts.
        Suspend "suspend" "suspend" "suspended",
    }
}

impl ClientHarm {
    /// Its label on a timeline.
    #[must_use]
    pub const fn label(self) -> &'static str {
        self.word(1)
    }

    /// The state of one victim in words.
    #[must_use]
    pub const fn state(self) -> &'static str {
        self.word(2)
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
        Journal "journal" "journal damaged" "a record of the journal",
        /// A snapshot.
        Snapshot "snapshot" "snapshot damaged" "a snapshot",
        /// The file of marks, which says up to where answers have left. Torn, it has one mark of
        /// two.
        Mark "mark" "marks damaged" "the file of marks",
    }
}

impl Stored {
    /// Its damage on a timeline.
    #[must_use]
    pub const fn damaged(self) -> &'static str {
        self.word(1)
    }
}

impl Harm {
    /// The damage in words, such as `a bit of a snapshot flips`.
    #[must_use]
    pub fn of(self, stored: Stored) -> String {
        let file = stored.word(2);
        match self {
            Self::Flip => format!("a bit of {file} flips"),
            Self::Tear => format!("{file} is torn"),
            Self::Lose => format!("{file} is lost"),
        }
    }
}

chat_types::listed! {
    /// The kinds of outages, by their names in reports.
    Outage {
        /// A shutdown: the server refuses new calls, and finishes admitted ones first.
        Stop "stop",
        /// A crash; an append in progress was written.
        Crash "crash",
        /// A crash; an append in progress is lost.
        CrashUnsynced "crash, unsynced entries lost",
    }
}
