//! The mark: the position up to which callers may have received answers.
//!
//! It is one small file of two slots, written alternately after each commit. A crash during a write
//! damages at most one slot; the other one holds the previous mark. The operating system writes the
//! file to the disk by itself, and the server makes it do so every second. After a loss of power
//! the mark may therefore be older than the journal, but never newer.

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
}

/// The content of a file of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// The newest readable mark.
    Newest(Mark),
    /// The file is empty or absent: no entry was acknowledged, or the file is lost.
    Absent,
    /// No slot is readable.
    Damaged,
}

impl Marks {
    /// Parses a file of marks.
    #[must_use]
    pub fn read(file: &[u8]) -> Self {
        let slots = file.chunks(SLOT_BYTES).take(2).filter_map(|slot| {
            let (content, _) = Link::NONE.open(slot)?;
            let (mark, _) = postcard::take_from_bytes::<Mark>(content).ok()?;
            Some(mark)
        });
        match slots.max_by_key(|mark| mark.position) {
            Some(mark) => Self::Newest(mark),
            None if file.iter().all(|byte| *byte == 0) => Self::Absent,
            None => Self::Damaged,
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
    fn the_newest_mark_counts_and_a_torn_one_leaves_the_one_before() {
        let mut file = Vec::new();
        assert_eq!(Marks::read(&file), Marks::Absent);
        for (turn, position) in [(0, 3), (1, 7), (2, 9)] {
            write(&mut file, turn, &mark(position));
            assert_eq!(Marks::read(&file), Marks::Newest(mark(position)));
        }
        let (whole, before) = (file.clone(), mark(7));
        for torn in 0..SLOT_BYTES {
            file.clone_from(&whole);
            file[torn] ^= 0x10;
            assert_eq!(Marks::read(&file), Marks::Newest(before), "{torn}");
        }
        file[SLOT_BYTES] ^= 1;
        assert_eq!(Marks::read(&file), Marks::Damaged);
    }
}
