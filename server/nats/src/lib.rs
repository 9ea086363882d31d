//! The shared log of a cluster of chat servers, on NATS JetStream.
//!
//! The crate carries out what a [`chat_cluster::Member`] asks for, and reports the results: it
//! appends with a comparison, reads single records, follows the log in order, and stores snapshots.
//! It decides nothing: which fate an append has, and when to try again, is the member's part.
//!
//! ```text
//!  Member ──Publish──► [`Log::publish`] ──► `ts.<realm>.log`, expected last sequence ──► stream
//!         ──Read─────► [`Log::read`]    ──► the stream's leader, or any replica
//!         ──Fetch────► [`Log::follow`]  ──► an ordered consumer
//!         ──Snapshot─► [`Log::store`]   ──► object store, and a purge below the last two
//!         ◄── [`Report`] ── one channel
//! ```
//!
//! Servers of the cluster reach one another over the same connections: see [`LogReader::ask`].

mod connection;
mod endpoint;
mod error;
mod log;
mod monitor;
mod reader;
mod requests;
mod snapshots;
mod streams;

pub use connection::LogReader;
pub use endpoint::Report;
pub use error::OpenError;
pub use log::Log;
pub use monitor::faults;
pub use reader::{Extent, LogState, RecordCopy};
pub use requests::{CallError, Incoming, Serving};
pub use snapshots::StoredSnapshot;
