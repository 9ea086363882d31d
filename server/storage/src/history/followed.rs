//! A journal whose commits the history follows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Instant;

use chat_core::{Entry, Hub, Position, Time};

use super::{History, LAST_WRITES};
use crate::journal::{Fate, FateReporter, Journal, NoWrite};

/// A journal that reports its commits to a history.
pub struct Followed {
    journal: Box<dyn Journal>,
    history: History,
    /// Notified when the follower has ended.
    ended: Receiver<()>,
    /// The number of entries in flight.
    entries: Arc<AtomicU64>,
}

impl Followed {
    /// Lets the history follow the journal.
    #[must_use]
    pub fn new(journal: Box<dyn Journal>, history: History, ended: Receiver<()>) -> Self {
        Self {
            journal,
            history,
            ended,
            entries: Arc::default(),
        }
    }
}

impl History {
    /// Receives the fate of a batch with this number of entries.
    fn note(&self, fate: Fate, entries: u64) {
        if let Fate::Committed { first, .. } = fate {
            let last = Position(first.0 + entries.saturating_sub(1));
            self.0.progress.commit(last);
        }
    }

    /// Clients may know of entries up to this position, which the journal will have: reads wait for
    /// them.
    #[cfg(feature = "cluster")]
    pub fn announce(&self, last: Position) {
        self.0.progress.announce(last);
    }

    /// The journal has entries up to this position.
    #[cfg(feature = "cluster")]
    pub fn commit(&self, last: Position) {
        self.0.progress.commit(last);
        self.0.progress.wake();
    }

    /// Lets the follower reach the end of the journal, and waits until it has ended.
    pub fn stop(&self, ended: &Receiver<()>) {
        self.0.progress.stop(Instant::now() + LAST_WRITES);
        if ended.recv_timeout(LAST_WRITES).is_err() {
            tracing::warn!("the history is not complete; the next start goes on with it");
        }
    }
}

impl Journal for Followed {
    fn attach(&mut self, later: FateReporter) {
        let (history, entries) = (self.history.clone(), Arc::clone(&self.entries));
        self.journal.attach(FateReporter::new(move |fate| {
            // Reads that follow the answer wait for the history; the answer does not.
            history.note(fate, entries.load(Ordering::Relaxed));
            later.tell(fate);
            history.0.progress.wake();
        }));
    }

    fn append(&mut self, now: Time, batch: &[Entry]) -> Option<Fate> {
        self.entries.store(batch.len() as u64, Ordering::Relaxed);
        let appended = self.journal.append(now, batch);
        if let Some(fate) = appended {
            self.history.note(fate, batch.len() as u64);
            self.history.0.progress.wake();
        }
        appended
    }

    fn close(&mut self, hub: &Hub) -> Result<(), NoWrite> {
        let closed = self.journal.close(hub);
        self.history.stop(&self.ended);
        closed
    }
}
