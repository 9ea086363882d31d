//! Values with numbers from 1. A number is never reused, and a lost life leaves a hole. // 4.1, 2.7

use rustc_hash::FxHashMap;

/// A table of the remaining values, by number.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    /// Every entry looks up several, and they are large.
    values: FxHashMap<u64, Box<T>>,
    /// The last number that was given, or may have been.
    pub(super) last: u64,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        let (values, last) = (FxHashMap::default(), 0);
        Self { values, last }
    }
}

impl<T> Table<T> {
    /// Adds a value with the next number.
    pub(super) fn add(&mut self, value: T) -> u64 {
        self.last += 1;
        self.values.insert(self.last, Box::new(value));
        self.last
    }

    pub(super) fn get(&self, number: u64) -> Option<&T> {
        self.values.get(&number).map(Box::as_ref)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        self.values.get_mut(&number).map(Box::as_mut)
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<Box<T>> {
        self.values.remove(&number)
    }

    /// The number of remaining values.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The largest of the remaining values' sizes.
    pub(super) fn most(&self, size: impl Fn(&T) -> usize) -> usize {
        let sizes = self.values.values().map(|value| size(value));
        sizes.max().unwrap_or_default()
    }

    /// The numbers of the remaining values, ascending.
    pub(super) fn numbers(&self) -> Vec<u64> {
        let mut numbers: Vec<u64> = self.values.keys().copied().collect();
        numbers.sort_unstable();
        numbers
    }
}
