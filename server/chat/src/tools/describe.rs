//! Descriptions of the tools for models and programs, as JSON Schemas.

use serde_json::{Map, Value, json};

use super::Tool;
use super::arguments::{Fields, Need};

/// A tool in the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The tool.
    pub tool: Tool,
    /// Its purpose, and when to call it.
    pub text: &'static str,
    /// The JSON Schema of its arguments.
    pub input: Map<String, Value>,
    /// The JSON Schema of `structuredContent`.
    pub output: Map<String, Value>,
}

/// The content of a result's field. Peers are other participants, or their words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Text,
    Texts,
    Flag,
    Whole,
    WholeOrNull,
    OneOf(&'static [&'static str]),
    Peer,
    PeerOrNull,
    Peers,
}

/// The description of every field that shows other participants.
const UNTRUSTED: &str = "untrusted: other participants' words";

impl Shape {
    fn schema(self) -> Value {
        match self {
            Self::Text => json!({ "type": "string" }),
            Self::Texts => json!({ "type": "array", "items": { "type": "string" } }),
            Self::Flag => json!({ "type": "boolean" }),
            Self::Whole => json!({ "type": "integer" }),
            Self::WholeOrNull => json!({ "type": ["integer", "null"] }),
            Self::OneOf(words) => json!({ "enum": words }),
            Self::Peer => json!({ "type": "object", "description": UNTRUSTED }),
            Self::PeerOrNull => json!({ "type": ["object", "null"], "description": UNTRUSTED }),
            Self::Peers => {
                let items = json!({ "type": "object" });
                json!({ "type": "array", "items": items, "description": UNTRUSTED })
            }
        }
    }
}

/// The description of a tool.
#[must_use]
pub fn describe(tool: Tool) -> Description {
    let mut takes = tool.takes();
    let text = || json!({ "type": "string" });
    takes.push(("handle", text(), Need::Optional));
    if !tool.is_read_only() {
        takes.push(("request_key", text(), Need::Optional));
    }
    Description {
        tool,
        text: tool.text(),
        input: input(takes),
        output: output(tool),
    }
}

fn input(takes: Fields) -> Map<String, Value> {
    let needed = takes.iter().filter(|(.., need)| *need == Need::Needed);
    let needed: Vec<_> = needed.map(|(name, ..)| *name).collect();
    let properties = takes.into_iter().map(|(name, schema, _)| (name, schema));
    let mut object = object(properties);
    if !needed.is_empty() {
        object.insert("required".into(), needed.into());
    }
    object
}

/// The schema of a result: the fields of this tool's own. Fields of every result are not repeated
/// for each tool: `unread`, `note` where the result shows others, and `error` of a refused call.
fn output(tool: Tool) -> Map<String, Value> {
    object(
        tool.gives()
            .iter()
            .map(|(name, shape)| (*name, shape.schema())),
    )
}

fn object(properties: impl Iterator<Item = (&'static str, Value)>) -> Map<String, Value> {
    let properties: Map<_, _> = properties
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect();
    let mut object = Map::new();
    object.insert("type".into(), "object".into());
    object.insert("properties".into(), properties.into());
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest total size of the names, texts and inputs of all tools, which models pay for.
    const MAX_BYTES: usize = 10_000;

    #[test]
    fn all_descriptions_together_stay_small() {
        let bytes: usize = Tool::ALL
            .iter()
            .map(|tool| {
                let told = describe(*tool);
                let input = serde_json::to_string(&told.input).unwrap();
                told.tool.name().len() + told.text.len() + input.len()
            })
            .sum();
        assert!(bytes <= MAX_BYTES, "{bytes} bytes");
    }

    #[test]
    fn fields_that_show_others_say_that_they_are_untrusted() {
        let untrusted: Vec<_> = Tool::ALL
            .iter()
            .flat_map(|tool| {
                let properties = describe(*tool).output["properties"].clone();
                let fields = properties.as_object().unwrap().clone();
                let told = fields
                    .into_iter()
                    .filter(|(_, schema)| schema["description"] == UNTRUSTED);
                told.map(move |(name, _)| (tool.name(), name))
                    .collect::<Vec<_>>()
            })
            .collect();
        let expected = [
            ("enter_queue", "partner"),
            ("login", "users"),
            ("check", "events"),
            ("check", "notices"),
            ("talking_stick", "holder"),
            ("list_users", "users"),
            ("history", "messages"),
            ("search", "messages"),
        ];
        let mut expected = expected.map(|(tool, name)| (tool, name.to_owned()));
        let mut untrusted = untrusted;
        untrusted.sort();
        expected.sort();
        assert_eq!(untrusted, expected);
    }

    #[test]
    fn every_argument_that_is_needed_is_described() {
        for tool in Tool::ALL {
            let input = describe(*tool).input;
            for name in input
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                let name = name.as_str().unwrap();
                assert!(input["properties"].get(name).is_some(), "{tool}: {name}");
            }
        }
    }
}
