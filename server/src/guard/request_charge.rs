//! The amount taken for a request, for the lifetime of its parts.

use std::sync::{Arc, Mutex};

use server_chat::capacity::Reservation;
use server_storage::lock;

use super::body::SMALL_BODY;
use super::scan::cost;

/// The bytes taken for a request and its parsed form. It is stored in the request's extensions, and
/// so follows the request: the library keeps a request's head beside its message, and a session
/// keeps that of its first request.
#[derive(Clone, Debug)]
pub struct RequestCharge(Arc<Mutex<Reservation>>);

impl RequestCharge {
    /// Creates it from an amount.
    #[must_use]
    pub fn with(held: Reservation) -> Self {
        Self(Arc::new(Mutex::new(held)))
    }

    /// Returns the excess over what this part of the body needs; the rest of the body is dropped.
    pub fn keep(&self, part: &[u8]) {
        if let Ok(cost) = cost(part) {
            let beyond = cost.saturating_sub(SMALL_BODY) as u64;
            let mut held = lock(&self.0);
            held.shrink(beyond);
        }
    }
}
