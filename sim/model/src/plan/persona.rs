//! Personas, with their flows, manners and habits, and the phases in which they arrive.

use std::sync::Arc;

use chat_types::Span;

use super::Step;
use crate::draw::Ratio;
use crate::protocol::ReadBy;

/// A persona: a kind of user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Persona {
    /// Its name.
    pub name: String,
    /// How many of the users it is.
    pub frequency: Frequency,
    /// Its deviations from a perfect client.
    pub habits: Habits,
    /// Whether it holds an event stream.
    pub stream: bool,
    /// Its profile of performing the flow.
    pub profile: ClientProfile,
    /// Its flow.
    pub flow: Arc<[Step]>,
}

/// How many of the users a persona is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frequency {
    /// Drawn by this weight against the others, of the users that are not counted.
    Weight(u32),
    /// Exactly this number of users, drawn from all.
    Count(u32),
}

impl Frequency {
    /// The weight; 0 if the users are counted.
    #[must_use]
    pub const fn weight(self) -> u32 {
        match self {
            Self::Weight(weight) => weight,
            Self::Count(_) => 0,
        }
    }

    /// The number of users; 0 if they are drawn by weight.
    #[must_use]
    pub const fn count(self) -> u32 {
        match self {
            Self::Weight(_) => 0,
            Self::Count(users) => users,
        }
    }
}

/// A persona's profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientProfile {
    /// The secret by which it opens its stream.
    pub stream_by: ReadBy,
    /// Its way of reading the inbox.
    pub reads: Reads,
    /// Its names.
    pub names: Naming,
}

chat_types::listed! {
    /// A user's way of reading its inbox.
    #[derive(Default)]
    Reads {
        /// By its stream, and by checks if the stream has a hole or is down.
        #[default]
        Exactly "exactly",
        /// By its stream alone: each opening starts after the last event it has, and missing events
        /// before that are never requested.
        ByStream "stream",
        /// By checks, once its waker has knocked. Until then it sleeps: it has no stream, and calls
        /// nothing.
        Knocked "knocked",
    }
}

chat_types::listed! {
    /// The names of users.
    #[derive(Default)]
    Naming {
        /// The persona's name and the user's number.
        #[default]
        Given "given",
        /// That name after a word in some script.
        Scripts "scripts",
        /// One of a few names in some spelling: most look like another user's.
        Alike "alike",
        /// Names and cursors at the limits of what a server allows, or beyond.
        Odd "odd",
        /// No name in the queue, unless the flow gives one; the usual name in a room.
        Unnamed "unnamed",
    }
}

/// Habits of real clients. Each is drawn for every call, but `bare_check` and `no_key` once for
/// each user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Habits {
    /// Never passes `after` to `check`.
    pub bare_check: Ratio,
    /// Forgets its handle and registers again (drawn before each step of the flow).
    pub forget_handle: Ratio,
    /// Gives a call up after 60 s, or at the first timeout if that is earlier.
    pub abandon: Ratio,
    /// Waits for an answer no longer than its timeout, also where the server may hold the call.
    pub impatient: Ratio,
    /// Sends the next step's call without waiting for this one's answer.
    pub parallel: Ratio,
    /// Retries without a request key.
    pub no_key: Ratio,
    /// Opens a second stream beside one that just opened, and closes the first after a while.
    pub second_stream: Ratio,
    /// Addresses a message to its partner, or to the last speaker.
    pub address: Ratio,
    /// Makes calls outside of its flow, in any room it knows (drawn before each step).
    pub stray: Ratio,
}

/// A period in which users arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Its name, for reports.
    pub name: String,
    /// Its length.
    pub duration: Span,
    /// The arrivals.
    pub arrivals: Arrivals,
    /// The largest number of users.
    pub max_users: Option<u32>,
}

/// The arrivals of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// No user arrives.
    Pause,
    /// This number of users.
    Count {
        /// The number.
        users: u32,
        /// The distribution of their arrivals over the phase.
        mode: ArrivalMode,
    },
    /// A rate in thousandths of a user per second, which changes linearly.
    Rate {
        /// At the start of the phase.
        from_milli: u64,
        /// At its end.
        to_milli: u64,
        /// The distribution of arrivals.
        mode: ArrivalMode,
    },
}

chat_types::listed! {
    /// The distribution of arrivals.
    #[derive(Default)]
    ArrivalMode {
        /// Evenly spaced.
        #[default]
        Uniform "uniform",
        /// Independent of one another.
        Poisson "poisson",
    }
}

impl Phase {
    /// The number of users that come; where chance decides the number, its mean.
    #[must_use]
    pub fn users(&self) -> u64 {
        let users = match self.arrivals {
            Arrivals::Pause => 0,
            Arrivals::Count { users, .. } => u64::from(users),
            Arrivals::Rate {
                from_milli,
                to_milli,
                ..
            } => {
                // The k-th user comes when the expected number is k + 1/2.
                let twice = u128::from(from_milli + to_milli) * u128::from(self.duration.0);
                let number = twice.saturating_sub(1_000_000_000).div_ceil(2_000_000_000);
                u64::try_from(number).unwrap_or(u64::MAX)
            }
        };
        self.max_users
            .map_or(users, |most| users.min(u64::from(most)))
    }

    /// Whether chance decides the number of users.
    #[must_use]
    pub const fn is_random(&self) -> bool {
        matches!(
            self.arrivals,
            Arrivals::Rate {
                mode: ArrivalMode::Poisson,
                ..
            }
        )
    }
}
