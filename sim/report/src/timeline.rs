//! The timeline: arrivals and faults below the header.

use super::line::{Line, flow};
use super::numbers::{instant, told};
use sim_model::outcome::{Mark, Timeline};

/// The most columns of the arrivals.
const BLOCKS: usize = 8;
/// The most marks of the timeline; further ones are counted.
const MARKS: usize = 12;

/// The timeline: `0s ▂█▅▃ ── 10s crash ── 30s HEAL ── 33.4s quiet`.
pub(super) fn strip(timeline: &Timeline) -> Vec<Line> {
    let arrivals = format!("0s {}", blocks(&timeline.arrivals));
    let mut items = vec![arrivals.trim_end().to_owned()];
    // Faults of one kind in a row are one item.
    let mut marks: Vec<(&Mark, u64)> = Vec::new();
    for mark in &timeline.marks {
        match marks.last_mut() {
            Some((last, times)) if last.label == mark.label => *times += 1,
            Some(_) | None => marks.push((mark, 1)),
        }
    }
    for (mark, times) in marks.iter().take(MARKS) {
        let times = told(" ×", (*times > 1).then_some(times), "");
        items.push(format!("{} {}{times}", instant(mark.at), mark.label));
    }
    if marks.len() > MARKS {
        items.push(format!("… {} more", marks.len() - MARKS));
    }
    if let Some(at) = timeline.healed_at {
        items.push(format!("{} HEAL", instant(at)));
    }
    items.push(match timeline.quiet_at {
        Some(at) => format!("{} quiet", instant(at)),
        None => format!("{} not quiet", instant(timeline.ended_at)),
    });
    flow("", &items, " ── ", 0)
}

/// Arrivals as a row of blocks, scaled to the highest.
fn blocks(arrivals: &[u64]) -> String {
    const HEIGHTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let end = arrivals
        .iter()
        .rposition(|n| *n > 0)
        .map_or(0, |last| last + 1);
    let count = end.min(BLOCKS);
    // The mean of the buckets of a column, in thousandths.
    let column = |i: usize| {
        let buckets = &arrivals[i * end / count..(i + 1) * end / count];
        buckets.iter().sum::<u64>() * 1_000 / buckets.len() as u64
    };
    let columns: Vec<u64> = (0..count).map(column).collect();
    let highest = columns.iter().copied().max().unwrap_or(0).max(1);
    let block = |n: &u64| {
        let height = usize::try_from((n * 8).div_ceil(highest)).unwrap_or(0);
        HEIGHTS[height.min(8)]
    };
    columns.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Paint;
    use chat_types::Span;

    fn page(timeline: &Timeline) -> String {
        let mut out = String::new();
        for line in strip(timeline) {
            line.render(Paint::Plain, &mut out);
        }
        out
    }

    #[test]
    fn a_strip_shows_arrivals_and_faults_in_order() {
        let mut timeline = Timeline::new(Span::secs(1));
        for (second, users) in [(0, 200), (1, 20), (4, 60)] {
            for _ in 0..users {
                timeline.arrive(Span::secs(second));
            }
        }
        timeline.mark(Span::secs(10), "crash", None);
        timeline.mark(Span::secs(15), "partition", None);
        timeline.mark(Span::secs(16), "partition", None);
        timeline.mark(Span::secs(17), "partition", None);
        timeline.healed_at = Some(Span::secs(30));
        timeline.quiet_at = Some(Span::millis(33_412));
        assert_eq!(
            page(&timeline),
            "0s █▁  ▃ ── 10s crash ── 15s partition ×3 ── 30s HEAL ── 33.4s quiet\n"
        );
    }

    #[test]
    fn a_long_strip_wraps_and_counts_what_it_leaves_out() {
        let mut timeline = Timeline::new(Span::secs(1));
        for n in 0..40 {
            timeline.arrive(Span::secs(n));
            timeline.mark(
                Span::secs(n),
                if n % 2 == 0 { "slow disk" } else { "partition" },
                None,
            );
        }
        timeline.ended_at = Span::secs(90);
        let text = page(&timeline);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(text.contains("… 28 more"), "{text}");
        assert!(text.ends_with("90s not quiet\n"), "{text}");
    }

    #[test]
    fn a_run_without_users_has_a_timeline() {
        assert_eq!(page(&Timeline::default()), "0s ── 0s not quiet\n");
    }
}
