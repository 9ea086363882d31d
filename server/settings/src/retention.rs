//! How long messages stay in the history.

use std::str::FromStr;

use chat_types::Span;

use crate::memory_limit::bytes_of;

/// A limit that may be absent: a value, or `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep<T> {
    /// The limit.
    UpTo(T),
    /// There is no limit.
    All,
}

/// How long messages stay in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// The largest age of a message.
    pub age: Keep<Span>,
    /// The largest number of messages.
    pub messages: Keep<u64>,
    /// The largest size of its file in bytes.
    pub bytes: Keep<Bytes>,
}

/// A size in bytes, written with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

/// The default size of the history: a million messages of a few hundred words, with their index.
const HISTORY_BYTES: Bytes = Bytes(8 << 30);

impl Default for Retention {
    fn default() -> Self {
        Self {
            age: Keep::All,
            messages: Keep::UpTo(1_000_000),
            bytes: Keep::UpTo(HISTORY_BYTES),
        }
    }
}

impl<T> Keep<T> {
    /// The limit; none if there is none.
    #[must_use]
    pub fn limit(self) -> Option<T> {
        match self {
            Self::UpTo(limit) => Some(limit),
            Self::All => None,
        }
    }

    /// What a text says that is this limit, or `none`. `what` is what else one may write.
    fn said(text: &str, limit: Option<T>, what: &str) -> Result<Self, String> {
        match (text, limit) {
            ("none", _) => Ok(Self::All),
            (_, Some(limit)) => Ok(Self::UpTo(limit)),
            (_, None) => Err(format!("write {what}, or none")),
        }
    }
}

impl FromStr for Keep<Span> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::said(text, Span::parse(text).ok(), "a time, as in 90d")
    }
}

impl FromStr for Keep<u64> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::said(text, text.parse().ok(), "a number")
    }
}

impl FromStr for Keep<Bytes> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let size = bytes_of(text).map(Bytes);
        Self::said(text, size, "a size, as in 512MiB or 2GiB")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Span = Span::secs(24 * 3_600);

    #[test]
    fn limits_are_texts_or_none() {
        assert_eq!("90d".parse(), Ok(Keep::UpTo(DAY.times(90))));
        assert_eq!("none".parse::<Keep<Span>>(), Ok(Keep::All));
        assert_eq!("1000".parse(), Ok(Keep::UpTo(1_000_u64)));
        assert_eq!("2GiB".parse(), Ok(Keep::UpTo(Bytes(2 << 30))));
        assert!("2".parse::<Keep<Bytes>>().unwrap_err().contains("2GiB"));
        assert!("many".parse::<Keep<u64>>().unwrap_err().contains("none"));
        assert!("soon".parse::<Keep<Span>>().is_err());
    }
}
