//! Values with numbers from 1. A number is never reused. // 4.1

/// A table of the remaining values, by number.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    slots: Vec<Option<Box<T>>>,
    live: usize,
}

impl<T> Table<T> {
    pub(super) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            live: 0,
        }
    }

    /// The number of the next value.
    pub(super) fn next_number(&self) -> u32 {
        u32::try_from(self.slots.len() + 1).expect("fewer than 2^32 numbers are given in one run")
    }

    /// Adds a value with the next number.
    pub(super) fn add(&mut self, value: T) -> u32 {
        let number = self.next_number();
        self.slots.push(Some(Box::new(value)));
        self.live += 1;
        number
    }

    /// Whether the number was ever given.
    pub(super) fn was_given(&self, number: u32) -> bool {
        number > 0 && number < self.next_number()
    }

    pub(super) fn get(&self, number: u32) -> Option<&T> {
        let index = (number as usize).checked_sub(1)?;
        self.slots.get(index)?.as_deref()
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let index = (number as usize).checked_sub(1)?;
        self.slots.get_mut(index)?.as_deref_mut()
    }

    pub(super) fn remove(&mut self, number: u32) -> Option<Box<T>> {
        let index = (number as usize).checked_sub(1)?;
        let value = self.slots.get_mut(index)?.take()?;
        self.live -= 1;
        Some(value)
    }

    /// The number of remaining values.
    pub(super) const fn len(&self) -> usize {
        self.live
    }

    /// The numbers of the remaining values, ascending.
    pub(super) fn numbers(&self) -> Vec<u32> {
        (1..self.next_number())
            .filter(|number| self.get(*number).is_some())
            .collect()
    }
}
