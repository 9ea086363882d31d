//! What a request paid for, for as long as anything of it is there.

use std::sync::{Arc, Mutex, PoisonError};

use super::body::SMALL_BODY;
use super::scan::cost;
use crate::capacity::Held;

/// The bytes that a request and what was parsed of it may have. It lies in the request's extensions,
/// and so goes wherever the request goes: the library keeps a request's head beside its message, and
/// a session keeps that of its first one.
#[derive(Clone, Debug)]
pub struct Paid(Arc<Mutex<Held>>);

impl Paid {
    /// This paid for a request.
    #[must_use]
    pub fn with(held: Held) -> Self {
        Self(Arc::new(Mutex::new(held)))
    }

    /// Gives back what is more than this part of the body may take: the rest is left out.
    pub fn keep(&self, part: &[u8]) {
        if let Ok(cost) = cost(part) {
            let beyond = cost.saturating_sub(SMALL_BODY) as u64;
            // Nothing that holds the lock can panic half way.
            let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            held.shrink(beyond);
        }
    }
}
