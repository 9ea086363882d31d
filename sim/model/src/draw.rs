//! Randomness: one generator for each actor, ratios in place of floats, and quantile tables.

use std::fmt;

use chat_types::{Time, mix};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A probability as a ratio of whole numbers: `1/200`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    /// The probability in units of 2^-32, so that a draw is one comparison; 2^32 is certainty.
    threshold: u64,
    over: u32,
    under: u32,
}

impl Default for Ratio {
    fn default() -> Self {
        Self::NEVER
    }
}

impl Ratio {
    /// Probability 0.
    pub const NEVER: Self = Self {
        threshold: 0,
        over: 0,
        under: 1,
    };

    /// The ratio `over/under`. `under` must be at least `over`, and not 0.
    #[must_use]
    pub fn new(over: u32, under: u32) -> Option<Self> {
        (under > 0 && over <= under).then(|| Self {
            threshold: (u64::from(over) << 32) / u64::from(under),
            over,
            under,
        })
    }

    /// Whether the probability is above 0.
    #[must_use]
    pub const fn is_possible(self) -> bool {
        self.threshold > 0
    }

    /// Whether `some` of `all` is at most this share.
    #[must_use]
    pub fn covers(self, some: u64, all: u64) -> bool {
        u128::from(some) * u128::from(self.under) <= u128::from(all) * u128::from(self.over)
    }
}

/// The written form.
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.over, self.under)
    }
}

/// The generator of one actor. An additional actor does not change the draws of others.
#[derive(Clone, Debug)]
pub struct Draw(ChaCha8Rng);

impl Draw {
    /// The generator of `actor` in the run with this `seed`. Actors are numbered by `Actor`.
    #[must_use]
    pub fn new(seed: u64, actor: Actor) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(actor.stream());
        Self(generator)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform number below `n`; 0 if `n` is 0. (Lemire's multiplication; its bias of n/2^64 is
    /// far below what any run could show.)
    pub fn below(&mut self, n: u64) -> u64 {
        let wide = u128::from(self.bits()) * u128::from(n);
        (wide >> 64) as u64
    }

    /// A uniform index below `length`; 0 if that is 0.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    /// One of these, with equal probability. An empty list takes a draw, too.
    pub fn pick<T: Copy>(&mut self, those: &[T]) -> Option<T> {
        those.get(self.index(those.len())).copied()
    }

    /// Draws whether something with this probability happens. Probability 0 draws nothing.
    pub fn chance(&mut self, ratio: Ratio) -> bool {
        ratio.threshold > 0 && u64::from(self.0.next_u32()) < ratio.threshold
    }
}

/// Randomness by instants: a draw depends on its instant and its purpose, and on no earlier draw.
/// A smaller run draws the same for what it shares with a larger one.
#[derive(Clone, Copy, Debug)]
pub struct DrawAt(u64);

impl DrawAt {
    /// The draws with a key from this generator.
    #[must_use]
    pub fn new(mut key: Draw) -> Self {
        Self(key.bits())
    }

    /// 64 random bits for this purpose at this instant.
    #[must_use]
    pub const fn bits(self, at: Time, purpose: u64) -> u64 {
        mix(mix(self.0, at.0), purpose)
    }

    /// A uniform number below `n`; 0 if `n` is 0.
    #[must_use]
    pub const fn below(self, at: Time, purpose: u64, n: u64) -> u64 {
        let wide = self.bits(at, purpose) as u128 * n as u128;
        (wide >> 64) as u64
    }
}

/// An actor with its own generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// Users' arrivals and personas.
    Arrivals,
    /// The server's service and commit times.
    Server,
    /// The victims of faults.
    Faults,
    /// The world's swaps of the Hub for its restored snapshot.
    Swaps,
    /// The swaps in the second run of a pair, so that the two runs swap at different steps.
    TwinSwaps,
    /// The order of concurrent packets under a race schedule.
    Schedule,
    /// The variations of a scenario in exploring.
    Vary,
    /// Mishaps after a turn of a recipe.
    Mishap,
    /// The network between several servers and their log.
    Cluster,
    /// The times of a fault that repeats, by its place in the plan.
    Repeats(u32),
    /// A virtual user's own choices.
    User(u32),
    /// The network's treatment of a virtual user's packets.
    Link(u32),
    /// The crashes of a virtual user's waker.
    Waker(u32),
}

