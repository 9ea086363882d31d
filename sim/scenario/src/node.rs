//! A YAML document as a tree in which every key and value knows its place in the file.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

/// A stretch of the file, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Where it begins.
    pub(super) start: usize,
    /// How many bytes it takes.
    pub(super) length: usize,
}

impl Place {
    /// The place that the YAML parser speaks of; the start of the file when it knows none.
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
    /// Where it is used (for an alias: where the alias stands).
    pub(super) place: Place,
    /// What it is.
    pub(super) value: Value,
}

/// What YAML can say.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// Nothing after the colon, `~` or `null`.
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
    /// Values one after another.
    List(Vec<Node>),
    /// Keys and values, duplicates included.
    Map(Vec<Entry>),
}

/// One key and its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Where the key stands.
    pub(super) place: Place,
    /// The key. Whatever is not a plain word is no key of a scenario, and written as it reads.
    pub(super) key: String,
    /// The value.
    pub(super) node: Node,
}

impl Node {
    /// Whether a number stands here.
    pub(super) fn is_number(&self) -> bool {
        matches!(
            self.value,
            Value::Whole(_) | Value::Negative(_) | Value::Fraction(_)
        )
    }

    /// The word that stands here, or the first key of the map.
    pub(super) fn word(&self) -> (Place, &str) {
        match &self.value {
            Value::Map(entries) => entries
                .first()
                .map(|entry| (entry.place, entry.key.as_str())),
            Value::Text(word) => Some((self.place, word.as_str())),
            Value::Empty
            | Value::Bool(_)
            | Value::Whole(_)
            | Value::Negative(_)
            | Value::Fraction(_)
            | Value::List(_) => None,
        }
        .unwrap_or((self.place, ""))
    }

    /// What stands here, for "found …".
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
        // An error shows a list or a map as what stands on its first line.
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
        deserializer.deserialize_any(Anything)
    }
}

/// Takes whatever comes: what is expected where is decided later, where it can be said better.
struct Anything;

impl<'de> Visitor<'de> for Anything {
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
