//! Locks of values that are whole whenever a lock is free.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a value. No code panics half way through a change of it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
