//! What a server keeps on disk: the journal of all decisions, and the history of messages, which is
//! made from it. Nothing here knows a request or a connection.

mod blocking;
pub mod clock;
pub mod history;
pub mod journal;
mod lock;
pub mod priority;
pub mod private;
mod sqlite;

pub use blocking::blocking;
pub use lock::lock;
