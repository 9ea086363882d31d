//! Parses arguments one by one. An error names the argument and what is accepted.

use std::sync::Arc;

use chat_core::{Epoch, Reject, RoomId, Seq};
use serde_json::{Map, Value};

use super::Tool;
use super::describe::{Schema, TEXT, TEXTS, WHOLE};
use crate::refusal::Refusal;

/// The limit of cursors and seqs: the largest integer that every JSON reader represents exactly.
const MAX_INTEGER: u64 = (1 << 53) - 1;

/// The largest value of `max` and `limit`; the configuration may allow less.
pub(super) const MAX_PAGE: u64 = 1_000;

/// What programs write for nothing where a text has to be.
pub const NOTHING: [&str; 4] = ["", "null", "None", "undefined"];

/// The arguments of one call. Each one is removed when it is parsed; those left at the end are
/// unknown.
#[derive(Debug)]
pub struct Arguments {
    tool: Tool,
    values: Map<String, Value>,
    known: Vec<&'static str>,
}

impl Arguments {
    /// The arguments of a call of this tool.
    #[must_use]
    pub fn new(tool: Tool, values: Map<String, Value>) -> Self {
        Self {
            tool,
            values,
            known: Vec::new(),
        }
    }

    /// Removes an argument. A null counts as missing: many clients send one for what their model
    /// left out.
    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.values.remove(name).filter(|value| !value.is_null())
    }

    /// Removes an optional argument. An empty text counts as missing, too: nothing optional is one, and
    /// some models and proxies fill in all that a schema names.
    fn take_optional(&mut self, name: &'static str) -> Option<Value> {
        self.take(name).filter(|value| *value != "")
    }

    /// Removes an optional argument that is no free text, so that the words for nothing count as
    /// missing, too.
    fn take_unless_nothing(&mut self, name: &'static str) -> Option<Value> {
        let is_nothing = |value: &Value| value.as_str().is_some_and(|text| NOTHING.contains(&text));
        self.take_optional(name).filter(|value| !is_nothing(value))
    }

    fn wrong(name: &str, accepted: &str, found: &Value) -> Refusal {
        let found = match found {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        Refusal::invalid(format!("`{name}` must be {accepted}, not {found}"))
    }

    /// An optional text.
    ///
    /// # Errors
    /// It has another type.
    pub fn text(&mut self, name: &'static str) -> Result<Option<Arc<str>>, Refusal> {
        let value = self.take_optional(name);
        value.map(|value| Self::string(name, value)).transpose()
    }

    /// An optional text that the server or the caller's program made: a handle, a key, a room's id.
    ///
    /// # Errors
    /// It has another type.
    pub fn token(&mut self, name: &'static str) -> Result<Option<Arc<str>>, Refusal> {
        let value = self.take_unless_nothing(name);
        value.map(|value| Self::string(name, value)).transpose()
    }

    fn string(name: &str, value: Value) -> Result<Arc<str>, Refusal> {
        if let Value::String(text) = value {
            return Ok(text.into());
        }
        Err(Self::wrong(name, "a string", &value))
    }

    /// A required text.
    ///
    /// # Errors
    /// It is missing, or has another type.
    pub fn needed_text(&mut self, name: &'static str) -> Result<Arc<str>, Refusal> {
        match self.take(name) {
            Some(value) => Self::string(name, value),
            None => {
                let told = format!("`{name}` is missing; {} needs it", self.tool);
                Err(Refusal::invalid(told))
            }
        }
    }

    /// An optional list of texts.
    ///
    /// # Errors
    /// It has another type.
    pub fn texts(&mut self, name: &'static str) -> Result<Vec<Arc<str>>, Refusal> {
        const ACCEPTED: &str = "an array of strings, or left out";
        let Some(value) = self.take_unless_nothing(name) else {
            return Ok(Vec::new());
        };
        let Value::Array(items) = value else {
            return Err(Self::wrong(name, ACCEPTED, &value));
        };
        let text = |item: &Value| match item.as_str() {
            Some(text) => Ok(text.into()),
            None => Err(Self::wrong(name, ACCEPTED, item)),
        };
        let items = items.iter().filter(|item| **item != "");
        items.map(text).collect()
    }

    /// An optional whole number from `least` to `most`. 20.0 counts as whole.
    ///
    /// # Errors
    /// It is something else.
    pub fn integer(
        &mut self,
        name: &'static str,
        (least, most): (u64, u64),
    ) -> Result<Option<u64>, Refusal> {
        let Some(value) = self.take_unless_nothing(name) else {
            return Ok(None);
        };
        let accepted = || match most {
            MAX_INTEGER => format!("an integer from {least} on, or left out"),
            most => format!("an integer from {least} to {most}, or left out"),
        };
        let Value::Number(number) = &value else {
            return Err(Self::wrong(name, &accepted(), &value));
        };
        match whole(number).filter(|whole| (least..=most).contains(whole)) {
            None => {
                let told = format!("`{name}` must be {}, not {number}", accepted());
                Err(Refusal::invalid(told))
            }
            whole => Ok(whole),
        }
    }

    /// An optional cursor or seq.
    ///
    /// # Errors
    /// It is something else.
    pub fn seq(&mut self, name: &'static str) -> Result<Option<Seq>, Refusal> {
        Ok(self.integer(name, (0, MAX_INTEGER))?.map(Seq))
    }

    /// An optional room.
    ///
    /// # Errors
    /// It is something else, or no valid room id.
    pub fn room(&mut self) -> Result<Option<RoomId>, Refusal> {
        match self.token("room_id")? {
            Some(text) => Ok(Some(room_id(&text).ok_or(Reject::RoomNotFound)?)),
            None => Ok(None),
        }
    }

    /// Checks that no argument is left.
    ///
    /// # Errors
    /// The name of an unknown argument, and the tool's arguments.
    pub fn finish(self) -> Result<(), Refusal> {
        let Some(other) = self.values.keys().next() else {
            return Ok(());
        };
        let shown: String = other.chars().take(40).filter(|c| !c.is_control()).collect();
        Err(Refusal::invalid(format!(
            "`{shown}` is no argument of {}; it takes {}",
            self.tool,
            self.known.join(", ")
        )))
    }
}