impl Actor {
    fn stream(self) -> u64 {
        match self {
            Self::Arrivals => 0,
            Self::Server => 1,
            Self::Faults => 2,
            Self::Swaps => 3,
            Self::TwinSwaps => 4,
            Self::Schedule => 5,
            Self::Vary => 6,
            Self::Mishap => 7,
            Self::Cluster => 8,
            Self::User(n) => (1 << 32) | u64::from(n),
            Self::Link(n) => (2 << 32) | u64::from(n),
            Self::Repeats(n) => (3 << 32) | u64::from(n),
            Self::Waker(n) => (4 << 32) | u64::from(n),
        }
    }
}

/// The number of equal steps of probability in the table, and in its last step.
const BINS: usize = 1_024;

/// A distribution as a table of its quantiles: drawing uses integers only, with the same result on
/// every machine.
///
/// The table has 1,024 equal steps of probability. The last one is divided into 1,024 again, so
/// that the tail is exact down to one in a million. Between two entries the draw is linear.
#[derive(Clone, PartialEq, Eq)]
pub struct Quantiles {
    shape: Shape,
    body: Vec<u64>,
    tail: Vec<u64>,
}

/// Shows the shape only: the tables follow from it.
impl fmt::Debug for Quantiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shape.fmt(f)
    }
}

/// The parameters of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Always this value.
    Fixed(u64),
    /// Uniform from the first to the second value, both included.
    Uniform(u64, u64),
    /// Lognormal by its median and its 99th percentile, clipped at four times the latter.
    Lognormal {
        /// The median.
        p50: u64,
        /// The 99th percentile.
        p99: u64,
    },
    /// Exponential by its mean, clipped at ten times that: the times between events that happen
    /// independently of one another.
    Exponential {
        /// The mean.
        mean: u64,
    },
}

impl Quantiles {
    /// Computes the table. The floats come from the `libm` crate, which computes the same
    /// everywhere.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a rounded float within u64"
    )]
    pub fn new(shape: Shape) -> Self {
        let quantile: &dyn Fn(f64) -> f64 = match shape {
            Shape::Fixed(_) | Shape::Uniform(..) => {
                return Self {
                    shape,
                    body: Vec::new(),
                    tail: Vec::new(),
                };
            }
            Shape::Lognormal { p50, p99 } => {
                let (median, high) = (p50.max(1) as f64, p99.max(p50).max(1) as f64);
                let sigma = libm::log(high / median) / inverse_normal(0.99);
                let clip = high * 4.0;
                &move |p| (median * libm::exp(sigma * inverse_normal(p))).min(clip)
            }
            Shape::Exponential { mean } => {
                let mean = mean as f64;
                &move |p| (-libm::log(1.0 - p) * mean).min(mean * 10.0)
            }
        };
        let at = |probability: f64| {
            // Rounded to the nearest: the value is positive, and far below 2^63.
            libm::floor(quantile(probability.clamp(1e-9, 1.0 - 1e-9)) + 0.5) as u64
        };
        let bins = BINS as f64;
        let body = (0..=BINS).map(|i| at(i as f64 / bins)).collect();
        let tail = (0..=BINS)
            .map(|i| at(1.0 - (1.0 - i as f64 / bins) / bins))
            .collect();
        Self { shape, body, tail }
    }

    /// A usual value, about half way between the small and the large ones.
    #[must_use]
    pub const fn usual(&self) -> u64 {
        match self.shape {
            Shape::Fixed(value) => value,
            Shape::Uniform(low, high) => u64::midpoint(low, high),
            Shape::Lognormal { p50, .. } => p50,
            Shape::Exponential { mean } => mean,
        }
    }

    /// The parameters.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// The largest value that can be drawn.
    #[must_use]
    pub fn max(&self) -> u64 {
        match self.shape {
            Shape::Fixed(value) => value,
            Shape::Uniform(_, high) => high,
            Shape::Lognormal { .. } | Shape::Exponential { .. } => {
                self.tail.last().copied().unwrap_or(0)
            }
        }
    }

    /// Draws one value. A fixed value draws nothing from the generator.
    pub fn draw(&self, draw: &mut Draw) -> u64 {
        if let Shape::Fixed(value) = self.shape {
            return value;
        }
        self.at(draw.bits())
    }

    /// The quantile at this probability, a fraction of 2^64.
    #[must_use]
    pub fn at(&self, bits: u64) -> u64 {
        match self.shape {
            Shape::Fixed(value) => value,
            Shape::Uniform(low, high) => {
                let width = (high - low).saturating_add(1);
                low + ((u128::from(bits) * u128::from(width)) >> 64) as u64
            }
            Shape::Lognormal { .. } | Shape::Exponential { .. } => {
                let bin = (bits >> 54) as usize;
                let (table, bin, shift) = if bin == BINS - 1 {
                    (&self.tail, ((bits >> 44) & 0x3ff) as usize, 12)
                } else {
                    (&self.body, bin, 22)
                };
                let (low, high) = (table[bin], table[bin + 1]);
                let rest = u128::from((bits >> shift) & 0xffff_ffff) << 32;
                low + ((u128::from(high - low) * rest) >> 64) as u64
            }
        }
    }
}

