//! Rates of one source: requests that exceed a rate are delayed.
//!
//! The generic cell rate algorithm (ITU-T I.371): the state of a source is one instant, at which
//! its burst will be whole again. Spending moves it forward. If it would lie more than a burst
//! ahead, the caller waits for the difference. A source that sends without pause is slowed down to
//! the rate: its connections are not read meanwhile, and the processor is free for others.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use server_storage::lock;
use tokio::time::Instant;

use super::Source;
use crate::refusal::Refusal;

/// The largest number of sources with a state. Beyond it, the source that has spent least is
/// forgotten.
const MAX_SOURCES: usize = 4_096;

/// The longest total delay of one request.
pub const MAX_WAIT: Duration = Duration::from_secs(10);

/// A rate and a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    /// The amount per second.
    pub per_second: u64,
    /// The burst.
    pub burst: u64,
}

impl Speed {
    /// A rate with this amount per second and this burst.
    #[must_use]
    pub const fn new(per_second: u64, burst: u64) -> Self {
        Self { per_second, burst }
    }

    /// The time that this amount takes.
    fn time(self, amount: u64) -> Duration {
        let nanos = u128::from(amount) * 1_000_000_000 / u128::from(self.per_second.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// A rate for each source.
#[derive(Debug)]
pub struct Rate {
    /// Its word in the metrics.
    pub name: &'static str,
    /// What it limits, in words.
    words: &'static str,
    /// The speed; none if there is no limit.
    pub speed: Option<Speed>,
    /// The instant at which the burst of each source is whole again.
    whole_at: Mutex<BTreeMap<Source, Instant>>,
    waited: AtomicU64,
    refused: AtomicU64,
}

impl Rate {
    /// A rate with this speed, if there is one, its word in the metrics, and what it limits in words.
    #[must_use]
    pub const fn new((name, words): (&'static str, &'static str), speed: Option<Speed>) -> Self {
        Self {
            name,
            words,
            speed,
            whole_at: Mutex::new(BTreeMap::new()),
            waited: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// The number of delayed requests.
    #[must_use]
    pub fn waited(&self) -> u64 {
        self.waited.load(Ordering::Relaxed)
    }

    /// The number of refused requests.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Spends an amount, and waits until the source may continue. `patience` is the remaining time
    /// that the request may wait, and is reduced by the wait.
    ///
    /// # Errors
    /// The wait would exceed the patience. Then nothing is spent.
    pub async fn spend(
        &self,
        source: Source,
        amount: u64,
        patience: &mut Duration,
    ) -> Result<(), Refusal> {
        let Some(speed) = self.speed else {
            return Ok(());
        };
        let wait = self.reserve(speed, (source, amount), *patience)?;
        if !wait.is_zero() {
            self.waited.fetch_add(1, Ordering::Relaxed);
            *patience -= wait;
            tokio::time::sleep(wait).await;
        }
        Ok(())
    }

    /// Spends an amount, and returns how long the source has to wait for it, if at all: at most
    /// [`MAX_WAIT`]. Each waiting request gets a turn of its own, so that they do not all continue
    /// at once.
    #[must_use]
    pub fn book(&self, source: Source, amount: u64) -> Option<Duration> {
        let speed = self.speed?;
        let now = Instant::now();
        let burst = speed.time(speed.burst);
        let mut whole_at = lock(&self.whole_at);
        let spent = whole_at.get(&source).map_or(now, |at| (*at).max(now));
        let next = (spent + speed.time(amount)).min(now + burst + MAX_WAIT);
        Self::keep(&mut whole_at, source, next);
        let wait = next.duration_since(now).saturating_sub(burst);
        if wait.is_zero() {
            return None;
        }
        self.waited.fetch_add(1, Ordering::Relaxed);
        Some(wait)
    }

    /// Books work that was done. All of it counts, so that the source waits, or is refused, until it
    /// has paid.
    pub fn charge(&self, source: Source, amount: u64) {
        let Some(speed) = self.speed else { return };
        let now = Instant::now();
        let mut whole_at = lock(&self.whole_at);
        let spent = whole_at.get(&source).map_or(now, |at| (*at).max(now));
        Self::keep(&mut whole_at, source, spent + speed.time(amount));
    }

    fn reserve(
        &self,
        speed: Speed,
        (source, amount): (Source, u64),
        patience: Duration,
    ) -> Result<Duration, Refusal> {
        let now = Instant::now();
        let mut whole_at = lock(&self.whole_at);
        let spent = whole_at.get(&source).map_or(now, |at| (*at).max(now));
        let next = spent + speed.time(amount);
        let burst = speed.time(speed.burst);
        let wait = next.duration_since(now).saturating_sub(burst);
        if wait > patience {
            drop(whole_at);
            self.refused.fetch_add(1, Ordering::Relaxed);
            let (words, per_second) = (self.words, speed.per_second);
            let message = format!(
                "one address or token may send {per_second} {words} a second, and yours sent more; \
                 try again later"
            );
            let ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            return Err(Refusal::overloaded(message, ms.max(1)));
        }
        Self::keep(&mut whole_at, source, next);
        Ok(wait)
    }

    fn keep(whole_at: &mut BTreeMap<Source, Instant>, source: Source, at: Instant) {
        if whole_at.len() >= MAX_SOURCES && !whole_at.contains_key(&source) {
            make_room(whole_at, Instant::now());
        }
        whole_at.insert(source, at);
    }
}

/// Forgets the sources whose bursts are whole; if there are none, the one closest to that.
fn make_room(whole_at: &mut BTreeMap<Source, Instant>, now: Instant) {
    whole_at.retain(|_, at| *at > now);
    if whole_at.len() >= MAX_SOURCES {
        let least = whole_at.iter().min_by_key(|(_, at)| **at);
        let least = least.map(|(source, _)| *source);
        least.and_then(|source| whole_at.remove(&source));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: Source = Source(1);

    fn rate(per_second: u64, burst: u64) -> Rate {
        Rate::new(
            ("large_requests", "bytes"),
            Some(Speed { per_second, burst }),
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_has_its_burst_at_once_and_then_the_rate() {
        let (rate, began) = (rate(100, 300), Instant::now());
        let mut patience = MAX_WAIT;
        rate.spend(ANN, 300, &mut patience).await.unwrap();
        assert_eq!((began.elapsed(), rate.waited()), (Duration::ZERO, 0));
        rate.spend(ANN, 200, &mut patience).await.unwrap();
        assert_eq!(began.elapsed().as_secs(), 2);
        assert_eq!((rate.waited(), patience.as_secs()), (1, 8));
        rate.spend(Source(2), 300, &mut patience).await.unwrap();
        assert_eq!(began.elapsed().as_secs(), 2, "another source does not wait");
        tokio::time::sleep(Duration::from_secs(3)).await;
        rate.spend(ANN, 300, &mut patience).await.unwrap();
        assert_eq!(rate.waited(), 1, "the burst is whole again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_would_wait_too_long_is_refused() {
        let rate = rate(100, 100);
        let mut patience = Duration::from_secs(1);
        let too_fast = rate.spend(ANN, 500, &mut patience).await.unwrap_err();
        assert_eq!(too_fast.retry_after_ms, Some(4_000));
        rate.spend(ANN, 200, &mut patience).await.unwrap();
        assert_eq!(patience, Duration::ZERO);
        assert!(rate.spend(ANN, 1, &mut patience).await.is_err());
        assert_eq!((rate.waited(), rate.refused()), (1, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn each_booking_has_its_own_turn() {
        let (rate, seconds) = (rate(100, 300), Duration::from_secs);
        assert_eq!((rate.book(ANN, 300), rate.waited()), (None, 0));
        assert_eq!(rate.book(ANN, 200), Some(seconds(2)));
        assert_eq!(rate.book(ANN, 100), Some(seconds(3)));
        assert_eq!((rate.book(Source(2), 300), rate.waited()), (None, 2));
        assert_eq!(rate.book(ANN, 1_000_000), Some(MAX_WAIT));
        tokio::time::sleep(MAX_WAIT + seconds(3)).await;
        assert_eq!(rate.book(ANN, 300), None);
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_was_done_is_paid_in_full() {
        let (rate, seconds) = (rate(100, 100), Duration::from_secs);
        rate.charge(ANN, 10_000);
        let mut patience = MAX_WAIT;
        let refused = rate.spend(ANN, 1, &mut patience).await;
        assert!(refused.is_err_and(|refused| refused.retry_after_ms > Some(99_000)));
        tokio::time::sleep(seconds(90)).await;
        rate.spend(ANN, 1, &mut patience).await.unwrap();
        assert!(patience < seconds(1), "{patience:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_table_of_sources_is_bounded() {
        let rate = rate(1, 100);
        for source in 0..MAX_SOURCES as u64 + 10 {
            let mut patience = MAX_WAIT;
            let bytes = 1 + source % 50;
            rate.spend(Source(source), bytes, &mut patience)
                .await
                .unwrap();
        }
        assert_eq!(lock(&rate.whole_at).len(), MAX_SOURCES);
        tokio::time::sleep(Duration::from_secs(100)).await;
        rate.spend(Source(u64::MAX), 1, &mut MAX_WAIT.clone())
            .await
            .unwrap();
        assert_eq!(lock(&rate.whole_at).len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_limit_no_source_is_delayed_or_remembered() {
        let (rate, began) = (Rate::new(("texts", "bytes"), None), Instant::now());
        let mut patience = Duration::ZERO;
        for _ in 0..3 {
            rate.spend(ANN, u64::MAX, &mut patience).await.unwrap();
        }
        assert!(began.elapsed().is_zero() && lock(&rate.whole_at).is_empty());
    }
}