/// One argument: its name, whether it is required, its schema, and its parser.
pub(super) struct Argument<T>(&'static str, Need, Schema, Reader<T>);

type Reader<T> = fn(&mut Arguments, &'static str) -> Result<T, Refusal>;

/// Whether an argument is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Needed,
    Optional,
}

use Need::{Needed, Optional};

/// The arguments of a tool: names, schemas, and whether they are required.
pub(super) type Fields = Vec<(&'static str, Schema, Need)>;

impl<T> Argument<T> {
    /// This argument under another name.
    pub(super) const fn named(self, name: &'static str) -> Self {
        Self(name, self.1, self.2, self.3)
    }

    pub(super) const fn described(&self) -> (&'static str, Schema, Need) {
        (self.0, self.2, self.1)
    }

    pub(super) fn read(&self, arguments: &mut Arguments) -> Result<T, Refusal> {
        (self.3)(arguments, self.0)
    }
}

/// An optional text.
pub(super) const fn text(name: &'static str) -> Argument<Option<Arc<str>>> {
    Argument(name, Optional, TEXT, Arguments::text)
}

/// A required text.
pub(super) const fn needed_text(name: &'static str) -> Argument<Arc<str>> {
    Argument(name, Needed, TEXT, Arguments::needed_text)
}

/// The largest number of elements of a page.
const fn page_size(name: &'static str, schema: Schema) -> Argument<Option<u64>> {
    Argument(name, Optional, schema, |all, name| {
        all.integer(name, (1, MAX_PAGE))
    })
}

/// The room, if the core can infer it.
pub(super) const ROOM: Argument<Option<RoomId>> =
    Argument("room_id", Optional, TEXT, |all, _| all.room());

/// The room of a message. Its schema asks for it, because the core may infer another one than the
/// caller means.
pub(super) const NAMED_ROOM: Argument<Option<RoomId>> =
    Argument("room_id", Needed, TEXT, |all, _| all.room());

/// The epoch of the grant that the caller believes to hold.
pub(super) const EPOCH: Argument<Option<Epoch>> =
    Argument("epoch", Optional, WHOLE, |all, name| {
        Ok(all.integer(name, (1, MAX_INTEGER))?.map(Epoch))
    });

/// The public id of another participant.
pub(super) const USER: Argument<Arc<str>> = needed_text("user_id");

/// The text of a message.
pub(super) const MESSAGE: Argument<Arc<str>> = needed_text("message");

/// The caller's own text for its break.
pub(super) const EXCUSE: Argument<Option<Arc<str>>> = text("excuse");

/// The topics that the caller wants to talk about.
pub(super) const INTERESTS: Argument<Vec<Arc<str>>> =
    Argument("interests", Optional, TEXTS, Arguments::texts);

/// The members that a message is addressed to, by id or name.
pub(super) const TO: Argument<Vec<Arc<str>>> = Argument(
    "to",
    Optional,
    r#"{ "type": "array", "items": { "type": "string" }, "maxItems": 16, "description": "for whom: names or ids" }"#,
    |all, name| {
        let to = all.texts(name)?;
        if to.len() > 16 {
            let told = format!("`{name}` must be at most 16 user_ids or names, or left out");
            return Err(Refusal::invalid(told));
        }
        Ok(to)
    },
);

/// The caller's last cursor.
pub(super) const AFTER: Argument<Option<Seq>> = Argument(
    "after",
    Optional,
    r#"{ "type": "integer", "minimum": 0 }"#,
    Arguments::seq,
);

/// The number of seconds that a check waits. The core limits it; here it only has to be a number.
pub(super) const WAIT: Argument<Option<u64>> = Argument(
    "wait_seconds",
    Optional,
    r#"{ "type": "integer", "minimum": 0, "default": 20, "description": "at most 50" }"#,
    |all, name| all.integer(name, (0, 86_400)),
);

/// The largest number of events of a check.
pub(super) const MAX: Argument<Option<u64>> =
    page_size("max", r#"{ "type": "integer", "minimum": 1 }"#);

/// The place in a room before which messages are read.
pub(super) const BEFORE: Argument<Option<Seq>> =
    Argument("before", Optional, WHOLE, Arguments::seq);

/// The place before which a search goes on, as an earlier answer gave it.
pub(super) const PLACE: Argument<Option<Arc<str>>> =
    Argument("before", Optional, TEXT, Arguments::token);

/// The largest number of messages or members.
pub(super) const LIMIT: Argument<Option<u64>> = page_size(
    "limit",
    r#"{ "type": "integer", "minimum": 1, "default": 50 }"#,
);

/// The largest number of messages of a search.
pub(super) const FOUND: Argument<Option<u64>> = page_size(
    "limit",
    r#"{ "type": "integer", "minimum": 1, "default": 20 }"#,
);

fn whole(number: &serde_json::Number) -> Option<u64> {
    if let Some(whole) = number.as_u64() {
        return Some(whole);
    }
    let text = number.to_string();
    let (whole, fraction) = text.split_once('.')?;
    fraction.bytes().all(|digit| digit == b'0').then_some(())?;
    whole.parse().ok()
}

/// The room with this id, if the id is valid.
#[must_use]
pub(super) fn room_id(text: &str) -> Option<RoomId> {
    let id = RoomId(text.strip_prefix("room_")?.parse().ok()?);
    (id.to_string() == text).then_some(id)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arguments(values: Value) -> Arguments {
        let Value::Object(values) = values else {
            panic!("arguments are an object")
        };
        Arguments::new(Tool::Check, values)
    }

    fn integer(value: Value) -> Result<Option<u64>, String> {
        arguments(json!({ "n": value }))
            .integer("n", (1, 50))
            .map_err(|refusal| refusal.message)
    }

    #[test]
    fn whole_numbers_are_read_and_others_named() {
        assert_eq!(integer(json!(20)), Ok(Some(20)));
        assert_eq!(integer(json!(20.0)), Ok(Some(20)));
        assert_eq!(integer(Value::Null), Ok(None));
        let wrong = [
            (json!(0), "0"),
            (json!(1.5), "1.5"),
            (json!(-1), "-1"),
            (json!(51), "51"),
            (json!("9"), "a string"),
            (json!(1e300), "1e+300"),
        ];
        for (value, found) in wrong {
            let why = format!("`n` must be an integer from 1 to 50, or left out, not {found}");
            assert_eq!(integer(value), Err(why));
        }
    }

    #[test]
    fn what_is_missing_or_too_much_is_named() {
        let mut missing = arguments(json!({}));
        assert_eq!(
            missing.needed_text("message").unwrap_err().message,
            "`message` is missing; check needs it"
        );
        let mut typo = arguments(json!({ "aftr": 3 }));
        assert_eq!(typo.seq("after"), Ok(None));
        assert_eq!(
            typo.finish().unwrap_err().message,
            "`aftr` is no argument of check; it takes after"
        );
    }

    #[test]
    fn rooms_have_one_spelling() {
        assert_eq!(room_id("room_3"), Some(RoomId(3)));
        for other in [
            "3",
            "room_03",
            "room_",
            "room_x",
            "ROOM_3",
            "room_-1",
            "room_99999999999999999999",
        ] {
            assert_eq!(room_id(other), None, "{other}");
        }
    }
}
