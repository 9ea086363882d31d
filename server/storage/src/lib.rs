//! What a server keeps on disk: the journal of all decisions, and the history of messages, which is
//! made from it. Nothing here knows a request or a connection.

pub mod clock;
pub mod history;
pub mod journal;
pub mod private;
mod sqlite;
mod threads;

pub use threads::{blocking, lock, lower_priority};

/// Random bytes of the operating system, which nobody can guess.
///
/// # Errors
/// The operating system has none.
pub fn random<const N: usize>() -> Result<[u8; N], getrandom::Error> {
    let mut drawn = [0; N];
    getrandom::fill(&mut drawn)?;
    Ok(drawn)
}
