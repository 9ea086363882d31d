//! When what happened: the strip of arrivals and faults under the header.

use chat_core::Span;

use super::line::{Line, flow};
use super::numbers::instant;

/// Columns that the arrivals may take.
const BLOCKS: usize = 8;
/// Marks that the strip shows; it counts the others.
const MARKS: usize = 12;

/// Arrivals and faults of a run, in spans since its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// How long each entry of `arrivals` is.
    pub bucket: Span,
    /// How many users arrived in each bucket.
    pub arrivals: Vec<u64>,
    /// Faults, ordered by time.
    pub marks: Vec<Mark>,
    /// When all faults ended.
    pub healed_at: Option<Span>,
    /// When everything came to its end; none if the run ended before that.
    pub quiet_at: Option<Span>,
    /// When the run ended.
    pub ended_at: Span,
}

/// Something that the strip names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub at: Span,
    /// What, in a word: `crash`, `partition`.
    pub label: String,
}

impl Timeline {
    /// A timeline whose arrivals are counted by buckets of this length.
    #[must_use]
    pub fn new(bucket: Span) -> Self {
        Self {
            bucket,
            ..Self::default()
        }
    }

    /// Somebody arrived.
    pub fn arrive(&mut self, at: Span) {
        let index = usize::try_from(at.0 / self.bucket.0.max(1)).unwrap_or(usize::MAX);
        // A world far longer than its bucket foresaw puts the rest into the last one.
        let index = index.min(9_999);
        if self.arrivals.len() <= index {
            self.arrivals.resize(index + 1, 0);
        }
        self.arrivals[index] += 1;
    }

    /// Something began.
    pub fn mark(&mut self, at: Span, label: &str) {
        self.marks.push(Mark {
            at,
            label: label.to_owned(),
        });
    }

    /// Adds another seed's timeline of the same plan: arrivals add up, the faults are the same, and
    /// the latest end counts.
    pub fn merge(&mut self, other: Self) {
        if self.bucket == Span::ZERO {
            *self = other;
            return;
        }
        if self.arrivals.len() < other.arrivals.len() {
            self.arrivals.resize(other.arrivals.len(), 0);
        }
        for (mine, theirs) in self.arrivals.iter_mut().zip(other.arrivals) {
            *mine += theirs;
        }
        self.healed_at = self.healed_at.max(other.healed_at);
        self.quiet_at = match (self.quiet_at, other.quiet_at) {
            (Some(mine), Some(theirs)) => Some(mine.max(theirs)),
            (None, _) | (_, None) => None,
        };
        self.ended_at = self.ended_at.max(other.ended_at);
    }

    /// The strip: `0s ▂█▅▃ ── 10s crash ── 30s HEAL ── 33.4s quiet`.
    pub(super) fn strip(&self) -> Vec<Line> {
        let arrivals = format!("0s {}", blocks(&self.arrivals));
        let mut items = vec![arrivals.trim_end().to_owned()];
        let mut marks: Vec<Mark> = Vec::new();
        for mark in &self.marks {
            // Faults of one kind in a row are one item.
            match marks.last_mut() {
                Some(last) if word(&last.label) == mark.label => {
                    let times = times(&last.label) + 1;
                    last.label = format!("{} ×{times}", mark.label);
                }
                Some(_) | None => marks.push(mark.clone()),
            }
        }
        for mark in marks.iter().take(MARKS) {
            items.push(format!("{} {}", instant(mark.at), mark.label));
        }
        if marks.len() > MARKS {
            items.push(format!("… {} more", marks.len() - MARKS));
        }
        if let Some(at) = self.healed_at {
            items.push(format!("{} HEAL", instant(at)));
        }
        items.push(match self.quiet_at {
            Some(at) => format!("{} quiet", instant(at)),
            None => format!("{} not quiet", instant(self.ended_at)),
        });
        flow("", &items, " ── ", 0)
    }
}

/// A label without its count.
fn word(label: &str) -> &str {
    label.split_once(" ×").map_or(label, |(word, _)| word)
}

fn times(label: &str) -> u64 {
    label
        .split_once(" ×")
        .and_then(|(_, n)| n.parse().ok())
        .unwrap_or(1)
}

/// Arrivals as a row of blocks, scaled to the highest.
fn blocks(arrivals: &[u64]) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let end = arrivals
        .iter()
        .rposition(|n| *n > 0)
        .map_or(0, |last| last + 1);
    let count = end.min(BLOCKS);
    // The mean of the buckets that a column stands for, in thousandths.
    let column = |i: usize| {
        let buckets = &arrivals[i * end / count..(i + 1) * end / count];
        buckets.iter().sum::<u64>() * 1_000 / buckets.len() as u64
    };
    let columns: Vec<u64> = (0..count).map(column).collect();
    let highest = columns.iter().copied().max().unwrap_or(0).max(1);
    let block = |n: &u64| match n {
        0 => ' ',
        n => {
            let height = (n * HEIGHTS.len() as u64).div_ceil(highest);
            let height = usize::try_from(height).unwrap_or(1);
            HEIGHTS[(height - 1).min(HEIGHTS.len() - 1)]
        }
    };
    columns.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::line::Paint;

    fn strip(timeline: &Timeline) -> String {
        let mut out = String::new();
        for line in timeline.strip() {
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
        timeline.mark(Span::secs(10), "crash");
        timeline.mark(Span::secs(15), "partition");
        timeline.mark(Span::secs(16), "partition");
        timeline.mark(Span::secs(17), "partition");
        timeline.healed_at = Some(Span::secs(30));
        timeline.quiet_at = Some(Span::millis(33_412));
        assert_eq!(
            strip(&timeline),
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
            );
        }
        timeline.ended_at = Span::secs(90);
        let text = strip(&timeline);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(text.contains("… 28 more"), "{text}");
        assert!(text.ends_with("90s not quiet\n"), "{text}");
    }

    #[test]
    fn seeds_merge_into_one_timeline() {
        let mut merged = Timeline::default();
        let mut one = Timeline::new(Span::secs(1));
        one.arrive(Span::ZERO);
        one.quiet_at = Some(Span::secs(5));
        let mut other = Timeline::new(Span::secs(1));
        other.arrive(Span::secs(2));
        other.quiet_at = Some(Span::secs(7));
        merged.merge(one.clone());
        merged.merge(other);
        assert_eq!(merged.arrivals, [1, 0, 1]);
        assert_eq!(merged.quiet_at, Some(Span::secs(7)));
        merged.merge(Timeline {
            quiet_at: None,
            ..one
        });
        assert_eq!(merged.quiet_at, None);
    }

    #[test]
    fn nobody_at_all_is_a_strip_too() {
        assert_eq!(strip(&Timeline::default()), "0s ── 0s not quiet\n");
    }
}
