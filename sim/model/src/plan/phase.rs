//! Phases, in which users arrive.

use chat_types::Span;

/// A period in which users arrive.
#[derive(Clone, Debug)]
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

/// The distribution of arrivals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArrivalMode {
    /// Evenly spaced.
    #[default]
    Uniform,
    /// Independent of one another.
    Poisson,
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
