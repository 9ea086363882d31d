//! The files of a journal, as a recovery reads them.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::ControlFlow;

use chat_core::Position;
use chat_journal::{Chain, Mark, Store};

/// Records, snapshots and marks.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    /// The records by the positions of their first entries.
    pub(super) records: BTreeMap<u64, Vec<u8>>,
    /// The snapshots, the newest first.
    pub(super) snapshots: Vec<Vec<u8>>,
    pub(super) marks: Vec<u8>,
}

impl Stored {
    /// A journal without records, with these snapshots, the oldest first.
    pub(super) fn new(snapshots: impl DoubleEndedIterator<Item = Vec<u8>>) -> Self {
        Self {
            records: BTreeMap::new(),
            snapshots: snapshots.rev().collect(),
            marks: Vec::new(),
        }
    }

    /// Whether nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.snapshots.is_empty() && self.marks.is_empty()
    }

    pub(super) fn add(&mut self, first: Position, record: Vec<u8>) {
        self.records.insert(first.0, record);
    }

    /// Writes the last two of these marks.
    pub(super) fn set_marks(&mut self, marks: &[Mark]) {
        let Some((last, before)) = marks.split_last() else {
            return;
        };
        let before = before.last().unwrap_or(last);
        self.marks = [before.slot(0).1, last.slot(1).1].concat();
    }

    /// Takes the journal back to where this chain was its end.
    pub(super) fn cut_after(&mut self, chain: &Chain) {
        self.records.split_off(&(chain.last().0 + 1));
        self.marks = Mark::at(chain).file();
    }
}

impl Store for Stored {
    type Error = Infallible;

    fn snapshot(&mut self, number: usize) -> Result<Option<Vec<u8>>, Infallible> {
        Ok(self.snapshots.get(number).cloned())
    }

    fn marks(&mut self) -> Result<Vec<u8>, Infallible> {
        Ok(self.marks.clone())
    }

    fn records(
        &mut self,
        after: Position,
        take: &mut dyn FnMut(Position, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), Infallible> {
        for (first, record) in self.records.range(after.0 + 1..) {
            if take(Position(*first), record).is_break() {
                break;
            }
        }
        Ok(())
    }
}
