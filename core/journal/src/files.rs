//! The files of a journal in memory: what a simulated disk has, and a bundle; and damage by disks, for tests and
//! for the simulator.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::ops::ControlFlow;

use chat_core::Position;

use crate::mark::SLOT_BYTES;
use crate::recovery::Store;

/// Records, snapshots and marks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files<B> {
    /// The records by the positions of their first entries.
    pub records: BTreeMap<Position, B>,
    /// The snapshots by their positions.
    pub snapshots: BTreeMap<Position, B>,
    /// The file of marks.
    pub marks: B,
}

impl<B: AsRef<[u8]>> Files<B> {
    /// Whether nothing is there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.snapshots.is_empty() && self.marks.as_ref().is_empty()
    }
}

impl<B: AsRef<[u8]>> Store for Files<B> {
    type Error = Infallible;

    fn snapshot(&mut self, number: usize) -> Result<Option<Vec<u8>>, Infallible> {
        let newest = self.snapshots.values().rev().nth(number);
        Ok(newest.map(|file| file.as_ref().to_vec()))
    }

    fn marks(&mut self) -> Result<Vec<u8>, Infallible> {
        Ok(self.marks.as_ref().to_vec())
    }

    fn records(
        &mut self,
        after: Position,
        take: &mut dyn FnMut(Position, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), Infallible> {
        for (first, record) in self.records.range(after.next()..) {
            if take(*first, record.as_ref()).is_break() {
                break;
            }
        }
        Ok(())
    }
}

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
        let slot = |slot: usize| slot % 2 * SLOT_BYTES..(slot % 2 + 1) * SLOT_BYTES;
        match *damage {
            Damage::FlipRecord { which, bit } => flip(nth(&mut self.records, which), bit),
            Damage::CutRecord { which, length } => cut(nth(&mut self.records, which), length),
            Damage::LoseRecord { which } => lose(&mut self.records, which),
            Damage::LoseEnd { from } => {
                if let Some(key) = key(&self.records, from) {
                    self.records.split_off(&key);
                }
            }
            Damage::Misdirect { which, to } => {
                if let (Some(from), Some(to)) = (key(&self.records, which), key(&self.records, to))
                {
                    let bytes = self.records[&from].clone();
                    self.records.insert(to, bytes);
                }
            }
            Damage::FlipSnapshot { which, bit } => flip(nth(&mut self.snapshots, which), bit),
            Damage::CutSnapshot { which, length } => cut(nth(&mut self.snapshots, which), length),
            Damage::LoseSnapshot { which } => lose(&mut self.snapshots, which),
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

/// The files of one kind, by their positions.
type Kind = BTreeMap<Position, Vec<u8>>;

/// The key of the file of this number.
fn key(files: &Kind, which: usize) -> Option<Position> {
    files.keys().copied().nth(which % files.len().max(1))
}

/// The file of this number.
fn nth(files: &mut Kind, which: usize) -> Option<&mut Vec<u8>> {
    let which = which % files.len().max(1);
    files.values_mut().nth(which)
}

fn lose(files: &mut Kind, which: usize) {
    key(files, which).and_then(|key| files.remove(&key));
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
