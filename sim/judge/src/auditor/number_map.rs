//! A map from numbers to values, such as a participant's or a room's.

use std::collections::BTreeMap;

/// The values by number. Missing numbers have the default.
#[derive(Clone, Debug, Default)]
pub(super) struct NumberMap<T>(BTreeMap<u64, T>);

impl<T> NumberMap<T> {
    /// The values in the order of their numbers.
    pub(super) fn into_values(self) -> impl Iterator<Item = T> {
        self.0.into_values()
    }
}

impl<T: Copy + Default> NumberMap<T> {
    pub(super) fn get(&self, number: u64) -> T {
        self.0.get(&number).copied().unwrap_or_default()
    }
}

impl<T> NumberMap<Vec<T>> {
    /// The values with a number; empty if there are none.
    pub(super) fn all(&self, number: u64) -> &[T] {
        self.0.get(&number).map_or(&[], Vec::as_slice)
    }
}

impl<T: Default> NumberMap<T> {
    pub(super) fn get_mut(&mut self, number: u64) -> &mut T {
        self.0.entry(number).or_default()
    }
}
