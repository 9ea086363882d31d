//! A pass that shortens and rounds times.

use chat_types::Span;
use serde_json::Value as Json;

use super::candidates::{Shrinker, steps};
use super::simplify::{entries, set, step_mut};
use sim_model::plan::{Delivery, Plan, Step, Workload};

/// Round times, the shortest first. A pause of zero would be no pause.
const ROUND_MS: [u64; 15] = [
    10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000,
    300_000,
];

/// A plan with this few steps needs no further passes.
const FEW_STEPS: usize = 4;

/// The longest duration that is tried to make other steps unnecessary.
const LONG: Span = Span::secs(60);

/// The liveness phase for a violation that has already occurred.
const SOON: Span = Span::secs(2);

/// The time between the last event and the end of the safety phase.
const REST: Span = Span::millis(100);

impl Shrinker<'_> {
    pub(super) fn compress_time(&mut self, plan: &mut Plan) {
        self.space_evenly(plan);
        self.shorten_pauses(plan);
        self.shorten_lengths(plan);
        self.shorten_deliveries(plan);
        self.shorten_server_times(plan);
        self.shorten_phases(plan);
    }

    /// Removes all that follows the violation, and shortens the run to it: later candidates then
    /// run faster.
    pub(super) fn cut_after_violation(&mut self, plan: &mut Plan) {
        let Some(seen) = self.run_candidate(plan) else {
            return;
        };
        // One whole millisecond after the violation, because its time is reported in milliseconds.
        let shown = Span::millis(seen.violation.at.as_millis() + 1);
        self.attempt(plan, |plan| {
            if let Workload::Steps { steps, .. } = &mut plan.workload {
                steps.retain(|step| step.at <= shown);
            }
            plan.faults.retain(|fault| fault.at <= shown);
            plan.duration = end(plan).max(shown) + REST;
        });
        self.attempt(plan, |plan| plan.liveness = SOON);
    }

    /// Lengthens faults and absences where that makes other steps unnecessary, which had to fall
    /// into them.
    pub(super) fn lengthen(&mut self, plan: &mut Plan) {
        for index in 0..plan.faults.len() + steps(plan) {
            if steps(plan) <= FEW_STEPS {
                return;
            }
            let mut longer = plan.clone();
            let Some(length) = lasting_mut(&mut longer, index) else {
                continue;
            };
            *length = Span(length.0.saturating_mul(10)).min(LONG);
            longer.duration = longer.duration.max(end(&longer) + REST);
            if self.still_fails(&longer) {
                self.remove_steps(&mut longer);
                if steps(&longer) < steps(plan) {
                    *plan = longer;
                }
            }
        }
    }

    /// Tries steps every ten milliseconds, in case the pauses do not matter.
    fn space_evenly(&mut self, plan: &mut Plan) {
        let moments = moments(plan);
        self.attempt(plan, |plan| {
            let at = |index: usize| Span::millis(10 * index as u64);
            move_to(plan, &|moment| {
                let index = moments.iter().position(|m| *m == moment);
                index.map_or(moment, at)
            });
        });
    }

    /// Shortens or rounds each pause between two moments.
    fn shorten_pauses(&mut self, plan: &mut Plan) {
        for index in 0..moments(plan).len() {
            let all = moments(plan);
            let Some(moment) = all.get(index).copied() else {
                return;
            };
            let before = match index.checked_sub(1) {
                Some(before) => all[before],
                None => Span::ZERO,
            };
            let pause = moment - before;
            let wanted = if index == 0 {
                vec![Span::ZERO]
            } else {
                shorter(pause)
            };
            for shorter in wanted {
                let earlier = pause - shorter;
                let is_shortened = self.attempt(plan, |plan| {
                    move_to(plan, &|at| if at >= moment { at - earlier } else { at });
                });
                if is_shortened {
                    break;
                }
            }
        }
    }

    /// Shortens faults, absences and waits.
    fn shorten_lengths(&mut self, plan: &mut Plan) {
        for index in 0..plan.faults.len() {
            let Some(length) = plan.faults[index].kind.length_mut().copied() else {
                continue;
            };
            for shorter in shorter(length) {
                let change = |plan: &mut Plan| {
                    if let Some(length) = plan.faults[index].kind.length_mut() {
                        *length = shorter;
                    }
                };
                if self.attempt(plan, change) {
                    break;
                }
            }
        }
        for index in 0..steps(plan) {
            let Some(length) = step_mut(plan, index).and_then(|s| step_length(&mut s.what)) else {
                continue;
            };
            for shorter in shorter(*length) {
                let change = |plan: &mut Plan| {
                    if let Some(length) =
                        step_mut(plan, index).and_then(|step| step_length(&mut step.what))
                    {
                        *length = shorter;
                    }
                };
                if self.attempt(plan, change) {
                    break;
                }
            }
        }
    }

    /// Shortens recorded deliveries.
    fn shorten_deliveries(&mut self, plan: &mut Plan) {
        for index in 0..steps(plan) {
            for which in 0..4 {
                let Some(length) = delivery_mut(plan, index, which).copied() else {
                    continue;
                };
                for shorter in shorter(length) {
                    let change = |plan: &mut Plan| {
                        if let Some(length) = delivery_mut(plan, index, which) {
                            *length = shorter;
                        }
                    };
                    if self.attempt(plan, change) {
                        break;
                    }
                }
            }
        }
    }

    /// Shortens unusual leases and patience.
    fn shorten_server_times(&mut self, plan: &mut Plan) {
        let usual = entries(&chat_types::Config::default());
        for (key, value) in entries(&plan.server) {
            let Some(Ok(length)) = value.as_str().map(Span::parse) else {
                continue;
            };
            if usual.get(&key) == Some(&value) {
                continue;
            }
            for shorter in shorter(length) {
                let to = Json::from(shorter.to_string());
                if self.attempt(plan, |plan| set(&mut plan.server, &key, to)) {
                    break;
                }
            }
        }
    }

    /// Shortens the two phases.
    fn shorten_phases(&mut self, plan: &mut Plan) {
        let last = end(plan) + REST;
        let round = ROUND_MS.map(Span::millis);
        let enough = round.into_iter().find(|length| *length >= last);
        for duration in [enough, Some(last)].into_iter().flatten() {
            if duration < plan.duration && self.attempt(plan, |plan| plan.duration = duration) {
                break;
            }
        }
        for liveness in [10, 20, 30, 60].map(Span::secs) {
            if liveness >= plan.liveness || self.attempt(plan, |plan| plan.liveness = liveness) {
                break;
            }
        }
    }
}