/// The standard normal distribution's quantile function (Acklam's rational approximation,
/// relative error below 1.2e-9; see Peter J. Acklam, "An algorithm for computing the inverse
/// normal cumulative distribution function").
fn inverse_normal(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
    ];
    const LOW: f64 = 0.024_25;
    let tail = |q: f64| {
        (((((C[0] * q + C[1]) * q + C[2]) * q + C[3]) * q + C[4]) * q + C[5])
            / ((((D[0] * q + D[1]) * q + D[2]) * q + D[3]) * q + 1.0)
    };
    if p < LOW {
        tail(libm::sqrt(-2.0 * libm::log(p)))
    } else if p <= 1.0 - LOW {
        let q = p - 0.5;
        let r = q * q;
        (((((A[0] * r + A[1]) * r + A[2]) * r + A[3]) * r + A[4]) * r + A[5]) * q
            / (((((B[0] * r + B[1]) * r + B[2]) * r + B[3]) * r + B[4]) * r + 1.0)
    } else {
        -tail(libm::sqrt(-2.0 * libm::log(1.0 - p)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lognormal_has_the_quantiles_it_was_made_from() {
        let table = Quantiles::new(Shape::Lognormal {
            p50: 20_000,
            p99: 250_000,
        });
        let mut draw = Draw::new(7, Actor::Server);
        let mut values: Vec<u64> = (0..100_000).map(|_| table.draw(&mut draw)).collect();
        values.sort_unstable();
        let (p50, p99) = (values[50_000], values[99_000]);
        assert!((19_500..20_500).contains(&p50), "{p50}");
        assert!((235_000..265_000).contains(&p99), "{p99}");
        assert!(*values.last().unwrap() <= 1_000_000);
        assert_eq!(table.max(), 1_000_000);
    }

    #[test]
    fn an_exponential_has_its_mean() {
        let table = Quantiles::new(Shape::Exponential { mean: 20_000 });
        let mut draw = Draw::new(7, Actor::Server);
        let values: Vec<u64> = (0..100_000).map(|_| table.draw(&mut draw)).collect();
        let mean = values.iter().sum::<u64>() / 100_000;
        assert!((19_700..20_300).contains(&mean), "{mean}");
        let above = values.iter().filter(|value| **value > 20_000).count();
        assert!((36_200..37_400).contains(&above), "1/e of all: {above}");
        assert_eq!(table.max(), 200_000);
    }

    #[test]
    fn each_actor_has_its_own_random_stream() {
        let first = |actor| Draw::new(42, actor).bits();
        let all = [
            first(Actor::Arrivals),
            first(Actor::Server),
            first(Actor::User(0)),
            first(Actor::User(1)),
            first(Actor::Link(0)),
            first(Actor::Repeats(0)),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b));
        }
        assert_eq!(first(Actor::User(1)), first(Actor::User(1)));
    }

    #[test]
    fn ratios_keep_their_share() {
        let mut draw = Draw::new(1, Actor::Faults);
        let ratio = Ratio::new(1, 4).unwrap();
        let hits = (0..100_000).filter(|_| draw.chance(ratio)).count();
        assert!((24_000..26_000).contains(&hits), "{hits}");
        assert!((0..1_000).all(|_| draw.chance(Ratio::new(1, 1).unwrap())));
        assert!((0..1_000).all(|_| !draw.chance(Ratio::NEVER)));
        assert_eq!(Ratio::new(3, 2), None);
        assert_eq!(Ratio::new(0, 0), None);
    }

    #[test]
    fn ratios_print_as_they_were_written() {
        for (over, under) in [(1, 1), (1, 200), (2, 8), (999_999, 1_000_000)] {
            let ratio = Ratio::new(over, under).unwrap();
            assert_eq!(ratio.to_string(), format!("{over}/{under}"));
        }
        assert_eq!(Ratio::NEVER.to_string(), "0/1");
    }
}
