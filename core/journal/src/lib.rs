//! The format of a chat server's journal, and the recovery from it.
//!
//! A journal is a sequence of *records*. One record holds one batch of the node: its entries, the
//! position of the first one, and the instant of all of them. Every record contains the *link* of
//! the previous record, so that the records form a chain. A missing, changed, duplicated or foreign
//! record breaks the chain, and [`recover`] reports its position.
//!
//! A *snapshot* is the whole state at one position. It holds the link of that position, so that the
//! chain continues from it. The *mark* is the last position whose callers may have received
//! answers: a journal that ends before its mark has lost acknowledged entries, and is refused.
//!
//! A [`Bundle`] is a whole journal in one file, without the secret.
//!
//! The crate does no I/O. A [`Store`] reads what was written: a database in the server, a simulated
//! disk in the simulator. Both guarantee: **an acknowledged entry is present after a recovery, or
//! the recovery is refused**.

mod bundle;
mod files;
mod identity;
mod link;
mod mark;
mod record;
mod recovery;
mod snapshot;

pub use bundle::{Bundle, BundleWriter, Checkpoint};
pub use files::{Damage, Files};
pub use identity::{Identity, Origin};
pub use link::{Form, Link};
pub use mark::{Mark, Marks, SLOT_BYTES};
pub use record::{Broken, Chain, FORMAT, Record, Sealed};
pub use recovery::{Look, Loss, Recovered, RecoveryError, Store, Warning, recover};
pub use snapshot::{Snapshot, SnapshotError};
