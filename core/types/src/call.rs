//! Calls: what identifies one, and what a refusal says of its earlier attempts.

use serde::{Deserialize, Serialize};

/// The shell's id of one call, or of the stream that the call opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// What is known of earlier attempts with the request key of a refused call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Earlier {
    /// The call has no request key, so it has no earlier attempts.
    #[default]
    Unasked,
    /// `none`: no attempt with this key is remembered, and none waits to be decided.
    None,
    /// `unknown`: an attempt with this key may have taken effect, or may still take effect.
    Unknown,
}

impl Earlier {
    /// The word on the wire; none for a call without a request key.
    #[must_use]
    pub const fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Unasked => None,
            Self::None => Some("none"),
            Self::Unknown => Some("unknown"),
        }
    }
}
