//! Why the log cannot be used.

use std::fmt;

/// Why the log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It does not exist.
    #[error(
        "--cluster: the stream {0} does not exist: no member has made it, or the servers have lost it"
    )]
    Absent(String),
    /// Another reason.
    #[error("{0}")]
    Unusable(String),
}

impl OpenError {
    /// The error of a stream that cannot be made or read.
    pub(crate) fn unmade(stream: &str, why: impl fmt::Display) -> Self {
        Self::Unusable(format!(
            "--cluster: the stream {stream} cannot be made: {why}"
        ))
    }
}
