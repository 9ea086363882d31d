//! Parses one YAML document, within limits that no scenario exceeds, into a tree in which every key and
//! value has its place in the file.

use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, Location, Options, Spanned};

use super::error::{Place, Problem, Read};

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

/// A value and its place. It serialises as the value alone.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(super) struct Node {
    /// The place where it is used (for an alias, the place of the alias).
    #[serde(skip)]
    pub(super) place: Place,
    /// The value.
    pub(super) value: Value,
}

/// A YAML value.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
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
    #[serde(serialize_with = "as_map")]
    Map(Vec<Entry>),
}

fn as_map<S: Serializer>(entries: &[Entry], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(entries.iter().map(|entry| (&entry.key, &entry.node)))
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

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Empty)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Whole(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(u64::try_from(value).map_or(Value::Negative(value), Value::Whole))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Fraction(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Value, A::Error> {
        Deserialize::deserialize(SeqAccessDeserializer::new(list)).map(Value::List)
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

/// The largest scenario file, in bytes.
pub(super) const MAX_BYTES: usize = 1 << 20;
/// The deepest nesting of lists and maps. A flow with the deepest loops has 70.
const MAX_DEPTH: usize = 80;
/// The most keys, values, lists and maps, with aliases expanded.
const MAX_NODES: usize = 250_000;

/// Reads one YAML document.
pub(super) fn read(text: &str) -> Read<Node> {
    refuse_control_characters(text)?;
    serde_saphyr::from_str_with_options(text, options()).map_err(|error| explain(text, &error))
}

/// Repeated keys are accepted here, because `Fields` gives better errors than the YAML parser.
fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            max_nodes: MAX_NODES,
        },
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        merge_keys: MergeKeyPolicy::Error,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        strict_booleans: true,
        reject_unsupported_tags: true,
        emit_comments: false,
        with_snippet: false,
    }
}

/// Control characters are not allowed in YAML; they are found here, so that the error names them
/// wherever they are.
fn refuse_control_characters(text: &str) -> Read<()> {
    let wrong = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}');
    match text.char_indices().find(|(_, c)| wrong(*c)) {
        None => Ok(()),
        Some((start, c)) => Place { start, length: 1 }.refuse(
            format!(
                "the control character U+{:04X} is in the file",
                u32::from(c)
            ),
            "text without control characters, tabs and line ends apart",
        ),
    }
}

/// Translates errors of the YAML parser into words for authors of scenarios.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "of the parser's sixty errors these need words of our own"
)]
fn explain(text: &str, error: &Error) -> Box<Problem> {
    let place = error
        .location()
        .map_or_else(Place::default, |location| place_of(text, location));
    let inner = match error.without_snippet() {
        Error::AliasError { error, .. } => error.as_ref(),
        _ => error.without_snippet(),
    };
    let say = |message: &str, accepted: &str| place.wrong(message, accepted);
    let too_much = || {
        let accepted = format!(
            "lists and maps at most {MAX_DEPTH} deep, and at most {MAX_NODES} keys and values, \
             aliases counted as what they stand for"
        );
        say("the file nests too deep, or says too much", &accepted)
    };
    match inner {
        Error::MultipleDocuments { .. } => say(
            "a second YAML document begins here",
            "one scenario in each file",
        ),
        // The scanner's own limit can only be recognised by its message.
        Error::ExternalMessage { msg, .. } if msg.contains("recursion limit") => too_much(),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => too_much(),
        Error::UnknownAnchor { .. } => say(
            "an alias to an anchor that is not there",
            "`*name` after an `&name` somewhere above; a text that begins with * needs quotes",
        ),
        Error::RecursiveReferencesRequireWeakTypes { .. } => say(
            "an alias within its own anchor",
            "an alias after its anchor's value has ended",
        ),
        Error::MergeKeyNotAllowed { .. } => say(
            "merge keys (<<) are not part of a scenario",
            "the keys written out; a whole value may be an alias",
        ),
        Error::UnsupportedTag { tag, .. } => say(
            &format!("the YAML tag `{tag}` is not part of a scenario"),
            "values without a tag; a text that begins with ! needs quotes",
        ),
        _ => {
            // The parser appends the place to its message.
            let words = inner.to_string();
            let end = words.rfind(" at line ").unwrap_or(words.len());
            say(
                &format!("not YAML: {}", &words[..end]),
                "YAML 1.2; a text with one of : # { } [ ] , & * ! | > ' \" % @ ` in it needs quotes",
            )
        }
    }
}

/// Errors of the scanner have their place only in characters.
fn place_of(text: &str, location: Location) -> Place {
    if location.span().byte_offset().is_some() {
        return Place::of(location);
    }
    let characters = usize::try_from(location.span().offset()).unwrap_or(usize::MAX);
    let start = text
        .char_indices()
        .nth(characters)
        .map_or(text.len(), |(at, _)| at);
    Place { start, length: 1 }
}
