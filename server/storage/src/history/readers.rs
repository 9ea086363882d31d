//! Connections for reads: at most so many at a time, each opened at its first use.

use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{PATIENCE, PastError};
use crate::lock;

/// The number of reads at a time. A source has one of them, so that none holds them all.
const READERS: usize = 4;

/// Connections that are free, and places for more of them.
#[derive(Debug)]
pub(super) struct Readers<T> {
    places: Arc<Semaphore>,
    free: Mutex<Vec<T>>,
}

impl<T> Readers<T> {
    pub(super) fn new() -> Self {
        Self {
            places: Arc::new(Semaphore::new(READERS)),
            free: Mutex::new(Vec::new()),
        }
    }

    /// A place for one read, in the order of asking.
    ///
    /// # Errors
    /// All are taken for too long.
    pub(super) async fn place(&self) -> Result<OwnedSemaphorePermit, PastError> {
        let place = Arc::clone(&self.places).acquire_owned();
        let place = tokio::time::timeout(PATIENCE, place).await;
        // The semaphore is never closed.
        place
            .map_err(|_| PastError::Slow)?
            .map_err(|_| PastError::Broken)
    }

    /// A connection that is free.
    pub(super) fn take(&self) -> Option<T> {
        lock(&self.free).pop()
    }

    /// Gives a connection back that can be used again.
    pub(super) fn put(&self, connection: T) {
        lock(&self.free).push(connection);
    }
}
