//! Checks candidates: whether a plan still violates the property.

use super::ShrinkContext;
use super::ddmin::Find;
use crate::panics::catch_panic;
use crate::runner::Ended;
use chat_types::Span;
use sim_judge::SeedOutcome;
use sim_model::outcome::{PANIC, Progress, Violation};
use sim_model::plan::Plan;

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
    pub(super) context: ShrinkContext<'a>,
    pub(super) seed: u64,
    /// The property that must be violated.
    pub(super) property: String,
    /// For a panic, its message without digits: another message is another bug.
    pub(super) panic: Option<String>,
    pub(super) runs: u64,
}

impl Shrinker<'_> {
    fn run(&mut self, plan: &Plan) -> Ended<SeedOutcome> {
        self.runs += 1;
        catch_panic(|| (self.context.run)(plan, self.seed, &Progress::default(), None))
    }

    /// Runs a plan once, and returns its violation of the property.
    pub(super) fn run_candidate(&mut self, plan: &Plan) -> Option<CandidateRun> {
        match self.run(plan) {
            Ok(outcome) => {
                let is_it = |violation: &Violation| violation.property == self.property;
                let violation = outcome.violations.into_iter().find(is_it)?;
                Some(CandidateRun {
                    violation,
                    trace_hash: Some(outcome.ran.trace_hash),
                    users: outcome.ran.users.len() as u64,
                    steps: outcome.ran.steps,
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
        match self.run(plan) {
            Ok(outcome) => {
                let first = outcome.violations.into_iter().next()?;
                (first.at <= until).then_some(first.property)
            }
            Err(_) => Some(PANIC.into()),
        }
    }

    /// Whether a candidate still violates the property. Always false once the time is up.
    pub(super) fn still_fails(&mut self, plan: &Plan) -> bool {
        let may_run = (self.context.time_left)() && plan.server.check().is_ok();
        may_run && self.run_candidate(plan).is_some()
    }

    /// Whether the smaller plan still fails. If so, reports progress.
    pub(super) fn check_smaller(&mut self, plan: &Plan) -> bool {
        let better = self.still_fails(plan);
        if better {
            (self.context.tell)(self.runs, steps(plan));
        }
        better
    }

    /// Changes the plan, and keeps the change if the property is still violated. Returns false also if
    /// there was nothing to change.
    pub(super) fn attempt(&mut self, plan: &mut Plan, change: impl FnOnce(&mut Plan)) -> bool {
        let mut changed = plan.clone();
        change(&mut changed);
        let better = changed != *plan && self.check_smaller(&changed);
        if better {
            *plan = changed;
        }
        better
    }

    /// Changes the plan by each of these in turn, until the property is still violated.
    pub(super) fn attempt_first<T>(
        &mut self,
        plan: &mut Plan,
        changes: impl IntoIterator<Item = T>,
        change: impl Fn(&mut Plan, T),
    ) {
        let mut changes = changes.into_iter();
        changes.any(|to| self.attempt(plan, |plan| change(plan, to)));
    }

    /// Keeps as few of these parts as possible, but at least one. `keep` leaves only some of them in
    /// a plan, and `find` removes parts of a list.
    pub(super) fn reduce<T: Clone>(
        &mut self,
        plan: &mut Plan,
        parts: &[T],
        keep: &dyn Fn(&mut Plan, &[T]),
        find: Find<'_, T>,
    ) {
        let kept = find(parts, &mut |some| {
            !some.is_empty() && self.check_smaller(&with(plan, some, keep))
        });
        if !kept.is_empty() && kept.len() < parts.len() {
            keep(plan, &kept);
        }
    }
}

/// The plan with only some of its parts.
pub(super) fn with<T>(plan: &Plan, some: &[T], keep: &dyn Fn(&mut Plan, &[T])) -> Plan {
    let mut smaller = plan.clone();
    keep(&mut smaller, some);
    smaller
}

/// The number of steps of a plan: in the steps form, or in the flows of its personas.
pub(super) fn steps(plan: &Plan) -> usize {
    plan.workload.single_steps().len()
}
