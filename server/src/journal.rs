//! Where the node's batches go before anything comes of them.

mod database;
mod durable;
mod folder;
mod memory;

use chat_core::{Entry, Hub, Position, Time};

pub use database::{DatabaseError, Durability};
pub use durable::{DurableJournal, OpenError, Opened, Options, ReadError, open};
pub use folder::FolderError;
pub use memory::MemoryJournal;

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is durable, whole, from this position on and all at this instant.
    Committed {
        /// The position of its first entry.
        first: Position,
        /// The instant of all its entries.
        at: Time,
    },
    /// None of it is in the journal.
    Failed,
    /// Nobody can say yet. The journal says `Committed` or `Failed` once it knows.
    Unknown,
}

/// How far an append came at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Append {
    /// This became of it.
    Settled(Fate),
    /// It goes on by itself. Its fate is told through [`Later`].
    Pending,
}

/// By which a journal tells the fate of a batch that was pending, from any thread.
pub struct Later(Box<dyn Fn(Fate) + Send + Sync>);

impl Later {
    /// Tells fates to `tell`.
    pub fn new(tell: impl Fn(Fate) + Send + Sync + 'static) -> Self {
        Self(Box::new(tell))
    }

    /// The batch in flight came to this.
    pub fn tell(&self, fate: Fate) {
        (self.0)(fate);
    }
}

/// A log of entries. It gives them their positions, from 1 without holes, and their times.
///
/// One batch is in flight at a time. A journal may take a while over it, as long as it does so on
/// a thread of its own: the driver's must not wait.
pub trait Journal: Send {
    /// Is told, once, by what to tell of fates that are not known at once.
    fn attach(&mut self, later: Later);

    /// Appends all of these, or none. `now` is the instant at which it was asked.
    fn append(&mut self, now: Time, entries: &[Entry]) -> Append;

    /// Nothing comes any more: what is buffered is written, and files are closed. `hub` is the state
    /// behind the last batch whose fate was told.
    fn close(&mut self, hub: &Hub);
}
