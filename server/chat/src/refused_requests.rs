//! Refused requests: counted, logged at a bounded rate, and limited if they guess tokens.
//!
//! Each source has a window of a minute from its first refusal on. That one is logged at once, the
//! others of the window in one line at its end. The table and the log are bounded for any number of
//! sources: the oldest window is dropped, and beyond a number of lines a minute the log only counts
//! the omitted ones. The metrics count all.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

use chat_types::listed;
use server_storage::lock;
use tokio::time::Instant;

use crate::capacity::Source;

/// The log target of refusals.
pub const LOG: &str = "talking_stick::guard";

/// The window of a source.
const WINDOW: Duration = Duration::from_secs(60);

/// The largest number of sources with a window.
const MAX_SOURCES: usize = 4_096;

/// The largest number of lines in a window, over all sources.
const MAX_LINES: u32 = 120;

/// The number of wrong tokens that a source may send in a window before it has to wait.
pub const MAX_WRONG_TOKENS: u32 = 10;

listed! {
    /// Why a request is refused, with its word in the metrics and in the log.
    Kind {
        /// The Host header names another server, or is missing.
        Host "host",
        /// The request comes from a page of another site: its Origin is not allowed.
        Origin "origin",
        /// The request comes from a page of another site, by its Sec-Fetch-Site.
        Site "site",
        /// A required token is missing.
        NoToken "no_token",
        /// The token is unknown.
        WrongToken "wrong_token",
        /// The token has expired.
        ExpiredToken "expired_token",
        /// The token is not an operator's, where one is required.
        NoOperator "no_operator",
        /// The address is banned.
        Banned "banned",
    }
}

/// The sender of a request.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Its address as a source.
    pub source: Source,
    /// Its address, if it is known.
    pub ip: Option<IpAddr>,
}

impl std::fmt::Display for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.ip {
            Some(ip) => write!(f, "{ip}"),
            None => write!(f, "{:016x}", self.source.0),
        }
    }
}

/// The recently refused sources. Lines are logged under the lock, because the log's writer never waits.
#[derive(Debug, Default)]
pub struct RefusedRequests(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    windows: BTreeMap<Source, Window>,
    /// The sources in the order of their windows.
    order: VecDeque<Source>,
    lines: Lines,
}

#[derive(Debug)]
struct Window {
    peer: Peer,
    began: Instant,
    first: Kind,
    counts: [u32; Kind::ALL.len()],
}

/// The lines of the log in the current window.
#[derive(Debug, Default)]
struct Lines {
    since: Option<Instant>,
    written: u32,
    left_out: u32,
}

impl Lines {
    /// Whether there is room for one more line.
    fn have_room(&mut self, now: Instant) -> bool {
        let begins = |since| now.duration_since(since) >= WINDOW;
        if self.since.is_none_or(begins) {
            let left_out = self.left_out;
            if left_out > 0 {
                tracing::warn!(target: LOG, left_out, "further refusals are not in the log");
            }
            *self = Self {
                since: Some(now),
                ..Self::default()
            };
        }
        if self.written >= MAX_LINES {
            self.left_out = self.left_out.saturating_add(1);
            return false;
        }
        self.written += 1;
        true
    }
}

impl RefusedRequests {
    /// Records a refusal. Returns how long the sender of too many wrong tokens has to wait.
    pub fn note(&self, peer: Peer, kind: Kind) -> Option<Duration> {
        let (mut table, now) = (lock(&self.0), Instant::now());
        table.end_windows(now);
        if let Some(window) = table.windows.get_mut(&peer.source) {
            let count = &mut window.counts[kind as usize];
            *count = count.saturating_add(1);
            if kind == Kind::WrongToken && *count > MAX_WRONG_TOKENS {
                return Some(WINDOW.saturating_sub(now.duration_since(window.began)));
            }
            return None;
        }
        if table.order.len() >= MAX_SOURCES {
            table.end_oldest(now);
        }
        let mut counts = [0; Kind::ALL.len()];
        counts[kind as usize] = 1;
        let window = Window {
            peer,
            began: now,
            first: kind,
            counts,
        };
        table.windows.insert(peer.source, window);
        table.order.push_back(peer.source);
        // The page sends requests without a token before it has one.
        if kind != Kind::NoToken && table.lines.have_room(now) {
            let why = kind.name();
            tracing::warn!(target: LOG, source = %peer, why, "request refused");
        }
        None
    }

    /// Logs the sources whose windows are over.
    pub fn sweep(&self) {
        lock(&self.0).end_windows(Instant::now());
    }
}

impl Table {
    fn end_windows(&mut self, now: Instant) {
        while let Some(source) = self.order.front()
            && let Some(window) = self.windows.get(source)
            && now.duration_since(window.began) >= WINDOW
        {
            self.end_oldest(now);
        }
    }

    fn end_oldest(&mut self, now: Instant) {
        let oldest = self.order.pop_front();
        let Some(window) = oldest.and_then(|source| self.windows.remove(&source)) else {
            return;
        };
        let mut counts = window.counts;
        counts[window.first as usize] -= 1;
        // Requests without a token are counted, and not logged.
        let more = counts.into_iter().fold(0, u32::saturating_add);
        if more > counts[Kind::NoToken as usize] && self.lines.have_room(now) {
            let counted = Kind::NAMES.iter().zip(counts);
            let counted = counted.filter(|(_, count)| *count > 0);
            let why = counted.map(|(name, count)| format!("{name} {count}"));
            let why: Vec<_> = why.collect();
            let (peer, why) = (window.peer, why.join(", "));
            tracing::warn!(
                target: LOG, source = %peer, more, why, "more requests refused within a minute"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(n: u64) -> Peer {
        Peer {
            source: Source(n),
            ip: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_that_guesses_tokens_is_delayed() {
        let refused = RefusedRequests::default();
        let wrong = |n| refused.note(peer(n), Kind::WrongToken);
        for _ in 0..MAX_WRONG_TOKENS {
            assert_eq!(wrong(1), None);
        }
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(wrong(1), Some(Duration::from_secs(40)));
        assert_eq!(wrong(2), None);
        assert_eq!(refused.note(peer(1), Kind::Host), None);
        tokio::time::advance(Duration::from_secs(40)).await;
        assert_eq!(wrong(1), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_table_is_bounded_and_drops_the_oldest_source() {
        let refused = RefusedRequests::default();
        for n in 0..=MAX_SOURCES as u64 {
            refused.note(peer(n), Kind::Origin);
        }
        let known = |n| lock(&refused.0).windows.contains_key(&Source(n));
        assert!(!known(0) && known(1) && known(MAX_SOURCES as u64));
        assert_eq!(lock(&refused.0).order.len(), MAX_SOURCES);
        assert_eq!(lock(&refused.0).lines.written, MAX_LINES);
        tokio::time::advance(WINDOW).await;
        refused.sweep();
        assert!(lock(&refused.0).windows.is_empty() && lock(&refused.0).order.is_empty());
    }
}
