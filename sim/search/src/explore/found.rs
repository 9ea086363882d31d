//! What was violated: once for each property and cause.

use sim_model::outcome::{Class, Trial, Violation};

/// A violation, and all others like it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The property's name, or `panic`.
    pub property: String,
    /// Its kind.
    pub class: Class,
    /// What all of them have in common.
    pub cause: String,
    /// The first one's sentence.
    pub detail: String,
    /// The first trial that showed it.
    pub trial: Trial,
    /// That trial's trace hash; none if it broke off.
    pub trace_hash: Option<u64>,
    /// How many trials showed it.
    pub trials: u64,
    /// The last of them, so that none counts twice.
    last: u64,
}

/// All failures, in the order in which they were found.
#[derive(Clone, Debug, Default)]
pub struct Failures(Vec<Failure>);

impl Failures {
    pub(super) fn add(
        &mut self,
        trial: &Trial,
        trace_hash: Option<u64>,
        class: Class,
        violation: &Violation,
    ) {
        let (property, cause) = (&violation.property, &violation.subject.cause);
        let same = |one: &&mut Failure| one.property == *property && one.cause == *cause;
        if let Some(known) = self.0.iter_mut().find(same) {
            if known.last != trial.index {
                known.last = trial.index;
                known.trials += 1;
            }
            return;
        }
        self.0.push(Failure {
            property: property.clone(),
            class,
            cause: cause.clone(),
            detail: violation.detail.clone(),
            trial: trial.clone(),
            trace_hash,
            trials: 1,
            last: trial.index,
        });
    }

    /// One after another.
    pub fn iter(&self) -> impl Iterator<Item = &Failure> {
        self.0.iter()
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }
}
