//! Values with numbers from 1. A number is never reused, and a lost life leaves a hole. // 4.1, 2.7

/// A table of the remaining values, by number.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    /// One for each number that was given.
    slots: Vec<Option<Box<T>>>,
    live: usize,
    /// The lives: how many slots the lost ones before have, and how many numbers more they may have
    /// given. // 2.7
    lives: Vec<(usize, u64)>,
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
    pub(super) fn last(&self) -> u64 {
        let slots = self.slots.len() as u64;
        slots + self.lives.last().map_or(0, |(_, passed)| *passed)
    }

    /// The number of the next value.
    pub(super) fn next_number(&self) -> u64 {
        self.last() + 1
    }

    /// Goes on behind a later number. // 2.7
    pub(super) fn pass(&mut self, behind: impl FnOnce(u64) -> u64) {
        let last = self.last();
        let passed = self.lives.last().map_or(0, |(_, passed)| *passed);
        self.lives
            .push((self.slots.len(), passed + behind(last) - last));
    }

    fn index(&self, number: u64) -> Option<usize> {
        let index = number.checked_sub(1)?;
        let index_in = |passed: u64| usize::try_from(index.checked_sub(passed)?).ok();
        let mut end = self.slots.len();
        for (first, passed) in self.lives.iter().rev() {
            match index_in(*passed) {
                Some(index) if index >= *first => return Some(index).filter(|index| *index < end),
                _ => end = *first,
            }
        }
        index_in(0).filter(|index| *index < end)
    }

    fn number(&self, index: usize) -> u64 {
        let life = self.lives.iter().rfind(|(first, _)| *first <= index);
        let number = index as u64 + 1;
        number + life.map_or(0, |(_, passed)| *passed)
    }

    /// Adds a value with the next number.
    pub(super) fn add(&mut self, value: T) -> u64 {
        let number = self.next_number();
        self.slots.push(Some(Box::new(value)));
        self.live += 1;
        number
    }

    /// Whether the number was ever given.
    pub(super) fn was_given(&self, number: u64) -> bool {
        number > 0 && number < self.next_number()
    }

    pub(super) fn get(&self, number: u64) -> Option<&T> {
        self.slots.get(self.index(number)?)?.as_deref()
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        let index = self.index(number)?;
        self.slots.get_mut(index)?.as_deref_mut()
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<Box<T>> {
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
    pub(super) fn numbers(&self) -> Vec<u64> {
        let kept = self.slots.iter().enumerate();
        let kept = kept.filter(|(_, slot)| slot.is_some());
        kept.map(|(index, _)| self.number(index)).collect()
    }
}
