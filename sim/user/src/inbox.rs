//! The places of its inbox that a client has received, to recognise redeliveries and holes.

/// The received places. Streams and checks each deliver in order, so there are rarely more than three
/// ranges.
#[derive(Clone, Debug)]
pub(super) struct Inbox {
    /// The first and the last place of each range: sorted, with gaps between them. The first range
    /// begins at place 0, which no event has.
    ranges: Vec<(u64, u64)>,
    /// The number of deliveries with something new.
    pub(super) arrivals: u64,
}

impl Default for Inbox {
    fn default() -> Self {
        Self {
            ranges: vec![(0, 0)],
            arrivals: 0,
        }
    }
}

impl Inbox {
    /// The cursor for the next read: all places up to it were received.
    pub(super) fn cursor(&self) -> u64 {
        self.ranges.first().map_or(0, |(_, last)| *last)
    }

    /// The last received place, whatever is missing before it.
    pub(super) fn last(&self) -> u64 {
        self.ranges.last().map_or(0, |(_, last)| *last)
    }

    /// Whether a place before the last received one is missing.
    pub(super) fn has_holes(&self) -> bool {
        self.ranges.len() > 1
    }

    /// Records `from..=to` as received. Returns whether any of it is new.
    pub(super) fn take(&mut self, from: u64, to: u64) -> bool {
        let ranges = &self.ranges;
        // Ranges that end before `from` stay, and ranges that touch the new one are merged.
        let start = ranges.partition_point(|(_, last)| last.saturating_add(1) < from);
        let touched = ranges[start..].iter();
        let touched = touched.take_while(|(first, _)| *first <= to.saturating_add(1));
        let (mut low, mut high, mut end) = (from, to, start);
        for (first, last) in touched {
            if *first <= from && to <= *last {
                return false;
            }
            (low, high, end) = (low.min(*first), high.max(*last), end + 1);
        }
        if from > to {
            return false;
        }
        self.ranges.splice(start..end, [(low, high)]);
        self.arrivals += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn holes_are_detected_and_filled() {
        let mut inbox = Inbox::default();
        assert!(inbox.take(1, 1) && inbox.take(2, 2) && inbox.take(5, 5) && inbox.take(4, 4));
        assert!(!inbox.take(5, 5) && !inbox.take(1, 1));
        assert_eq!((inbox.cursor(), inbox.has_holes()), (2, true));
        assert!(inbox.take(3, 3));
        assert_eq!((inbox.cursor(), inbox.has_holes()), (5, false));
    }

    #[test]
    fn the_largest_positions_do_not_overflow() {
        let mut inbox = Inbox::default();
        assert!(!inbox.take(0, 0), "there is no place 0");
        assert!(inbox.take(u64::MAX, u64::MAX) && !inbox.take(u64::MAX, u64::MAX));
        assert!(!inbox.take(9, 3), "a range that ends before it begins");
        assert!(inbox.take(0, u64::MAX));
        assert_eq!((inbox.cursor(), inbox.has_holes()), (u64::MAX, false));
    }

    proptest! {
        #[test]
        fn an_inbox_agrees_with_a_set(ranges in proptest::collection::vec((1u64..40, 0u64..6), 0..60)) {
            let (mut inbox, mut set) = (Inbox::default(), BTreeSet::new());
            for (from, more) in ranges {
                let before = set.len();
                set.extend(from..=from + more);
                let new = set.len() > before;
                prop_assert_eq!(inbox.take(from, from + more), new);
                let cursor = (1..).take_while(|seq| set.contains(seq)).last().unwrap_or(0);
                prop_assert_eq!(inbox.cursor(), cursor);
                let last = set.last().copied().unwrap_or(0);
                prop_assert_eq!(inbox.has_holes(), last > cursor);
            }
        }
    }
}
