//! A map from small numbers to values, such as a participant's or a room's.

/// The values by number. Missing numbers have the default.
#[derive(Clone, Debug, Default)]
pub(super) struct DenseMap<T>(Vec<T>);

impl<T> DenseMap<T> {
    /// The values in the order of their numbers.
    pub(super) fn into_values(self) -> impl Iterator<Item = T> {
        self.0.into_iter()
    }
}

impl<T: Copy + Default> DenseMap<T> {
    pub(super) fn get(&self, number: u32) -> T {
        self.0.get(number as usize).copied().unwrap_or_default()
    }
}

impl<T> DenseMap<Vec<T>> {
    /// The values with a number; empty if there are none.
    pub(super) fn all(&self, number: u32) -> &[T] {
        self.0.get(number as usize).map_or(&[], Vec::as_slice)
    }
}

impl<T: Clone + Default> DenseMap<T> {
    pub(super) fn get_mut(&mut self, number: u32) -> &mut T {
        let index = number as usize;
        if index >= self.0.len() {
            self.0.resize(index + 1, T::default());
        }
        &mut self.0[index]
    }
}
