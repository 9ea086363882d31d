//! The journal of a chat server, as bytes: what is written, and how a server recovers from it.
//!
//! A journal is a sequence of *records*. One record holds one batch of the node: its entries, the
//! position of the first one, and the instant of all of them. Every record contains the *link* of the
//! record before it, so that the records form a chain: a record that is missing, changed, doubled or
//! of another journal breaks the chain, and [`recover`] says at which position.
//!
//! A *snapshot* is the whole state at one position. It holds the link of that position, so that the
//! chain goes on from it. The *mark* names the last position whose callers may have received answers:
//! a journal that ends before its mark has lost acknowledged entries, and is refused.
//!
//! The crate does no I/O. A [`Store`] reads what was written: a database in the server, a simulated
//! disk in the simulator. The promise that both keep: **an acknowledged entry is there after a
//! recovery, or the recovery is refused**.

mod identity;
mod link;
mod mark;
mod record;
mod recovery;
mod snapshot;

pub use identity::Identity;
pub use link::Link;
pub use mark::{Mark, Marks, SLOT_BYTES};
pub use record::{Broken, Chain, FORMAT, MAX_RECORD_BYTES, Record, Sealed};
pub use recovery::{Look, Loss, Recovered, RecoveryError, Store, Warning, recover};
pub use snapshot::{Snapshot, SnapshotError};
