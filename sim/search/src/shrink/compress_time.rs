//! A pass that shortens and rounds times.

use chat_types::Span;
use serde_json::Value as Json;

use sim_scenario::entries;

use super::candidates::{Shrinker, steps};
use super::simplify::set;
use crate::workload::script_mut;
use sim_model::plan::{Delivery, Plan, Step, Verb};

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
            script_mut(plan).1.retain(|step| step.at <= shown);
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
                self.prefer_shorter(plan, longer);
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
            let before = index.checked_sub(1).map(|before| all[before]);
            let pause = moment - before.unwrap_or(Span::ZERO);
            let wanted = match before {
                None => vec![Span::ZERO],
                Some(_) => shorter(pause),
            };
            self.attempt_first(plan, wanted, |plan, shorter| {
                move_earlier(plan, moment, pause - shorter);
            });
        }
    }

    /// Shortens faults, absences and waits, and recorded deliveries.
    fn shorten_lengths(&mut self, plan: &mut Plan) {
        for index in 0..plan.faults.len() + steps(plan) {
            self.shorten(plan, |plan| lasting_mut(plan, index));
        }
        for index in 0..steps(plan) {
            for which in 0..4 {
                self.shorten(plan, |plan| delivery_mut(plan, index, which));
            }
        }
    }

    /// Shortens or rounds this time of the plan, if it has it.
    fn shorten(&mut self, plan: &mut Plan, time: impl Fn(&mut Plan) -> Option<&mut Span>) {
        let length = time(plan).copied();
        let wanted = length.map_or_else(Vec::new, shorter);
        self.attempt_first(plan, wanted, |plan, shorter| {
            if let Some(length) = time(plan) {
                *length = shorter;
            }
        });
    }

    /// Shortens unusual leases and patience.
    fn shorten_server_times(&mut self, plan: &mut Plan) {
        let usual = entries(&chat_types::Config::default());
        for (key, value) in entries(&plan.server) {
            if usual.get(&key) == Some(&value) {
                continue;
            }
            let length = value.as_str().and_then(|text| Span::parse(text).ok());
            let wanted = length.map_or_else(Vec::new, shorter);
            self.attempt_first(plan, wanted, |plan, shorter| {
                set(&mut plan.server, &key, Json::from(shorter.to_string()));
            });
        }
    }

    /// Shortens the two phases.
    fn shorten_phases(&mut self, plan: &mut Plan) {
        let last = end(plan) + REST;
        let round = ROUND_MS.map(Span::millis);
        let enough = round.into_iter().find(|length| *length >= last);
        let now = plan.duration;
        let wanted = enough.into_iter().chain([last]).filter(|to| *to < now);
        self.attempt_first(plan, wanted, |plan, to| plan.duration = to);
        let now = plan.liveness;
        let wanted = [10, 20, 30, 60].map(Span::secs).into_iter();
        let wanted = wanted.filter(|to| *to < now);
        self.attempt_first(plan, wanted, |plan, to| plan.liveness = to);
    }
}

/// Round times below this one, the shortest first, and then this one in milliseconds.
fn shorter(length: Span) -> Vec<Span> {
    let round = ROUND_MS.map(Span::millis).into_iter();
    let units = [1_000, 100, 10, 1].map(Span::millis).into_iter();
    let down = units.map(|unit| Span(length.0 - length.0 % unit.0));
    let down = down.filter(|down| *down > Span::ZERO);
    round.chain(down).filter(|time| *time < length).collect()
}

/// All times of steps and faults, in order.
pub(super) fn moments(plan: &Plan) -> Vec<Span> {
    let faults = plan.faults.iter().map(|fault| fault.at);
    let steps = plan.workload.steps().iter().map(|step| step.at);
    let mut moments: Vec<Span> = faults.chain(steps).collect();
    moments.sort_unstable();
    moments.dedup();
    moments
}

/// Moves every step and fault, without changing their order.
fn move_to(plan: &mut Plan, to: &dyn Fn(Span) -> Span) {
    for fault in &mut plan.faults {
        fault.at = to(fault.at);
    }
    for step in script_mut(plan).1 {
        step.at = to(step.at);
    }
}

/// Moves all that follows this moment earlier.
pub(super) fn move_earlier(plan: &mut Plan, moment: Span, by: Span) {
    move_to(plan, &|at| if at >= moment { at - by } else { at });
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

/// The duration of a fault, or, counted on from the last fault, of a step.
fn lasting_mut(plan: &mut Plan, index: usize) -> Option<&mut Span> {
    let faults = plan.faults.len();
    if index < faults {
        return plan.faults[index].kind.length_mut();
    }
    step_length(&mut script_mut(plan).1.get_mut(index - faults)?.what)
}

/// The time of the last step or the end of the last fault.
fn end(plan: &Plan) -> Span {
    let faults = plan.faults.iter();
    let ends = faults.map(|fault| fault.at + fault.kind.length());
    ends.chain(moments(plan)).max().unwrap_or(Span::ZERO)
}

fn step_length(step: &mut Step) -> Option<&mut Span> {
    if let Step::Disconnect(Some(length)) = step {
        return Some(length);
    }
    if let Step::Call(Verb::Check { wait, .. }) = step {
        return Some(wait).filter(|wait| **wait > Span::ZERO);
    }
    None
}

/// The delivery time of the step's request, its copy, its answer or that to the copy.
fn delivery_mut(plan: &mut Plan, step: usize, which: usize) -> Option<&mut Span> {
    let net = &mut script_mut(plan).1.get_mut(step)?.net;
    let delivery = match which {
        0 => &mut net.request,
        1 => &mut net.duplicate,
        2 => &mut net.reply,
        _ => &mut net.duplicate_reply,
    };
    match delivery {
        Some(Delivery::After(length)) => Some(length),
        Some(Delivery::Lost) | None => None,
    }
}
