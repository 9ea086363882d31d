//! The failures of an exploration: one for each property and cause.

use sim_model::outcome::{Class, FailureResult, Trial, Violation};

/// All failures, in order of discovery, each with the number of the last trial with it.
#[derive(Clone, Debug, Default)]
pub struct Failures(Vec<(FailureResult, u64)>);

impl Failures {
    /// Adds a violation. A failure counts once for each trial.
    pub(super) fn add(&mut self, trial: &Trial, trace_hash: Option<u64>, violation: &Violation) {
        let (property, cause) = (&violation.property, &violation.subject.cause);
        let mut all = self.0.iter_mut();
        let known = all.find(|(it, _)| (&it.property, &it.cause) == (property, cause));
        if let Some((known, last)) = known {
            known.trials += u64::from(*last != trial.index);
            *last = trial.index;
            return;
        }
        let failure = FailureResult {
            property: property.clone(),
            class: Class::of(property),
            cause: cause.clone(),
            detail: violation.detail.clone(),
            trial: trial.clone(),
            drew: Vec::new(),
            trace_hash,
            trials: 1,
        };
        self.0.push((failure, trial.index));
    }

    /// The failures in order, without the drawn values of their trials.
    pub fn iter(&self) -> impl Iterator<Item = &FailureResult> {
        self.0.iter().map(|(failure, _)| failure)
    }

    /// The number of failures.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }
}
