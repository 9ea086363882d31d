//! The timeline of a run: arrivals and faults.

use chat_types::Span;

/// Arrivals and faults of a run, in spans since its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// The length of a bucket.
    pub bucket: Span,
    /// The number of arrivals in each bucket.
    pub arrivals: Vec<u64>,
    /// Faults, ordered by time.
    pub marks: Vec<Mark>,
    /// When all faults ended.
    pub healed_at: Option<Span>,
    /// When all users had come to their end; none if the run ended before.
    pub quiet_at: Option<Span>,
    /// When the run ended.
    pub ended_at: Span,
}

/// A labelled event of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its time.
    pub at: Span,
    /// Its label: `crash`, `partition`.
    pub label: String,
    /// The index of the fault that began then, in the plan of its seed. None for other events, and in
    /// a live run, which leaves faults of the plan out.
    pub fault: Option<usize>,
}

impl Timeline {
    /// A timeline with buckets of this length.
    #[must_use]
    pub fn new(bucket: Span) -> Self {
        Self {
            bucket,
            ..Self::default()
        }
    }

    /// Adds an arrival.
    pub fn arrive(&mut self, at: Span) {
        let index = usize::try_from(at.0 / self.bucket.0.max(1)).unwrap_or(usize::MAX);
        // In a very long run, all later arrivals count in the last bucket.
        let index = index.min(9_999);
        if self.arrivals.len() <= index {
            self.arrivals.resize(index + 1, 0);
        }
        self.arrivals[index] += 1;
    }

    /// Adds a labelled event; `fault` is the index of the fault that begins.
    pub fn mark(&mut self, at: Span, label: &str, fault: Option<usize>) {
        self.marks.push(Mark {
            at,
            label: label.to_owned(),
            fault,
        });
    }

    /// Adds another seed's timeline of the plan: arrivals are summed, the faults are those of the
    /// first, and the latest end counts.
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
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
