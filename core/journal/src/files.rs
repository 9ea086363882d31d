//! The files of a journal in memory: what a simulated disk has, and a bundle.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::ControlFlow;

use chat_core::Position;

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
