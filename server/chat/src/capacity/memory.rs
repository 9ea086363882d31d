//! The memory of the process, against its limit.
//!
//! Every pool has its own bound. Their total cost depends on the allocator, on the libraries and on
//! the core's limits, so the process is measured as well. Above its limit, requests that would hold
//! more memory are refused as `overloaded`.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use server_settings::kibibytes;
use tokio::time::MissedTickBehavior;

use super::Capacity;
use crate::refusal::Refusal;
use crate::task;

/// The time between two measurements.
const SAMPLED_EVERY: Duration = Duration::from_millis(100);

/// The retry delay of refusals, in milliseconds.
const RETRY_MS: u64 = 2_000;

/// The message of refusals.
const TOLD: &str = "the server's memory is used up to its limit, so that it takes nothing new; what \
                    is there goes on. Try again in a moment";

/// The message of refusals when not even texts are accepted.
const TOLD_TEXTS: &str = "the server's memory is used up beyond its limit, so that it takes no texts. \
                          Try again in a moment";

/// The memory of the process.
#[derive(Debug)]
pub struct Memory {
    /// The limit in bytes.
    pub limit: Option<u64>,
    /// The last measurement, in bytes.
    resident: AtomicU64,
    refused: AtomicU64,
}

impl Memory {
    /// The memory of a process with this limit in bytes, if there is one.
    #[must_use]
    pub const fn new(limit: Option<u64>) -> Self {
        Self {
            limit,
            resident: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// The number of refusals.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Records a measurement.
    pub fn measured(&self, resident: u64) {
        let before = self.resident.swap(resident, Ordering::Relaxed);
        let is_over = |bytes: u64| self.limit.is_some_and(|limit| bytes > limit);
        match (is_over(before), is_over(resident)) {
            (false, true) => {
                tracing::warn!(
                    resident,
                    limit = self.limit,
                    "memory is used up to its limit"
                );
            }
            (true, false) => tracing::info!(resident, "there is memory again"),
            (true, true) | (false, false) => {}
        }
    }

    /// Refuses a request that would hold more memory while the limit is exceeded.
    ///
    /// # Errors
    /// The refusal `overloaded`.
    pub fn check(&self) -> Result<(), Refusal> {
        self.within(self.limit, TOLD)
    }

    fn within(&self, most: Option<u64>, told: &str) -> Result<(), Refusal> {
        let resident = self.resident.load(Ordering::Relaxed);
        if most.is_none_or(|most| resident <= most) {
            return Ok(());
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(Refusal::overloaded(told.into(), RETRY_MS))
    }

    /// Refuses a text once the limit is exceeded by an eighth. Up to there, participants can talk
    /// while memory is short.
    ///
    /// # Errors
    /// The refusal `overloaded`.
    pub fn check_texts(&self) -> Result<(), Refusal> {
        let most = self.limit.map(|limit| limit.saturating_add(limit / 8));
        self.within(most, TOLD_TEXTS)
    }

    /// Measures the process regularly, as long as `capacity` is in use. Must be called on a
    /// runtime.
    pub fn watch(capacity: &Arc<Capacity>) {
        match (resident(), capacity.memory.limit) {
            (Some(bytes), _) => capacity.memory.measured(bytes),
            (None, Some(_)) => {}
            (None, None) => return,
        }
        let capacity = Arc::downgrade(capacity);
        task::keep("memory", move || sample(Weak::clone(&capacity)));
    }
}

async fn sample(capacity: Weak<Capacity>) {
    let mut ticks = tokio::time::interval(SAMPLED_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(capacity) = capacity.upgrade() else {
            return;
        };
        if let Some(bytes) = resident() {
            capacity.memory.measured(bytes);
        }
    }
}

/// The resident memory of this process in bytes, if the machine reports it.
fn resident() -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn above_its_limit_nothing_is_taken_and_below_it_all_is() {
        let memory = Memory::new(Some(1_000));
        memory.measured(1_000);
        assert_eq!(memory.check(), Ok(()));
        memory.measured(1_001);
        let refusal = memory.check().unwrap_err();
        assert_eq!(refusal.code, "overloaded");
        assert_eq!(refusal.retry_after_ms, Some(RETRY_MS));
        assert_eq!(memory.refused(), 1);
        memory.measured(1_125);
        assert_eq!(memory.check_texts(), Ok(()));
        memory.measured(1_126);
        assert_eq!(memory.check_texts().unwrap_err().code, "overloaded");
        memory.measured(999);
        assert_eq!(memory.check(), Ok(()));
        let free = Memory::new(None);
        free.measured(u64::MAX);
        assert!(free.check().is_ok() && free.check_texts().is_ok());
    }
}
