//! Arrivals of users with their personas, drawn before the run begins, so that the load is an open
//! loop.

use std::sync::Arc;

use chat_types::Span;

use sim_model::draw::Draw;
use sim_model::plan::{ArrivalMode, Arrivals, Persona, Phase, Plan, Workload};

/// The arrival of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The time since the beginning.
    pub at: Span,
    /// The index of its persona in the plan.
    pub persona: usize,
}

/// All arrivals of a plan, in order. The steps form has none: its users exist from the start.
#[must_use]
pub fn arrivals(plan: &Plan, draw: &mut Draw) -> Vec<Arrival> {
    let Workload::Phases { phases, personas } = &plan.workload else {
        return Vec::new();
    };
    let mut arrivals = Vec::new();
    let mut start = Span::ZERO;
    for phase in phases {
        let most = phase.max_users.map_or(usize::MAX, |most| most as usize);
        for at in within(phase, draw).into_iter().take(most) {
            arrivals.push(Arrival {
                at: start + at,
                persona: persona(personas, draw),
            });
        }
        start = start + phase.duration;
    }
    arrivals
}

/// Draws new personas for these arrivals. Their times stay.
pub fn recast(plan: &Plan, arrivals: &mut [Arrival], draw: &mut Draw) {
    if let Workload::Phases { personas, .. } = &plan.workload {
        for arrival in arrivals {
            arrival.persona = persona(personas, draw);
        }
    }
}

/// Draws a persona by weight.
fn persona(personas: &[Arc<Persona>], draw: &mut Draw) -> usize {
    let weight = |persona: &Arc<Persona>| u64::from(persona.weight);
    let mut at = draw.below(personas.iter().map(weight).sum());
    let falls_here = |persona: &Arc<Persona>| {
        let found = at < weight(persona);
        at = at.saturating_sub(weight(persona));
        found
    };
    personas.iter().position(falls_here).unwrap_or(0)
}

/// The arrival times of a phase, from its beginning.
fn within(phase: &Phase, draw: &mut Draw) -> Vec<Span> {
    let length = phase.duration.0;
    match phase.arrivals {
        Arrivals::Pause => Vec::new(),
        Arrivals::Count(count) => {
            let count = u64::from(count);
            let at = |k: u64| u128::from(length) * u128::from(2 * k + 1) / u128::from(2 * count);
            (0..count)
                .map(|k| Span(u64::try_from(at(k)).unwrap_or(length)))
                .collect()
        }
        Arrivals::Rate {
            from_milli,
            to_milli,
            mode,
        } => {
            let ramp = Ramp::new(from_milli, to_milli, length);
            let mut due = match mode {
                ArrivalMode::Uniform => 0.5,
                ArrivalMode::Poisson => exponential(draw),
            };
            let mut arrivals = Vec::new();
            while due < ramp.total() {
                arrivals.push(ramp.when(due));
                due += match mode {
                    ArrivalMode::Uniform => 1.0,
                    ArrivalMode::Poisson => exponential(draw),
                };
            }
            arrivals
        }
    }
}

/// A linearly changing rate.
struct Ramp {
    /// Arrivals per microsecond at the start.
    from: f64,
    /// The change of the rate per microsecond.
    slope: f64,
    length: f64,
}

impl Ramp {
    fn new(from_milli: u64, to_milli: u64, length: u64) -> Self {
        let per_us = |milli: u64| milli as f64 / 1e9;
        let length = length as f64;
        Self {
            from: per_us(from_milli),
            slope: (per_us(to_milli) - per_us(from_milli)) / length,
            length,
        }
    }

    /// The expected number of arrivals.
    fn total(&self) -> f64 {
        self.from * self.length + self.slope * self.length * self.length / 2.0
    }

    /// The time at which the expected number of arrivals is `due`: the root of `from·t + slope·t²/2
    /// = due`, in the form that keeps its precision for small slopes.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within the phase"
    )]
    fn when(&self, due: f64) -> Span {
        let root = libm::sqrt((self.from * self.from + 2.0 * self.slope * due).max(0.0));
        let at = 2.0 * due / (self.from + root);
        Span(at.clamp(0.0, self.length - 1.0) as u64)
    }
}

/// The time to the next event of a Poisson process with one event per unit of time.
fn exponential(draw: &mut Draw) -> f64 {
    let uniform = (draw.bits() >> 11) as f64 / (1u64 << 53) as f64;
    -libm::log(1.0 - uniform)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_model::draw::Actor;

    fn times(arrivals: Arrivals) -> Vec<u64> {
        let phase = Phase {
            name: "p".into(),
            duration: Span::secs(10),
            arrivals,
            max_users: None,
        };
        within(&phase, &mut Draw::new(1, Actor::Arrivals))
            .iter()
            .map(|at| at.as_millis())
            .collect()
    }

    #[test]
    fn uniform_arrivals_are_evenly_spaced() {
        assert_eq!(times(Arrivals::Count(4)), [1250, 3750, 6250, 8750]);
        let mode = ArrivalMode::Uniform;
        let steady = times(Arrivals::Rate {
            from_milli: 400,
            to_milli: 400,
            mode,
        });
        assert_eq!(steady, [1250, 3750, 6250, 8750]);
        let ramp = times(Arrivals::Rate {
            from_milli: 0,
            to_milli: 20_000,
            mode,
        });
        assert_eq!(ramp.len(), 100);
        let early = ramp.iter().filter(|at| **at < 5_000).count();
        assert_eq!(early, 25, "a quarter of a ramp's area is in its first half");
    }

    #[test]
    fn poisson_arrivals_come_at_their_rate() {
        let mode = ArrivalMode::Poisson;
        let times = times(Arrivals::Rate {
            from_milli: 1_000_000,
            to_milli: 1_000_000,
            mode,
        });
        assert!((9_600..10_400).contains(&times.len()), "{}", times.len());
        assert!(times.is_sorted());
    }
}
