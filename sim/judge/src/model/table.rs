//! Values with numbers from 1. A number is never reused, and a lost life leaves a hole. // 4.1, 2.7

use std::collections::BTreeMap;

/// A table of the remaining values, by number.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    values: BTreeMap<u64, T>,
    /// The last number that was given, or may have been.
    last: u64,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        let (values, last) = (BTreeMap::new(), 0);
        Self { values, last }
    }
}

impl<T> Table<T> {
    /// The last number that was given, or may have been.
    pub(super) const fn last(&self) -> u64 {
        self.last
    }

    /// Goes on behind a later number. // 2.7
    pub(super) fn pass(&mut self, behind: impl FnOnce(u64) -> u64) {
        self.last = behind(self.last);
    }

    /// Adds a value with the next number.
    pub(super) fn add(&mut self, value: T) -> u64 {
        self.last += 1;
        self.values.insert(self.last, value);
        self.last
    }

    pub(super) fn get(&self, number: u64) -> Option<&T> {
        self.values.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        self.values.get_mut(&number)
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<T> {
        self.values.remove(&number)
    }

    /// The number of remaining values.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The remaining values in the order of their numbers.
    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.values.values()
    }

    /// The numbers of the remaining values, ascending.
    pub(super) fn numbers(&self) -> Vec<u64> {
        self.values.keys().copied().collect()
    }
}
