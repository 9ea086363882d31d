//! Damage by disks, for tests and for the simulator.

use std::fmt;

use chat_core::Position;

use crate::files::Files;
use crate::mark::SLOT_BYTES;

/// Damage to one file or record. Records and snapshots are counted from 0, the oldest first; a
/// number beyond the last one wraps around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variant says what its fields are")]
pub enum Damage {
    /// One bit of a record changes.
    FlipRecord { which: usize, bit: usize },
    /// A record is torn: only its beginning is written.
    CutRecord { which: usize, length: usize },
    /// A record is not written.
    LoseRecord { which: usize },
    /// A record and all later ones are not written.
    LoseEnd { from: usize },
    /// A record is written at the position of another one.
    Misdirect { which: usize, to: usize },
    /// One bit of a snapshot changes.
    FlipSnapshot { which: usize, bit: usize },
    /// A snapshot is torn.
    CutSnapshot { which: usize, length: usize },
    /// A snapshot is missing.
    LoseSnapshot { which: usize },
    /// One bit of the marks changes.
    FlipMark { bit: usize },
    /// One of the two marks is missing.
    LoseMark { slot: usize },
    /// The file of marks is missing.
    LoseMarks,
    /// The newer mark, in this slot, is not written. A loss of power does this, too.
    StaleMark { slot: usize },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FlipRecord { which, bit } => write!(f, "record {which}: bit {bit} flipped"),
            Self::CutRecord { which, length } => write!(f, "record {which} torn at {length}"),
            Self::LoseRecord { which } => write!(f, "record {which} lost"),
            Self::LoseEnd { from } => write!(f, "records from {from} on lost"),
            Self::Misdirect { which, to } => write!(f, "record {which} written over {to}"),
            Self::FlipSnapshot { which, bit } => write!(f, "snapshot {which}: bit {bit} flipped"),
            Self::CutSnapshot { which, length } => write!(f, "snapshot {which} torn at {length}"),
            Self::LoseSnapshot { which } => write!(f, "snapshot {which} lost"),
            Self::FlipMark { bit } => write!(f, "marks: bit {bit} flipped"),
            Self::LoseMark { slot } => write!(f, "mark {slot} lost"),
            Self::LoseMarks => f.write_str("marks lost"),
            Self::StaleMark { slot } => write!(f, "mark {slot} not written"),
        }
    }
}

impl Files<Vec<u8>> {
    /// Damages the files.
    pub fn suffer(&mut self, damage: &Damage) {
        let record = |files: &Self, which: usize| nth(files.records.keys(), which);
        let snapshot = |files: &Self, which: usize| nth(files.snapshots.keys(), which);
        let slot = |slot: usize| slot % 2 * SLOT_BYTES..(slot % 2 + 1) * SLOT_BYTES;
        match *damage {
            Damage::FlipRecord { which, bit } => {
                let key = record(self, which);
                flip(key.and_then(|key| self.records.get_mut(&key)), bit);
            }
            Damage::CutRecord { which, length } => {
                let key = record(self, which);
                cut(key.and_then(|key| self.records.get_mut(&key)), length);
            }
            Damage::LoseRecord { which } => {
                record(self, which).and_then(|key| self.records.remove(&key));
            }
            Damage::LoseEnd { from } => {
                if let Some(key) = record(self, from) {
                    self.records.split_off(&key);
                }
            }
            Damage::Misdirect { which, to } => {
                if let (Some(from), Some(to)) = (record(self, which), record(self, to)) {
                    let bytes = self.records[&from].clone();
                    self.records.insert(to, bytes);
                }
            }
            Damage::FlipSnapshot { which, bit } => {
                let key = snapshot(self, which);
                flip(key.and_then(|key| self.snapshots.get_mut(&key)), bit);
            }
            Damage::CutSnapshot { which, length } => {
                let key = snapshot(self, which);
                cut(key.and_then(|key| self.snapshots.get_mut(&key)), length);
            }
            Damage::LoseSnapshot { which } => {
                snapshot(self, which).and_then(|key| self.snapshots.remove(&key));
            }
            Damage::FlipMark { bit } => flip(Some(&mut self.marks), bit),
            Damage::LoseMark { slot: lost } => {
                if let Some(mark) = self.marks.get_mut(slot(lost)) {
                    mark.fill(0);
                }
            }
            Damage::LoseMarks => self.marks.clear(),
            Damage::StaleMark { slot: stale } => {
                if self.marks.len() == 2 * SLOT_BYTES {
                    self.marks.copy_within(slot(stale + 1), slot(stale).start);
                }
            }
        }
    }
}

/// The key of this number.
fn nth<'k>(keys: impl ExactSizeIterator<Item = &'k Position>, which: usize) -> Option<Position> {
    let count = keys.len().max(1);
    keys.copied().nth(which % count)
}

fn flip(bytes: Option<&mut Vec<u8>>, bit: usize) {
    if let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) {
        let bit = bit % (bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

fn cut(bytes: Option<&mut Vec<u8>>, length: usize) {
    if let Some(bytes) = bytes {
        bytes.truncate(length % bytes.len().max(1));
    }
}
