//! The sessions of all realms of a process: their places are shared, and so are the processors that
//! open them.

use std::sync::{Arc, Mutex, Weak};

use server_chat::capacity::Source;
use server_storage::lock;
use tokio::sync::Semaphore;

use super::sessions::{KnownSession, Sessions};

/// The number of sessions that may be opened at a time, which leaves half of the processors to
/// others.
fn openings() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (processors / 2).max(1)
}

/// The table of each realm's sessions.
pub struct SessionTables {
    tables: Mutex<Vec<Weak<Sessions>>>,
    /// The permits to open a session.
    pub(super) openings: Arc<Semaphore>,
}

impl Default for SessionTables {
    fn default() -> Self {
        Self {
            tables: Mutex::default(),
            openings: Arc::new(Semaphore::new(openings())),
        }
    }
}

impl SessionTables {
    pub(super) fn add(&self, table: &Arc<Sessions>) {
        lock(&self.tables).push(Arc::downgrade(table));
    }

    /// Removes the longest idle session of this source from its table, and returns both. Sessions in
    /// use are passed over.
    pub(super) fn take_idlest(&self, source: Source) -> Option<(Arc<Sessions>, KnownSession)> {
        // Another call does not find the same one meanwhile.
        let tables = lock(&self.tables);
        let tables = tables.iter().filter_map(Weak::upgrade);
        let idle = tables.filter_map(|table| {
            let (idle, id) = table.idlest(source)?;
            Some((idle, id, table))
        });
        let (_, id, table) = idle.max_by_key(|(idle, ..)| *idle)?;
        let known = table.take(&id)?;
        Some((table, known))
    }
}
