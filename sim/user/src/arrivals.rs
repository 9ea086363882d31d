//! Arrivals of users with their personas, drawn before the run begins, so that the load is an open
//! loop.

use std::sync::Arc;

use chat_types::Span;

use super::flow::{by_weight, index_at};
use sim_model::draw::Draw;
use sim_model::plan::{ArrivalMode, Arrivals, Frequency, Persona, Phase, Workload};

/// The arrival of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The time since the beginning.
    pub at: Span,
    /// The index of its persona in the plan.
    pub persona: usize,
}

/// All arrivals of a workload, in order. The steps form has none: its users exist from the start.
#[must_use]
pub fn arrivals(workload: &Workload, draw: &mut Draw) -> Vec<Arrival> {
    let Workload::Phases { phases, personas } = workload else {
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
    let counts: Vec<u32> = personas.iter().map(|one| one.frequency.count()).collect();
    count_out(counts, &mut arrivals, draw);
    arrivals
}

/// Draws new personas for these arrivals. Their times stay, and the numbers of counted personas.
pub fn recast(workload: &Workload, arrivals: &mut [Arrival], draw: &mut Draw) {
    if let Workload::Phases { personas, .. } = workload {
        let mut counts = vec![0; personas.len()];
        for arrival in &mut *arrivals {
            if let Frequency::Count(_) = personas[arrival.persona].frequency {
                counts[arrival.persona] += 1;
            }
            arrival.persona = persona(personas, draw);
        }
        count_out(counts, arrivals, draw);
    }
}

/// Makes exactly this number of arrivals each persona, drawn from all without preference. If there
/// are fewer arrivals, each of them is one of the counted.
fn count_out(mut counts: Vec<u32>, arrivals: &mut [Arrival], draw: &mut Draw) {
    let mut left: u64 = counts.iter().copied().map(u64::from).sum();
    for (index, rest) in (1..=arrivals.len() as u64).rev().enumerate() {
        if left == 0 {
            return;
        }
        let at = draw.below(rest.max(left));
        if let Some(persona) = index_at(counts.iter().copied(), at) {
            arrivals[index].persona = persona;
            counts[persona] -= 1;
            left -= 1;
        }
    }
}

/// Draws a persona by weight.
fn persona(personas: &[Arc<Persona>], draw: &mut Draw) -> usize {
    let weights = personas.iter().map(|persona| persona.frequency.weight());
    by_weight(weights, draw).unwrap_or(0)
}

/// The arrival times of a phase, from its beginning.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float within the phase"
)]
fn within(phase: &Phase, draw: &mut Draw) -> Vec<Span> {
    let length = phase.duration.0;
    match phase.arrivals {
        Arrivals::Pause => Vec::new(),
        Arrivals::Count { users, mode } => {
            let users = u64::from(users);
            match mode {
                ArrivalMode::Uniform => {
                    let at =
                        |k: u64| u128::from(length) * u128::from(2 * k + 1) / u128::from(2 * users);
                    (0..users)
                        .map(|k| Span(u64::try_from(at(k)).unwrap_or(length)))
                        .collect()
                }
                // Given their number, the arrivals of a Poisson process are uniform and independent.
                ArrivalMode::Poisson => {
                    let mut times: Vec<Span> =
                        (0..users).map(|_| Span(draw.below(length))).collect();
                    times.sort_unstable();
                    times
                }
            }
        }
        Arrivals::Rate {
            from_milli,
            to_milli,
            mode,
        } => {
            // Arrivals per microsecond at the start, and their change per microsecond.
            let [from, to] = [from_milli, to_milli].map(|milli| milli as f64 / 1e9);
            let length = length as f64;
            let slope = (to - from) / length;
            let mut gap = |uniform| match mode {
                ArrivalMode::Uniform => uniform,
                ArrivalMode::Poisson => exponential(draw),
            };
            let expected = from * length + slope * length * length / 2.0;
            let mut due = gap(0.5);
            let mut arrivals = Vec::new();
            while due < expected {
                // The root of `from·t + slope·t²/2 = due`, in the form that keeps its precision for small
                // slopes.
                let root = libm::sqrt((from * from + 2.0 * slope * due).max(0.0));
                let at = (2.0 * due / (from + root)).clamp(0.0, length - 1.0);
                arrivals.push(Span(at as u64));
                due += gap(1.0);
            }
            arrivals
        }
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
    use sim_model::plan::{ClientProfile, Habits};
    use std::collections::BTreeSet;

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

    fn at_rate(from_milli: u64, to_milli: u64, mode: ArrivalMode) -> Vec<u64> {
        times(Arrivals::Rate {
            from_milli,
            to_milli,
            mode,
        })
    }

    #[test]
    fn uniform_arrivals_are_evenly_spaced() {
        let mode = ArrivalMode::Uniform;
        let counted = times(Arrivals::Count { users: 4, mode });
        assert_eq!(counted, [1250, 3750, 6250, 8750]);
        let steady = at_rate(400, 400, mode);
        assert_eq!(steady, [1250, 3750, 6250, 8750]);
        let ramp = at_rate(0, 20_000, mode);
        assert_eq!(ramp.len(), 100);
        let early = ramp.iter().filter(|at| **at < 5_000).count();
        assert_eq!(early, 25, "a quarter of a ramp's area is in its first half");
    }

    #[test]
    fn counted_poisson_arrivals_are_exactly_as_many_and_independent() {
        let mode = ArrivalMode::Poisson;
        let times = times(Arrivals::Count { users: 2_000, mode });
        assert_eq!(times.len(), 2_000);
        assert!(times.is_sorted());
        let early = times.iter().filter(|at| **at < 5_000).count();
        assert!((900..1_100).contains(&early), "half of them: {early}");
        // Of exponential gaps 1/e are longer than the mean.
        let long = times.windows(2).filter(|two| two[1] - two[0] > 5).count();
        assert!((600..800).contains(&long), "{long}");
    }

    /// Ten users of personas a, b and c.
    fn ten(frequencies: &[Frequency]) -> Workload {
        let persona = |(frequency, name): (&Frequency, &str)| {
            Arc::new(Persona {
                name: name.to_owned(),
                frequency: *frequency,
                habits: Habits::default(),
                stream: true,
                profile: ClientProfile::default(),
                flow: Arc::from([]),
            })
        };
        Workload::Phases {
            phases: vec![Phase {
                name: "p".into(),
                duration: Span::secs(1),
                arrivals: Arrivals::Count {
                    users: 10,
                    mode: ArrivalMode::Uniform,
                },
                max_users: None,
            }],
            personas: frequencies
                .iter()
                .zip(["a", "b", "c"])
                .map(persona)
                .collect(),
        }
    }

    fn cast(workload: &Workload, seed: u64) -> Vec<Arrival> {
        arrivals(workload, &mut Draw::new(seed, Actor::Arrivals))
    }

    fn letters(arrivals: &[Arrival]) -> String {
        let letter = |arrival: &Arrival| ["a", "b", "c"][arrival.persona];
        arrivals.iter().map(letter).collect()
    }

    const COUNTED: [Frequency; 3] = [
        Frequency::Weight(1),
        Frequency::Count(3),
        Frequency::Count(1),
    ];

    #[test]
    fn counted_personas_are_exactly_as_many_in_any_order() {
        let mut orders = BTreeSet::new();
        let mut first = 0;
        for seed in 0..300 {
            let order = letters(&cast(&ten(&COUNTED), seed));
            let count = |letter| order.matches(letter).count();
            assert_eq!((count("a"), count("b"), count("c")), (6, 3, 1), "{order}");
            first += u32::from(order.starts_with('c'));
            orders.insert(order);
        }
        assert!(orders.len() > 200, "{}", orders.len());
        assert!((15..50).contains(&first), "one in ten: {first}");
        let all = ten(&[Frequency::Count(4), Frequency::Count(6)]);
        assert_eq!(letters(&cast(&all, 7)).matches('a').count(), 4);
    }

    #[test]
    fn personas_drawn_again_keep_their_counts() {
        let workload = ten(&COUNTED);
        let mut all = cast(&workload, 1);
        let before = letters(&all[4..]);
        let mut orders = BTreeSet::new();
        for seed in 0..50 {
            let mut draw = Draw::new(seed, Actor::Arrivals);
            recast(&workload, &mut all[4..], &mut draw);
            let after = letters(&all[4..]);
            for letter in ["a", "b", "c"] {
                let count = |text: &str| text.matches(letter).count();
                assert_eq!(count(&before), count(&after), "{after}");
            }
            orders.insert(after);
        }
        assert!(orders.len() > 5, "{orders:?}");
    }

    #[test]
    fn poisson_arrivals_come_at_their_rate() {
        let times = at_rate(1_000_000, 1_000_000, ArrivalMode::Poisson);
        assert!((9_600..10_400).contains(&times.len()), "{}", times.len());
        assert!(times.is_sorted());
    }
}
