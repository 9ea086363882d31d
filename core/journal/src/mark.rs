//! The mark: the position up to which callers may have received answers.
//!
//! It is one small file of two slots. Both are written before the first entry, then one of them
//! after each commit, in turns. A crash during a write damages at most one slot; the other one
//! holds the previous mark, and the record of the damaged one was committed before. The operating
//! system writes the file to the disk by itself, and the server makes it do so every second. After
//! a loss of power the mark may therefore be older than the journal, but never newer.

use chat_core::Position;
use serde::{Deserialize, Serialize};

use crate::link::Link;
use crate::record::Chain;

/// The size of a slot in the file.
pub const SLOT_BYTES: usize = 64;

/// The last record whose callers may have received answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The position of its last entry; 0 before the first one.
    pub position: Position,
    /// Its link.
    pub link: Link,
}

impl Mark {
    /// The mark at the end of this chain.
    #[must_use]
    pub const fn at(chain: &Chain) -> Self {
        Self {
            position: chain.last(),
            link: chain.tip(),
        }
    }

    /// The offset of the next mark in the file, and the bytes to write. `turn` is the number of
    /// marks written so far, and chooses the slot.
    ///
    /// # Panics
    /// Never: a mark is smaller than its slot.
    #[must_use]
    pub fn slot(&self, turn: u64) -> (u64, [u8; SLOT_BYTES]) {
        let mut bytes = postcard::to_stdvec(self).expect("a mark serialises");
        bytes.resize(SLOT_BYTES - crate::link::LINK_BYTES, 0);
        Link::NONE.close(&mut bytes);
        let slot = bytes.try_into().expect("a slot has the size of a slot");
        (turn % 2 * SLOT_BYTES as u64, slot)
    }

    /// A whole file of marks with this one in both slots.
    #[must_use]
    pub fn file(&self) -> Vec<u8> {
        [self.slot(0).1, self.slot(1).1].concat()
    }
}

/// The content of a file of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// The newest mark.
    Newest(Mark),
    /// The only readable mark. The other one was either the mark before it or the next one.
    Only(Mark),
    /// The file is empty or absent: the journal is new, or the file is lost.
    Absent,
    /// No slot is readable.
    Damaged,
}

impl Marks {
    /// Parses a file of marks.
    #[must_use]
    pub fn read(file: &[u8]) -> Self {
        let read = |number: usize| {
            let slot = file.chunks(SLOT_BYTES).nth(number)?;
            let (content, _) = Link::NONE.open(slot)?;
            let (mark, _) = postcard::take_from_bytes::<Mark>(content).ok()?;
            Some(mark)
        };
        match (read(0), read(1)) {
            (Some(one), Some(two)) if one.position > two.position => Self::Newest(one),
            (Some(_), Some(two)) => Self::Newest(two),
            (Some(only), None) | (None, Some(only)) => Self::Only(only),
            (None, None) if file.is_empty() => Self::Absent,
            (None, None) => Self::Damaged,
        }
    }

    /// The newest known mark.
    #[must_use]
    pub const fn known(self) -> Option<Mark> {
        match self {
            Self::Newest(mark) | Self::Only(mark) => Some(mark),
            Self::Absent | Self::Damaged => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(position: u64) -> Mark {
        Mark {
            position: Position(position),
            link: Link::NONE.over(&position.to_le_bytes()),
        }
    }

    fn write(file: &mut Vec<u8>, turn: u64, mark: &Mark) {
        let (offset, slot) = mark.slot(turn);
        let offset = usize::try_from(offset).unwrap();
        file.resize(file.len().max(offset + SLOT_BYTES), 0);
        file[offset..offset + SLOT_BYTES].copy_from_slice(&slot);
    }

    #[test]
    fn the_newest_whole_mark_counts() {
        assert_eq!(Marks::read(&[]), Marks::Absent);
        assert_eq!(Marks::read(&[0; 2 * SLOT_BYTES]), Marks::Damaged);
        let mut file = mark(3).file();
        assert_eq!(Marks::read(&file), Marks::Newest(mark(3)));
        for (turn, position) in [(0, 5), (1, 7), (2, 9)] {
            write(&mut file, turn, &mark(position));
            assert_eq!(Marks::read(&file), Marks::Newest(mark(position)));
        }
        let whole = file.clone();
        for torn in 0..2 * SLOT_BYTES {
            file.clone_from(&whole);
            file[torn] ^= 0x10;
            let other = if torn < SLOT_BYTES { 7 } else { 9 };
            assert_eq!(Marks::read(&file), Marks::Only(mark(other)), "{torn}");
        }
        file[0] ^= 1;
        assert_eq!(Marks::read(&file), Marks::Damaged);
    }
}
