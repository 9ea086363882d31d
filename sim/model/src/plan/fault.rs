//! Faults, and when they occur.

mod harm;
mod kind;

pub use harm::{ClientHarm, Harm, Outage, Stored, Victims};
pub use kind::{FaultKind, FaultRow, Registrations, Strikes};

use std::fmt;
use std::sync::Arc;

use chat_types::Span;

use super::{Plan, ScriptUser};
use crate::draw::{Actor, Draw, Quantiles};

/// The most times that a fault of one run repeats.
pub const MAX_REPEATS: u64 = 1_000;

/// A fault, as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its time; the first, if it repeats. With a milestone, the time from which the milestone
    /// counts.
    pub at: Span,
    /// The milestone that it waits for.
    pub milestone: Option<Milestone>,
    /// The repetitions, which each run draws from its seed.
    pub repeats: Option<Repeats>,
    /// Its kind.
    pub kind: FaultKind,
    /// Whether a run without it is useful, so that it is left out where it is impossible: a live server
    /// cannot be crashed from outside.
    pub is_optional: bool,
}

impl Fault {
    /// The fault that strikes once, at this time.
    #[must_use]
    pub const fn once(at: Span, kind: FaultKind) -> Self {
        Self {
            at,
            milestone: None,
            repeats: None,
            kind,
            is_optional: false,
        }
    }

    /// The fault in words, with its milestone. `users` are those of the steps form.
    #[must_use]
    pub fn words(&self, users: &[ScriptUser]) -> String {
        let words = self.kind.words(users);
        match &self.milestone {
            Some(milestone) => format!("{words}, at {milestone}"),
            None => words,
        }
    }

    /// Shortens it to this length, if it lasts longer.
    pub fn shorten(&mut self, most: Span) {
        if let Some(length) = self.kind.length_mut() {
            *length = (*length).min(most);
        }
    }
}

/// The repetitions of a fault, until the end of the safety phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeats {
    /// The time from one start to the next, in microseconds.
    pub every: Arc<Quantiles>,
    /// Whether it starts at its time at first; otherwise a drawn time after the start of the run.
    pub starts_at_once: bool,
}

impl Plan {
    /// The faults of the run with this seed, ordered by time: those that repeat as often as they
    /// end within the safety phase, each with its time.
    #[must_use]
    pub fn faults_of(&self, seed: u64) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (index, fault) in (0..).zip(&self.faults) {
            let Some(repeats) = &fault.repeats else {
                faults.push(fault.clone());
                continue;
            };
            let mut draw = Draw::new(seed, Actor::Repeats(index));
            // In whole milliseconds, as scenarios are written.
            let mut gap = || Span::millis(Span(repeats.every.draw(&mut draw)).as_millis());
            let mut at = match repeats.starts_at_once {
                true => fault.at,
                false => gap(),
            };
            for _ in 0..MAX_REPEATS {
                if at + fault.kind.length() > self.duration {
                    break;
                }
                faults.push(Fault {
                    at,
                    repeats: None,
                    ..fault.clone()
                });
                at = at + gap();
            }
        }
        if self.faults.iter().any(|fault| fault.repeats.is_some()) {
            // A stable sort: faults at the same time keep their order.
            faults.sort_by_key(|fault| fault.at);
        }
        faults
    }

    /// The plan of the run with this seed, in which no fault repeats.
    #[must_use]
    pub fn of_seed(&self, seed: u64) -> Self {
        Self {
            faults: self.faults_of(seed),
            ..self.clone()
        }
    }
}

/// An event of a run with a count: a fault that waits for it strikes when the event has happened
/// that often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Milestone {
    /// The event.
    pub reached: Reached,
    /// The count, from 1.
    pub count: u32,
}

/// The events that can be milestones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// A `sometimes` point, by its name: when a client or the world reaches it.
    Sometimes(&'static str),
    /// A transition of a stick or of a claim on it, by its name: when it is committed, before its
    /// answers and events leave.
    Stick(&'static str),
    /// A timer that fires, by its kind: when that is committed, before its answers and events
    /// leave.
    Timer(&'static str),
}

impl Reached {
    /// Its key in a scenario, and its name under that key.
    #[must_use]
    pub const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Sometimes(name) => ("sometimes", name),
            Self::Stick(name) => ("stick", name),
            Self::Timer(name) => ("timer", name),
        }
    }
}

/// `match 3`, `released_by_push 1`.
impl fmt::Display for Milestone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name) = self.reached.words();
        write!(f, "{name} {}", self.count)
    }
}
