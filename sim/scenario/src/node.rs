//! A YAML document as a tree in which every key and value has its place in the file.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

/// A range of the file, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The first byte.
    pub(super) start: usize,
    /// The number of bytes.
    pub(super) length: usize,
}

impl Place {
    /// The place of a YAML parser's location; the start of the file if it is unknown.
    pub(super) fn of(location: Location) -> Self {
        let span = location.span();
        let bytes = |n: Option<u64>| n.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        Self {
            start: bytes(span.byte_offset()),
            length: bytes(span.byte_len()),
        }
    }
}

/// A value and its place.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// The place where it is used (for an alias, the place of the alias).
    pub(super) place: Place,
    /// The value.
    pub(super) value: Value,
}

/// A YAML value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// No value, `~` or `null`.
    Empty,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number from 0.
    Whole(u64),
    /// A whole number below 0.
    Negative(i64),
    /// A number with a fraction, or too large to be a `Whole`.
    Fraction(f64),
    /// Anything else that is neither a list nor a map.
    Text(String),
    /// A list of values.
    List(Vec<Node>),
    /// Keys and values, duplicates included.
    Map(Vec<Entry>),
}

/// One key and its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The place of the key.
    pub(super) place: Place,
    /// The key. Keys that are not plain words are never keys of a scenario; they are kept as text
    /// for errors.
    pub(super) key: String,
    /// The value.
    pub(super) node: Node,
}

impl Node {
    /// Whether the value is a number.
    pub(super) fn is_number(&self) -> bool {
        matches!(
            self.value,
            Value::Whole(_) | Value::Negative(_) | Value::Fraction(_)
        )
    }

    /// The entries, if it is a map.
    pub(super) fn entries(&self) -> &[Entry] {
        if let Value::Map(entries) = &self.value {
            return entries;
        }
        &[]
    }

    /// The value of the first key of the map.
    pub(super) fn only(&self) -> Option<&Self> {
        self.entries().first().map(|entry| &entry.node)
    }

    /// The value of this key of the map.
    pub(super) fn key(&self, key: &str) -> Option<&Self> {
        let entry = self.entries().iter().find(|entry| entry.key == key);
        entry.map(|entry| &entry.node)
    }

    /// The word at this node, or the first key of the map.
    pub(super) fn word(&self) -> (Place, &str) {
        if let Value::Text(word) = &self.value {
            return (self.place, word);
        }
        let first = self.entries().first();
        first.map_or((self.place, ""), |entry| (entry.place, &entry.key))
    }

    /// The description of the value, for "found …".
    pub(super) fn described(&self) -> String {
        match &self.value {
            Value::Empty => "nothing".into(),
            Value::Bool(b) => format!("`{b}`"),
            Value::Whole(n) => format!("the number {n}"),
            Value::Negative(n) => format!("the number {n}"),
            Value::Fraction(x) if x.abs() < 1e15 => format!("the number {x}"),
            Value::Fraction(x) => format!("the number {x:e}"),
            Value::Text(text) if text.is_empty() => "an empty text".into(),
            Value::Text(text) => format!("the text `{}`", shortened(text)),
            Value::List(items) if items.is_empty() => "an empty list".into(),
            Value::List(_) => "a list".into(),
            Value::Map(_) => "a map".into(),
        }
    }
}

/// At most 40 characters of a text, on one line.
pub(super) fn shortened(text: &str) -> String {
    let mut out: String = text
        .chars()
        .take(40)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().nth(40).is_some() {
        out.push('…');
    }
    out
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        let mut place = Place::of(spanned.referenced);
        // An error shows only the first line of a list or a map.
        if matches!(spanned.value, Value::List(_) | Value::Map(_)) && place.length <= 1 {
            place.length = 0;
        } else {
            place.length = place.length.max(1);
        }
        Ok(Self {
            place,
            value: spanned.value,
        })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

/// Accepts any value: its kind is checked later, with better errors.
struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Empty)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Empty)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Whole(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(u64::try_from(value).map_or(Value::Negative(value), Value::Whole))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Fraction(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = list.next_element()? {
            nodes.push(node);
        }
        Ok(Value::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Node>()? {
            let name = if let Value::Text(text) = &key.value {
                text.clone()
            } else {
                key.described()
            };
            entries.push(Entry {
                place: key.place,
                key: name,
                node: map.next_value()?,
            });
        }
        Ok(Value::Map(entries))
    }
}
