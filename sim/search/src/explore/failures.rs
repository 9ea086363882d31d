//! The failures of an exploration: one for each property and cause.

use sim_model::outcome::{Class, Trial, Violation};

/// A violation, with the count of its repetitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The property's name, or `panic`.
    pub property: String,
    /// The property's class.
    pub class: Class,
    /// The cause.
    pub cause: String,
    /// The sentence of the first violation.
    pub detail: String,
    /// The first trial with it.
    pub trial: Trial,
    /// The trace hash of that trial; none if it panicked.
    pub trace_hash: Option<u64>,
    /// The number of trials with it.
    pub trials: u64,
    /// The last of them, so that each trial counts once.
    last: u64,
}

/// All failures, in order of discovery.
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

    /// The failures in order.
    pub fn iter(&self) -> impl Iterator<Item = &Failure> {
        self.0.iter()
    }

    /// The number of failures.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }
}
