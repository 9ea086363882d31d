//! Derives one part of a sum from the other parts and the quantiles of the whole.

use chat_types::Span;

use sim_model::draw::Quantiles;
use sim_model::outcome::Spread;

/// The number of points at which a sum is evaluated.
const POINTS: u64 = 1 << 14;

/// The largest number of parts of a sum.
const PARTS: usize = 4;

/// The largest number of iterations; about ten are needed.
const ROUNDS: usize = 60;

/// Steps of an additive sequence that fills four dimensions evenly: the powers of 1/1.16730…, the
/// root of x⁵ = x + 1, as fractions of 2^64 (Martin Roberts, "The unreasonable effectiveness of
/// quasirandom sequences", 2018). The points are fixed, so the result does not depend on random
/// draws.
const STEPS: [u64; PARTS] = [
    0xdb4f_0b91_75ae_2000,
    0xbbe0_5633_03a4_6000,
    0xa0f2_ec75_a1fe_1000,
    0x89e1_8285_7d9e_d000,
];

/// The median and the 99th percentile of the sum of one draw from each.
fn sum(parts: &[&Quantiles]) -> Spread {
    debug_assert!(parts.len() <= PARTS, "there is a step for each");
    let mut sums: Vec<u64> = (1..=POINTS)
        .map(|point| {
            let draws = parts.iter().zip(STEPS);
            draws
                .map(|(part, step)| part.at(step.wrapping_mul(point)))
                .sum()
        })
        .collect();
    sums.sort_unstable();
    let at = |hundredths: usize| Span(sums[sums.len() * hundredths / 100]);
    Spread {
        p50: at(50),
        p99: at(99),
    }
}

/// The distribution of a part that occurs `times` times beside one draw from each of the `known`,
/// so that the whole has these quantiles. If no such distribution exists, because nothing takes
/// less than a microsecond, the nearest one.
pub(super) fn fit(known: &[&Quantiles], times: usize, whole: Spread) -> Spread {
    let share = |span: Span| Span((span.0 / times.max(1) as u64).max(1));
    let mut part = Spread {
        p50: share(whole.p50),
        p99: share(whole.p99),
    };
    for _ in 0..ROUNDS {
        let table = part.quantiles();
        let mut parts = known.to_vec();
        parts.extend(std::iter::repeat_n(&table, times));
        let got = sum(&parts);
        let p50 = closer(part.p50, whole.p50, got.p50, times);
        let p99 = closer(part.p99, whole.p99, got.p99, times).max(p50);
        let next = Spread { p50, p99 };
        if next == part {
            break;
        }
        part = next;
    }
    part
}

/// A quantile of the part, moved by its share of the deviation of the sum.
fn closer(part: Span, wanted: Span, got: Span, times: usize) -> Span {
    let times = times.max(1) as u64;
    let moved = if wanted >= got {
        part.0 + (wanted.0 - got.0) / times
    } else {
        part.0.saturating_sub((got.0 - wanted.0).div_ceil(times))
    };
    Span(moved.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(p50: u64, p99: u64) -> Spread {
        Spread {
            p50: Span(p50),
            p99: Span(p99),
        }
    }

    fn near(got: Span, wanted: Span) -> bool {
        got.0.abs_diff(wanted.0) * 20 <= wanted.0 + 20
    }

    #[test]
    fn a_fit_recovers_a_part_of_a_sum() {
        for (one, other, times) in [
            (spread(40, 120), spread(60, 200), 2),
            (spread(40, 120), spread(300, 2_000), 1),
            (spread(1_000, 1_100), spread(20_000, 250_000), 2),
            (spread(500, 5_000), spread(30, 40), 1),
        ] {
            let (known, hidden) = (one.quantiles(), other.quantiles());
            let mut parts = vec![&known];
            parts.extend(std::iter::repeat_n(&hidden, times));
            let whole = sum(&parts);
            let found = fit(&[&known], times, whole);
            let table = found.quantiles();
            let mut again = vec![&known];
            again.extend(std::iter::repeat_n(&table, times));
            let again = sum(&again);
            assert!(near(again.p50, whole.p50), "{again:?} for {whole:?}");
            assert!(near(again.p99, whole.p99), "{again:?} for {whole:?}");
            // The whole says little about a part that hardly contributes.
            if other.p50 > one.p50 {
                assert!(near(found.p50, other.p50), "{found:?} for {other:?}");
                assert!(near(found.p99, other.p99), "{found:?} for {other:?}");
            }
        }
    }

    #[test]
    fn a_fit_is_at_least_the_shortest_span() {
        let known = spread(100, 300).quantiles();
        assert_eq!(fit(&[&known], 1, spread(80, 200)), spread(1, 1));
    }

    #[test]
    fn the_points_are_evenly_spaced() {
        let part = spread(100, 1_000).quantiles();
        assert!(near(sum(&[&part]).p50, Span(100)));
        assert!(near(sum(&[&part]).p99, Span(1_000)));
    }
}
