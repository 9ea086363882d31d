//! The random draws of an entry. // 15

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The draws of one entry, in their order.
#[derive(Clone, Debug)]
pub(super) struct Draws(ChaCha8Rng);

impl Draws {
    /// The draws of the entry at this position of the journal.
    pub(super) fn of(seed: u64, position: u64) -> Self {
        let mut numbers = ChaCha8Rng::seed_from_u64(seed);
        numbers.set_stream(position);
        Self(numbers)
    }

    /// The next draw, from 0 to `n` − 1.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        let n = u128::from(n);
        let refused = (1_u128 << 64) % n;
        loop {
            let product = u128::from(self.0.next_u64()) * n;
            let (whole, rest) = (product >> 64, product % (1 << 64));
            if rest >= refused {
                return u64::try_from(whole).expect("it is below n");
            }
        }
    }
}
