//! Text of a scenario file: maps in braces, lists in brackets, quotes where YAML needs them.

use std::fmt::{self, Write as _};

use serde_json::Value as Json;

/// A part of a scenario's text.
#[derive(PartialEq)]
pub(crate) enum Text {
    /// A single value, with its quotes.
    Plain(String),
    /// A list.
    List(Vec<Text>),
    /// A map.
    Map(Vec<(String, Text)>),
}

impl Text {
    /// A value that needs no quotes.
    pub(crate) fn plain(value: impl fmt::Display) -> Self {
        Self::Plain(value.to_string())
    }

    /// A text, in double quotes if necessary: JSON's quoting is valid YAML.
    pub(crate) fn quoted(text: &str) -> Self {
        let plain = text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
            && text.starts_with(|first: char| first.is_ascii_alphabetic())
            && !RESERVED.contains(&text.to_ascii_lowercase().as_str());
        if plain {
            Self::plain(text)
        } else {
            Self::in_quotes(text)
        }
    }

    /// A text between quotes, with escapes for invisible characters.
    pub(crate) fn in_quotes(text: &str) -> Self {
        let mut quoted = String::with_capacity(text.len() + 2);
        for c in Json::from(text).to_string().chars() {
            if (c.is_ascii() && c != '\u{7f}') || c.is_alphanumeric() {
                quoted.push(c);
            } else {
                // Writing to a string cannot fail.
                let _ = write!(quoted, "\\U{:08X}", u32::from(c));
            }
        }
        Self::Plain(quoted)
    }

    /// A map of the keys that have a text.
    pub(crate) fn map<K: ToString>(keys: impl IntoIterator<Item = (K, Option<Self>)>) -> Self {
        let keys = keys.into_iter();
        Self::Map(
            keys.filter_map(|(key, value)| Some((key.to_string(), value?)))
                .collect(),
        )
    }

    /// Whether it is an empty list or map.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::List(items) => items.is_empty(),
            Self::Map(keys) => keys.is_empty(),
        }
    }
}

/// Words that some YAML parsers do not read as text.
const RESERVED: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

/// The text on one line.
impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(text) => f.pad(text),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::to_string).collect();
                f.pad(&format!("[{}]", items.join(", ")))
            }
            Self::Map(keys) if keys.is_empty() => f.pad("{}"),
            Self::Map(keys) => {
                let keys: Vec<String> = keys.iter().map(|(k, v)| format!("{k}: {v}")).collect();
                f.pad(&format!("{{ {} }}", keys.join(", ")))
            }
        }
    }
}