/// Round times below this one, the shortest first, and then this one in milliseconds.
fn shorter(length: Span) -> Vec<Span> {
    let round = ROUND_MS.map(Span::millis).into_iter();
    let mut shorter: Vec<Span> = round.filter(|round| *round < length).collect();
    for unit in [
        Span::millis(1_000),
        Span::millis(100),
        Span::millis(10),
        Span::millis(1),
    ] {
        let down = Span(length.0 - length.0 % unit.0);
        if down < length && down > Span::ZERO {
            shorter.push(down);
        }
    }
    shorter
}

/// All times of steps and faults, in order.
pub(super) fn moments(plan: &Plan) -> Vec<Span> {
    let mut moments: Vec<Span> = plan.faults.iter().map(|fault| fault.at).collect();
    if let Workload::Steps { steps, .. } = &plan.workload {
        moments.extend(steps.iter().map(|step| step.at));
    }
    moments.sort_unstable();
    moments.dedup();
    moments
}

/// Moves every step and fault, without changing their order.
fn move_to(plan: &mut Plan, to: &dyn Fn(Span) -> Span) {
    for fault in &mut plan.faults {
        fault.at = to(fault.at);
    }
    if let Workload::Steps { steps, .. } = &mut plan.workload {
        for step in steps {
            step.at = to(step.at);
        }
    }
}

/// The ends of the longest pauses after this moment with at least this length, the longest first.
pub(super) fn long_pauses(plan: &Plan, after: Span, least: Span) -> Vec<Span> {
    let moments = moments(plan);
    let pauses = moments.windows(2).map(|two| (two[1] - two[0], two[1]));
    let mut long: Vec<_> = pauses
        .filter(|(pause, end)| *pause >= least && *end > after)
        .collect();
    long.sort_unstable();
    long.into_iter().rev().take(3).map(|(_, end)| end).collect()
}

/// The plan with all that follows this moment moved earlier.
pub(super) fn earlier_from(plan: &Plan, moment: Span, by: Span) -> Plan {
    let mut earlier = plan.clone();
    move_to(&mut earlier, &|at| {
        if at >= moment { at - by } else { at }
    });
    earlier
}

/// The duration of a fault, or, counted on from the last fault, of a step.
fn lasting_mut(plan: &mut Plan, index: usize) -> Option<&mut Span> {
    let faults = plan.faults.len();
    if index < faults {
        return plan.faults[index].kind.length_mut();
    }
    step_mut(plan, index - faults).and_then(|step| step_length(&mut step.what))
}

/// The time of the last step or the end of the last fault.
fn end(plan: &Plan) -> Span {
    let faults = plan
        .faults
        .iter()
        .map(|fault| fault.at + fault.kind.length());
    let last = faults.chain(moments(plan)).max();
    last.unwrap_or(Span::ZERO)
}

fn step_length(step: &mut Step) -> Option<&mut Span> {
    match step {
        Step::Disconnect(length) => length.as_mut(),
        Step::Call(sim_model::plan::Verb::Check { wait, .. }) if *wait > Span::ZERO => Some(wait),
        Step::Call(_)
        | Step::Await { .. }
        | Step::Think(_)
        | Step::Loop { .. }
        | Step::Choose(_) => None,
    }
}

/// The delivery time of the step's request, its copy, its answer or that to the copy.
fn delivery_mut(plan: &mut Plan, step: usize, which: usize) -> Option<&mut Span> {
    let net = &mut step_mut(plan, step)?.net;
    let delivery = [
        &mut net.request,
        &mut net.duplicate,
        &mut net.reply,
        &mut net.duplicate_reply,
    ]
    .into_iter()
    .nth(which)?;
    match delivery {
        Some(Delivery::After(length)) => Some(length),
        Some(Delivery::Lost) | None => None,
    }
}
