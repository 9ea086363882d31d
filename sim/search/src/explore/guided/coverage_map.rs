//! The coverage bitmap: for each facet a bit for each class of how often a run entered it, as in
//! AFL's bitmap, and the number of families that entered it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sim_world::abstraction::{FACETS, Facet};

/// The number of times that one run entered each facet.
#[derive(Clone, Debug)]
pub(super) struct Counts(Vec<u8>);

/// A facet, and the class of its count as a bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::explore) struct Entered {
    pub(super) facet: Facet,
    pub(super) class: u8,
}

impl Counts {
    pub(super) fn new() -> Self {
        Self(vec![0; FACETS])
    }

    /// Adds one to the count. Returns the class if it changed.
    pub(super) fn enter(&mut self, facet: Facet) -> Option<Entered> {
        let count = &mut self.0[usize::from(facet.0)];
        let before = class(*count);
        *count = count.saturating_add(1);
        let class = class(*count);
        (class != before).then_some(Entered { facet, class })
    }
}

/// The class of a count: 1, 2, 3, to 7, to 15, to 31, to 127, and more.
const fn class(count: u8) -> u8 {
    match count {
        0 => 0,
        1 => 1,
        2 => 1 << 1,
        3 => 1 << 2,
        4..=7 => 1 << 3,
        8..=15 => 1 << 4,
        16..=31 => 1 << 5,
        32..=127 => 1 << 6,
        128.. => 1 << 7,
    }
}

/// The coverage so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::explore) struct CoverageMap {
    /// The classes of each facet, and the number of families that entered it.
    facets: BTreeMap<Facet, (u8, u32)>,
    /// The number of families.
    pub(super) all_families: u32,
}

impl CoverageMap {
    pub(super) fn has(&self, entered: Entered) -> bool {
        let known = self.facets.get(&entered.facet);
        known.is_some_and(|(classes, _)| classes & entered.class != 0)
    }

    /// Adds a class of a facet. Returns whether it was new.
    pub(super) fn add(&mut self, entered: Entered) -> bool {
        let new = !self.has(entered);
        self.facets.entry(entered.facet).or_default().0 |= entered.class;
        new
    }

    /// Adds a family that entered these facets.
    pub(super) fn add_family(&mut self, entered: &[Facet]) {
        self.all_families = self.all_families.saturating_add(1);
        for facet in entered {
            let (_, families) = self.facets.entry(*facet).or_default();
            *families = families.saturating_add(1);
        }
    }

    /// The rarity of a facet: the binary logarithm of the ratio of all families to those that
    /// entered it.
    pub(super) fn rarity(&self, facet: Facet) -> u32 {
        let families = self.facets.get(&facet).map_or(0, |known| known.1) + 1;
        (self.all_families / families).checked_ilog2().unwrap_or(0)
    }

    /// The facets entered, in order.
    pub(super) fn entered(&self) -> Vec<Facet> {
        let entered = self.facets.iter().filter(|(_, known)| known.0 != 0);
        entered.map(|(facet, _)| *facet).collect()
    }

    /// The bitmap as text: a line for each facet entered.
    pub(super) fn to_text(&self) -> String {
        let mut text = format!("families {}\n", self.all_families);
        for (Facet(place), (classes, families)) in &self.facets {
            if *classes != 0 {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{place:04x} {classes:02x} {families}");
            }
        }
        text
    }

    /// Parses the bitmap; none if the text is invalid.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let mut coverage = Self::default();
        let mut lines = text.lines();
        let families = lines.next()?.strip_prefix("families ")?;
        coverage.all_families = families.parse().ok()?;
        for line in lines {
            let mut words = line.split(' ');
            let facet = Facet(u16::from_str_radix(words.next()?, 16).ok()?);
            let classes = u8::from_str_radix(words.next()?, 16).ok()?;
            let families = words.next()?.parse().ok()?;
            coverage.facets.insert(facet, (classes, families));
        }
        Some(coverage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_facet_is_new_once_in_each_class_of_counts() {
        let mut counts = Counts::new();
        let facet = Facet(7);
        let new_facets: Vec<u8> = (0..300)
            .filter_map(|_| Some(counts.enter(facet)?.class))
            .collect();
        assert_eq!(new_facets, [1, 2, 4, 8, 16, 32, 64, 128]);
        let mut coverage = CoverageMap::default();
        for class in new_facets {
            let entered = Entered { facet, class };
            assert!(coverage.add(entered) && !coverage.add(entered) && coverage.has(entered));
        }
        assert_eq!(coverage.entered(), [facet]);
    }

    #[test]
    fn a_facet_that_few_families_enter_is_rare() {
        let mut coverage = CoverageMap::default();
        for family in 0..256 {
            let some = [Facet(1), Facet(2)];
            coverage.add_family(&some[usize::from(family % 64 != 0)..]);
        }
        let rarities = [Facet(2), Facet(1), Facet(3)].map(|facet| coverage.rarity(facet));
        assert_eq!(rarities, [0, 5, 8]);
    }

    #[test]
    fn a_bitmap_reads_back_as_written() {
        let mut coverage = CoverageMap::default();
        for (place, class) in [(0, 1), (7, 128), (65_535, 2), (7, 4)] {
            let facet = Facet(place);
            coverage.add(Entered { facet, class });
            coverage.add_family(&[facet]);
        }
        assert_eq!(CoverageMap::from_text(&coverage.to_text()), Some(coverage));
        for text in [
            "",
            "families x",
            "families 1\nzz 01 1",
            "families 1\n10000 01 1",
        ] {
            assert_eq!(CoverageMap::from_text(text), None, "{text}");
        }
    }
}
