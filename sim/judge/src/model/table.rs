//! Values with numbers from 1. A number is never reused, and a lost life leaves a hole. // 4.1, 2.7

/// A table of the remaining values, by number.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    /// One for each number that was given.
    slots: Vec<Option<Box<T>>>,
    live: usize,
    /// The lives: how many slots the lost ones before have, and how many numbers more they may have
    /// given. // 2.7
    lives: Vec<(usize, u32)>,
}

impl<T> Table<T> {
    pub(super) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            live: 0,
            lives: Vec::new(),
        }
    }

    /// The last number that was given, or may have been.
    pub(super) fn last(&self) -> u32 {
        let slots = u32::try_from(self.slots.len()).expect("fewer than 2^32 numbers are given");
        slots + self.lives.last().map_or(0, |(_, passed)| *passed)
    }

    /// The number of the next value.
    pub(super) fn next_number(&self) -> u32 {
        self.last() + 1
    }

    /// Goes on behind a later number. // 2.7
    pub(super) fn pass(&mut self, behind: impl FnOnce(u32) -> u32) {
        let last = self.last();
        let passed = self.lives.last().map_or(0, |(_, passed)| *passed);
        self.lives
            .push((self.slots.len(), passed + behind(last) - last));
    }

    fn index(&self, number: u32) -> Option<usize> {
        let index = (number as usize).checked_sub(1)?;
        let mut end = self.slots.len();
        for (first, passed) in self.lives.iter().rev() {
            match index.checked_sub(*passed as usize) {
                Some(index) if index >= *first => return Some(index).filter(|index| *index < end),
                _ => end = *first,
            }
        }
        Some(index).filter(|index| *index < end)
    }

    fn number(&self, index: usize) -> u32 {
        let life = self.lives.iter().rfind(|(first, _)| *first <= index);
        let number = u32::try_from(index + 1).expect("fewer than 2^32 numbers are given");
        number + life.map_or(0, |(_, passed)| *passed)
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
        self.slots.get(self.index(number)?)?.as_deref()
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let index = self.index(number)?;
        self.slots.get_mut(index)?.as_deref_mut()
    }

    pub(super) fn remove(&mut self, number: u32) -> Option<Box<T>> {
        let index = self.index(number)?;
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
        let kept = self.slots.iter().enumerate();
        let kept = kept.filter(|(_, slot)| slot.is_some());
        kept.map(|(index, _)| self.number(index)).collect()
    }
}
