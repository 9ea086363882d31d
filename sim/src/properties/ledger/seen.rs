//! Which places of an order somebody has had: all up to a mark, but for a few holes.

/// Holes kept at most; beyond it the oldest is forgiven, so that memory stays bounded: what lies
/// in it may come, and need not.
const MAX_HOLES: usize = 512;

/// Whether a place is had for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    /// For the first time.
    New,
    /// Not for the first time.
    Again,
}

/// The places had so far.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    upto: u64,
    holes: Vec<(u64, u64)>,
    /// Up to here a place may have been in a hole that was forgiven.
    forgiven: u64,
}

impl Seen {
    /// Nothing had yet of an order that begins at `first`.
    pub(crate) fn from(first: u64) -> Self {
        Self {
            upto: first.saturating_sub(1),
            holes: Vec::new(),
            forgiven: 0,
        }
    }

    /// The highest place had (or covered).
    pub(crate) const fn upto(&self) -> u64 {
        self.upto
    }

    /// The places below `upto` that are missing, as ranges in order.
    pub(crate) fn holes(&self) -> &[(u64, u64)] {
        &self.holes
    }

    /// The lowest place not had yet.
    pub(crate) fn first_missing(&self) -> u64 {
        self.holes.first().map_or(self.upto + 1, |hole| hole.0)
    }

    /// This place is had.
    pub(crate) fn note(&mut self, at: u64) -> Noted {
        if at == self.upto + 1 {
            self.upto = at;
            return Noted::New;
        }
        if at > self.upto {
            self.open(self.upto + 1, at - 1);
            self.upto = at;
            return Noted::New;
        }
        match self.holes.iter().rposition(|&(a, b)| a <= at && at <= b) {
            None if at <= self.forgiven => Noted::New,
            None => Noted::Again,
            Some(index) => {
                self.cut(index, at, at);
                Noted::New
            }
        }
    }

    /// These places need not be had any more.
    pub(crate) fn cover(&mut self, from: u64, to: u64) {
        if from > to {
            return;
        }
        // From the last to the first, so that a hole cut away or in two moves none still to come.
        for index in (0..self.holes.len()).rev() {
            let (a, b) = self.holes[index];
            if a <= to && from <= b {
                self.cut(index, a.max(from), b.min(to));
            }
        }
        if to > self.upto {
            if from > self.upto + 1 {
                self.open(self.upto + 1, from - 1);
            }
            self.upto = to;
        }
    }

    /// The order turns out to begin at `first`, not at `low`: what lies between is missing.
    pub(crate) fn reach_down(&mut self, first: u64, low: u64) {
        if first < low {
            self.holes.insert(0, (first, low - 1));
        }
    }

    /// What was had from this place on, of an order that begins there; the rest stays here.
    pub(crate) fn split_off(&mut self, first: u64) -> Self {
        let mut later = Self::from(first);
        later.upto = later.upto.max(self.upto);
        later.forgiven = self.forgiven;
        for &(from, to) in &self.holes {
            if to >= first {
                later.holes.push((from.max(first), to));
            }
        }
        self.upto = self.upto.min(first - 1);
        self.holes.retain_mut(|(from, to)| {
            *to = (*to).min(first - 1);
            from <= to
        });
        later
    }

    fn open(&mut self, from: u64, to: u64) {
        if self.holes.len() == MAX_HOLES {
            let (_, to) = self.holes.remove(0);
            self.forgiven = self.forgiven.max(to);
        }
        self.holes.push((from, to));
    }

    /// Takes `from..=to`, which lies within it, out of a hole.
    fn cut(&mut self, index: usize, from: u64, to: u64) {
        let (a, b) = self.holes[index];
        match (a < from, to < b) {
            (false, false) => {
                self.holes.remove(index);
            }
            (true, false) => self.holes[index].1 = from - 1,
            (false, true) => self.holes[index].0 = to + 1,
            (true, true) => {
                self.holes[index].1 = from - 1;
                self.holes.insert(index + 1, (to + 1, b));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrives_late_fills_its_hole() {
        let mut seen = Seen::from(1);
        assert_eq!(seen.note(1), Noted::New);
        assert_eq!(seen.note(5), Noted::New);
        assert_eq!(seen.holes(), [(2, 4)]);
        assert_eq!(seen.note(3), Noted::New);
        assert_eq!(seen.holes(), [(2, 2), (4, 4)]);
        assert_eq!(seen.note(3), Noted::Again);
        assert_eq!(seen.note(2), Noted::New);
        assert_eq!(seen.first_missing(), 4);
        assert_eq!(seen.note(4), Noted::New);
        assert_eq!(seen.first_missing(), 6);
    }

    #[test]
    fn a_gap_covers_holes_and_what_is_still_to_come() {
        let mut seen = Seen::from(1);
        for at in [1, 3, 5, 9] {
            seen.note(at);
        }
        assert_eq!(seen.holes(), [(2, 2), (4, 4), (6, 8)]);
        seen.cover(2, 6);
        assert_eq!(seen.holes(), [(7, 8)]);
        seen.cover(12, 20);
        assert_eq!(seen.holes(), [(7, 8), (10, 11)]);
        assert_eq!(seen.upto(), 20);
        assert_eq!(seen.note(15), Noted::Again);
    }

    #[test]
    fn an_order_may_turn_out_to_begin_earlier() {
        let mut seen = Seen::from(7);
        seen.note(7);
        seen.reach_down(4, 7);
        assert_eq!(seen.holes(), [(4, 6)]);
        assert_eq!(seen.note(4), Noted::New);
        assert_eq!(seen.first_missing(), 5);
    }

    #[test]
    fn what_was_forgiven_may_come_and_need_not() {
        let mut seen = Seen::from(1);
        let last = 2 * MAX_HOLES as u64 + 6;
        for at in (2..=last).step_by(2) {
            seen.note(at);
        }
        assert_eq!((seen.holes().len(), seen.first_missing()), (MAX_HOLES, 7));
        assert_eq!((seen.note(1), seen.note(5)), (Noted::New, Noted::New));
        assert_eq!((seen.note(7), seen.note(7)), (Noted::New, Noted::Again));
        assert_eq!(seen.note(last), Noted::Again);
    }

    #[test]
    fn an_order_in_two_parts_keeps_what_was_had_of_each() {
        let mut early = Seen::from(1);
        for at in [1, 4, 5, 9] {
            early.note(at);
        }
        let late = early.split_off(7);
        assert_eq!((early.upto(), early.holes()), (6, &[(2, 3), (6, 6)][..]));
        assert_eq!((late.upto(), late.holes()), (9, &[(7, 8)][..]));
        let nothing = early.split_off(20);
        assert_eq!((nothing.upto(), nothing.first_missing()), (19, 20));
    }
}
