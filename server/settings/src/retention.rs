//! How long messages stay in the history.

use std::str::FromStr;

use chat_types::Span;

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
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            age: Keep::All,
            messages: Keep::UpTo(1_000_000),
        }
    }
}

impl FromStr for Keep<Span> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::All),
            text => Span::parse(text).map(Self::UpTo),
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

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Span = Span::secs(24 * 3_600);

    #[test]
    fn limits_are_texts_or_none() {
        assert_eq!("90d".parse(), Ok(Keep::UpTo(DAY.times(90))));
        assert_eq!("none".parse::<Keep<Span>>(), Ok(Keep::All));
        assert_eq!("1000".parse(), Ok(Keep::UpTo(1_000_u64)));
        assert!("many".parse::<Keep<u64>>().unwrap_err().contains("none"));
        assert!("soon".parse::<Keep<Span>>().is_err());
    }
}
