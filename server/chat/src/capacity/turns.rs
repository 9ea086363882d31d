//! Turns: what has one key, such as a source, is done one at a time, so that of several places for it
//! one source never holds more than one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use server_storage::lock;
use tokio::sync::OwnedMutexGuard;

/// The turns of all keys.
#[derive(Debug)]
pub struct Turns<K>(Mutex<BTreeMap<K, Weak<tokio::sync::Mutex<()>>>>);

impl<K> Default for Turns<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord> Turns<K> {
    /// Waits for a turn of this key, in the order of asking. It ends when the guard is dropped.
    pub async fn take(&self, key: K) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = lock(&self.0);
            let turn = turns.get(&key).and_then(Weak::upgrade);
            turn.unwrap_or_else(|| {
                turns.retain(|_, turn| turn.strong_count() > 0);
                let turn = Arc::default();
                turns.insert(key, Arc::downgrade(&turn));
                turn
            })
        };
        turn.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;

    use super::super::Source;
    use super::*;

    #[tokio::test]
    async fn one_source_that_asks_often_is_one_before_another() {
        let (turns, places) = (Arc::new(Turns::default()), Arc::new(Semaphore::new(1)));
        let served = Arc::new(Mutex::new(Vec::new()));
        let ask = |source| {
            let (turns, places) = (Arc::clone(&turns), Arc::clone(&places));
            let served = Arc::clone(&served);
            tokio::spawn(async move {
                let _turn = turns.take(Source(source)).await;
                let _place = places.acquire().await.expect("it stays open");
                tokio::task::yield_now().await;
                served.lock().expect("no test panics with it").push(source);
            })
        };
        let mut asked: Vec<_> = (0..30).map(|_| ask(1)).collect();
        asked.push(ask(2));
        for asked in asked {
            asked.await.expect("it ends");
        }
        let served = served.lock().expect("no test panics with it");
        assert_eq!(served[..3], [1, 2, 1]);
        let mut left = turns.0.lock().expect("no test panics with it");
        left.retain(|_, turn| turn.strong_count() > 0);
        assert!(left.is_empty());
    }
}
