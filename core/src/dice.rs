//! Random numbers, drawn from the seed and the position of an entry.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use chat_types::Position;

/// The random numbers of one entry. No state passes from one entry to the next, so an additional
/// draw does not change later ones.
#[derive(Clone, Debug)]
pub(crate) struct Dice(ChaCha8Rng);

impl Dice {
    /// The random numbers of the entry at this position.
    pub(crate) fn of(seed: u64, position: Position) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(position.0);
        Self(generator)
    }

    /// A uniform number below `n`: the upper half of the product. The draw is repeated if the lower
    /// half falls into the range that would make some numbers likelier (D. Lemire, "Fast random
    /// integer generation in an interval", 2019).
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        let unfair = n.wrapping_neg() % n;
        loop {
            let wide = u128::from(self.0.next_u64()) * u128::from(n);
            if (wide & u128::from(u64::MAX)) >= u128::from(unfair) {
                return (wide >> 64) as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Dice, Position, Rng as _};

    #[test]
    fn one_position_gives_one_sequence_of_draws() {
        let draws = |seed, position| {
            let mut dice = Dice::of(seed, Position(position));
            [(); 4].map(|()| dice.below(1_000_000))
        };
        assert_eq!(draws(1, 7), draws(1, 7));
        assert_ne!(draws(1, 7), draws(1, 8));
        assert_ne!(draws(1, 7), draws(2, 7));
    }

    /// This `n` rejects nearly half of all draws.
    #[test]
    fn biased_draws_are_rejected() {
        let n = (1 << 63) + 1;
        let mut generator = Dice::of(5, Position(9)).0;
        let wide = [(); 64].map(|()| u128::from(generator.next_u64()) * u128::from(n));
        let fair = |wide: &u128| (*wide % (1 << 64)) >= (1 << 63) - 1;
        let numbers: Vec<_> = wide.iter().filter(|wide| fair(wide)).collect();
        assert!((16..48).contains(&numbers.len()));
        let mut dice = Dice::of(5, Position(9));
        for number in numbers {
            assert_eq!(u128::from(dice.below(n)), number >> 64);
        }
    }

    #[test]
    fn draws_are_uniform() {
        let mut counts = [0_u32; 7];
        let mut dice = Dice::of(3, Position(1));
        for _ in 0..70_000 {
            counts[usize::try_from(dice.below(7)).expect("small")] += 1;
        }
        // Five standard deviations of a count of 10,000 are 463.
        for count in counts {
            assert!(count.abs_diff(10_000) < 463, "{counts:?}");
        }
    }
}
