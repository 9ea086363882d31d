//! Schemas of small values, and building blocks of the others.

use serde_json::{Map, Value, json};

use crate::tables::{KEYS, MAX_LENGTH};

/// An object with these keys and no others.
pub(super) fn closed<const N: usize>(
    about: &str,
    keys: [&'static str; N],
    values: [Value; N],
    required: &[&str],
) -> Value {
    let properties: Map<String, Value> = keys.into_iter().map(str::to_owned).zip(values).collect();
    let mut object = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false
    });
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    if about.is_empty() {
        object
    } else {
        described(object, about)
    }
}

/// The schema with a description.
pub(super) fn described(mut schema: Value, about: &str) -> Value {
    schema["description"] = json!(about);
    schema
}

/// A definition by name.
pub(super) fn refer(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// A whole number within a range.
pub(super) fn count(least: u64, most: u64) -> Value {
    json!({ "type": "integer", "minimum": least, "maximum": most })
}

/// A name on one line.
pub(super) fn named() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": 64 })
}

/// One name of a fixed list.
pub(super) fn one_of(names: &[&str]) -> Value {
    json!({ "enum": names })
}

/// A list with at least one item.
pub(super) fn some(items: &Value) -> Value {
    json!({ "type": "array", "items": items, "minItems": 1 })
}

/// A probability.
pub(super) fn ratio() -> Value {
    json!({
        "description": "A probability as a ratio of whole numbers, such as 1/200.",
        "anyOf": [
            { "type": "integer", "minimum": 0, "maximum": 1 },
            { "type": "string", "pattern": "^ *[0-9]+ */ *[1-9][0-9]* *$" }
        ]
    })
}

/// A duration, fixed or drawn.
pub(super) fn drawn_duration() -> Value {
    drawn(
        "A duration, an even draw { min, max }, or a lognormal one { p50, p99 } clipped at four times p99.",
        &refer("Duration"),
    )
}

/// A length in characters, fixed or drawn.
pub(super) fn drawn_length() -> Value {
    drawn(
        "A number of characters, an even draw { min, max }, or a lognormal one { p50, p99 } clipped at four times p99.",
        &count(1, MAX_LENGTH),
    )
}

fn drawn(about: &str, value: &Value) -> Value {
    let [min, max, p50, p99] = KEYS;
    let pair = |low: &'static str, high: &'static str| {
        closed(
            "",
            [low, high],
            [value.clone(), value.clone()],
            &[low, high],
        )
    };
    json!({
        "description": about,
        "anyOf": [value, pair(min, max), pair(p50, p99)]
    })
}
