//! Those who are turned away at the door: counted, told in the log at a bounded rate, and limited
//! where they guess tokens.
//!
//! A source has a window of a minute from its first refusal on. That one is logged at once, the
//! others of the window by one line at its end. However many sources there are, the table and the
//! log stay within their bounds: the oldest window gives way, and beyond so many lines a minute the
//! log says only how many were left out. The metrics count all.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chat_core::Address;
use tokio::time::Instant;

/// What the log's lines about the guard are filed under.
pub const LOG: &str = "talking_stick::door";

/// How long a source's refusals are told together.
const WINDOW: Duration = Duration::from_secs(60);

/// How many sources are told apart.
const MAX_SOURCES: usize = 4_096;

/// How many lines the log gets in a window, of all sources together.
const MAX_LINES: u32 = 120;

/// How many wrong tokens a source may send in a window before it has to wait.
pub const MAX_WRONG_TOKENS: u32 = 10;

/// Why a caller is turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The Host header names another server, or none.
    Host,
    /// A page of another site asks: its Origin is not allowed.
    Origin,
    /// A page of another site asks: the browser says so in Sec-Fetch-Site.
    Site,
    /// There is no token where one is needed.
    NoToken,
    /// The token is nobody's.
    WrongToken,
    /// The token's time is over.
    ExpiredToken,
    /// The token is no operator's, where one is needed.
    NoOperator,
    /// The address is banned.
    Banned,
}

impl Kind {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Host,
        Self::Origin,
        Self::Site,
        Self::NoToken,
        Self::WrongToken,
        Self::ExpiredToken,
        Self::NoOperator,
        Self::Banned,
    ];

    /// Its name in the metrics and in the log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Origin => "origin",
            Self::Site => "site",
            Self::NoToken => "no_token",
            Self::WrongToken => "wrong_token",
            Self::ExpiredToken => "expired_token",
            Self::NoOperator => "no_operator",
            Self::Banned => "banned",
        }
    }

    const fn number(self) -> usize {
        self as usize
    }
}

/// Where a caller is.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The place, as the core knows it.
    pub address: Address,
    /// The address itself, where it is known.
    pub ip: Option<IpAddr>,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.ip {
            Some(ip) => write!(f, "{ip}"),
            None => write!(f, "{:016x}", self.address.0),
        }
    }
}

/// Those who were turned away of late.
#[derive(Debug, Default)]
pub struct TurnedAway(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    windows: BTreeMap<Address, Window>,
    /// The same, in the order in which they began.
    order: VecDeque<Address>,
    lines: Lines,
}

#[derive(Debug)]
struct Window {
    source: Source,
    began: Instant,
    first: Kind,
    counts: [u32; Kind::ALL.len()],
}

impl Window {
    /// How many came after the first, which was told by itself.
    fn more(&self) -> u32 {
        self.counts
            .iter()
            .fold(0_u32, |all, count| all.saturating_add(*count))
            .saturating_sub(1)
    }
}

/// How much the log gets.
#[derive(Debug, Default)]
struct Lines {
    since: Option<Instant>,
    written: u32,
    left_out: u32,
}

impl Lines {
    /// Whether one more may be written.
    fn take(&mut self, now: Instant) -> bool {
        let begins = self
            .since
            .is_none_or(|since| now.duration_since(since) >= WINDOW);
        if begins {
            if self.left_out > 0 {
                let left_out = self.left_out;
                tracing::warn!(target: LOG, left_out, "more were turned away than the log tells");
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

/// What becomes of one that sends a wrong token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is refused for what it did.
    HttpError,
    /// It sent too many: it is to come again after so long.
    TooMany(Duration),
}

impl TurnedAway {
    fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing that holds the lock can panic half way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody is turned away for this reason.
    pub fn note(&self, source: Source, kind: Kind) -> Verdict {
        self.table().note(Instant::now(), source, kind)
    }

    /// Tells of the sources whose windows are over.
    pub fn sweep(&self) {
        self.table().end_windows(Instant::now());
    }
}

impl Table {
    fn note(&mut self, now: Instant, source: Source, kind: Kind) -> Verdict {
        self.end_windows(now);
        if let Some(window) = self.windows.get_mut(&source.address) {
            let count = &mut window.counts[kind.number()];
            *count = count.saturating_add(1);
            if kind == Kind::WrongToken && *count > MAX_WRONG_TOKENS {
                return Verdict::TooMany(WINDOW.saturating_sub(now.duration_since(window.began)));
            }
            return Verdict::HttpError;
        }
        if self.order.len() >= MAX_SOURCES {
            self.end_oldest(now);
        }
        let mut counts = [0; Kind::ALL.len()];
        counts[kind.number()] = 1;
        let window = Window {
            source,
            began: now,
            first: kind,
            counts,
        };
        self.windows.insert(source.address, window);
        self.order.push_back(source.address);
        // A page asks without a token before it has one.
        if kind != Kind::NoToken && self.lines.take(now) {
            tracing::warn!(target: LOG, %source, why = kind.name(), "turned away at the door");
        }
        Verdict::HttpError
    }

    fn end_windows(&mut self, now: Instant) {
        while let Some(address) = self.order.front()
            && let Some(window) = self.windows.get(address)
            && now.duration_since(window.began) >= WINDOW
        {
            self.end_oldest(now);
        }
    }

    fn end_oldest(&mut self, now: Instant) {
        let oldest = self.order.pop_front();
        let Some(window) = oldest.and_then(|address| self.windows.remove(&address)) else {
            return;
        };
        let mut counts = window.counts;
        counts[window.first.number()] -= 1;
        // Requests without a token are counted, and not told.
        let told = window.more() > counts[Kind::NoToken.number()];
        if told && self.lines.take(now) {
            let why: Vec<_> = Kind::ALL
                .iter()
                .map(|kind| (kind.name(), counts[kind.number()]))
                .filter(|(_, count)| *count > 0)
                .collect();
            let (source, more) = (window.source, window.more());
            tracing::warn!(target: LOG, %source, more, ?why, "turned away within a minute");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(n: u64) -> Source {
        Source {
            address: Address(n),
            ip: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_guesses_tokens_has_to_wait_and_others_have_not() {
        let turned = TurnedAway::default();
        let wrong = |n| turned.note(source(n), Kind::WrongToken);
        for _ in 0..MAX_WRONG_TOKENS {
            assert_eq!(wrong(1), Verdict::HttpError);
        }
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(wrong(1), Verdict::TooMany(Duration::from_secs(40)));
        assert_eq!(wrong(2), Verdict::HttpError);
        assert_eq!(turned.note(source(1), Kind::Host), Verdict::HttpError);
        tokio::time::advance(Duration::from_secs(40)).await;
        assert_eq!(wrong(1), Verdict::HttpError);
    }

    #[tokio::test(start_paused = true)]
    async fn the_table_is_bounded_and_the_oldest_gives_way() {
        let turned = TurnedAway::default();
        for n in 0..=MAX_SOURCES as u64 {
            turned.note(source(n), Kind::Origin);
        }
        let known = |n| turned.table().windows.contains_key(&Address(n));
        assert!(!known(0) && known(1) && known(MAX_SOURCES as u64));
        assert_eq!(turned.table().order.len(), MAX_SOURCES);
        assert_eq!(turned.table().lines.written, MAX_LINES);
        tokio::time::advance(WINDOW).await;
        turned.sweep();
        assert!(turned.table().windows.is_empty() && turned.table().order.is_empty());
    }
}
