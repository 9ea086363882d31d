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

impl FromStr for Keep<Span> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, Span::parse(text)) {
            ("none", _) => Ok(Self::All),
            (_, Ok(age)) => Ok(Self::UpTo(age)),
            (_, Err(_)) => Err("write a time, as in 90d, or none".into()),
        }
    }
}

impl FromStr for Keep<u64> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("none", _) => Ok(Self::All),
            (_, Ok(number)) => Ok(Self::UpTo(number)),
            (_, Err(_)) => Err("write a number, or none".into()),
        }
    }
}

impl FromStr for Keep<Bytes> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, bytes_of(text)) {
            ("none", _) => Ok(Self::All),
            (_, Some(bytes)) => Ok(Self::UpTo(Bytes(bytes))),
            (_, None) => Err("write a size, as in 512MiB or 2GiB, or none".into()),
        }
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
