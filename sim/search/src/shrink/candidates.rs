//! Checks candidates: whether a plan still violates the property.

use crate::panics::catch_panic;
use crate::runner::RunSeed;
use sim_model::outcome::{PANIC, Progress, Violation};
use sim_model::plan::{Plan, Step, Workload};

use chat_types::Span;

/// The result of a candidate's run.
#[derive(Clone, Debug)]
pub(super) struct CandidateRun {
    /// The first violation of the property.
    pub(super) violation: Violation,
    /// The trace hash; none if the run panicked.
    pub(super) trace_hash: Option<u64>,
    /// The numbers of users and steps.
    pub(super) users: u64,
    pub(super) steps: u64,
}

/// Checks candidates until the time is up.
pub(super) struct Shrinker<'a> {
    pub(super) run: RunSeed<'a>,
    pub(super) seed: u64,
    /// The property that must be violated.
    pub(super) property: String,
    /// For a panic, its message without digits: another message is another bug.
    panic: Option<String>,
    /// Whether time is left.
    pub(super) time_left: &'a dyn Fn() -> bool,
    /// Receives the progress: the number of runs, and the steps of the smallest plan.
    pub(super) tell: &'a mut dyn FnMut(u64, usize),
    pub(super) runs: u64,
}

impl<'a> Shrinker<'a> {
    pub(super) fn new(
        run: RunSeed<'a>,
        seed: u64,
        property: &'a str,
        time_left: &'a dyn Fn() -> bool,
        tell: &'a mut dyn FnMut(u64, usize),
    ) -> Self {
        Self {
            run,
            seed,
            property: property.to_owned(),
            panic: None,
            time_left,
            tell,
            runs: 0,
        }
    }

    /// Runs a plan once, and returns its violation of the property.
    pub(super) fn run_candidate(&mut self, plan: &Plan) -> Option<CandidateRun> {
        self.runs += 1;
        let (run, seed) = (self.run, self.seed);
        match catch_panic(|| run(plan, seed, &Progress::default(), None)) {
            Ok(outcome) => {
                let is_it = |violation: &Violation| violation.property == self.property;
                let violation = outcome.violations.into_iter().find(is_it)?;
                Some(CandidateRun {
                    violation,
                    trace_hash: Some(outcome.trace_hash),
                    users: outcome.users,
                    steps: outcome.steps,
                })
            }
            Err(words) if self.property == PANIC => {
                let violation = Violation::of_panic(&words, 0);
                let cause = &violation.subject.cause;
                let same = self.panic.get_or_insert_with(|| cause.clone()) == cause;
                same.then_some(CandidateRun {
                    violation,
                    trace_hash: None,
                    users: 0,
                    steps: 0,
                })
            }
            Err(_) => None,
        }
    }

    /// The property that a run of the plan violates first, if the judge finds that by this time. A
    /// panic counts at any time.
    pub(super) fn violated_by(&mut self, plan: &Plan, until: Span) -> Option<String> {
        self.runs += 1;
        let (run, seed) = (self.run, self.seed);
        match catch_panic(|| run(plan, seed, &Progress::default(), None)) {
            Ok(outcome) => {
                let first = outcome.violations.into_iter().next()?;
                (first.at <= until).then_some(first.property)
            }
            Err(_) => Some(PANIC.into()),
        }
    }

    /// Whether a candidate still violates the property. Always false once the time is up.
    pub(super) fn still_fails(&mut self, plan: &Plan) -> bool {
        (self.time_left)() && plan.server.check().is_ok() && self.run_candidate(plan).is_some()
    }

    /// Changes the plan, and keeps the change if the property is still violated.
    pub(super) fn attempt(&mut self, plan: &mut Plan, change: impl FnOnce(&mut Plan)) -> bool {
        let mut changed = plan.clone();
        change(&mut changed);
        let better = self.still_fails(&changed);
        if better {
            *plan = changed;
            (self.tell)(self.runs, steps(plan));
        }
        better
    }
}

/// The number of steps of a plan: in the steps form, or in the flows of its personas.
pub(super) fn steps(plan: &Plan) -> usize {
    match &plan.workload {
        Workload::Steps { steps, .. } => steps.len(),
        Workload::Phases { personas, .. } => {
            let flows = personas.iter().map(|persona| in_flow(&persona.flow));
            flows.sum()
        }
    }
}

fn in_flow(flow: &[Step]) -> usize {
    let count = |step: &Step| match step {
        Step::Loop { steps, .. } => in_flow(steps),
        Step::Choose(choices) => choices.iter().map(|choice| in_flow(&choice.steps)).sum(),
        Step::Call(_) | Step::Await { .. } | Step::Think(_) | Step::Disconnect(_) => 1,
    };
    flow.iter().map(count).sum()
}
