//! Descriptions of the tools for models and programs, as JSON Schemas.

use serde_json::{Map, Value};

use super::Tool;
use super::arguments::Need;

/// A JSON Schema, as a text.
pub(super) type Schema = &'static str;

/// The schemas of arguments and of results' fields. Peers are other participants, or their words.
pub(super) const TEXT: Schema = r#"{ "type": "string" }"#;
pub(super) const TEXTS: Schema = r#"{ "type": "array", "items": { "type": "string" } }"#;
pub(super) const FLAG: Schema = r#"{ "type": "boolean" }"#;
pub(super) const WHOLE: Schema = r#"{ "type": "integer" }"#;
pub(super) const WHOLE_OR_NULL: Schema = r#"{ "type": ["integer", "null"] }"#;
pub(super) const PEER: Schema =
    r#"{ "type": "object", "description": "untrusted: other participants' words" }"#;
pub(super) const PEER_OR_NULL: Schema =
    r#"{ "type": ["object", "null"], "description": "untrusted: other participants' words" }"#;
pub(super) const PEERS: Schema = r#"{ "type": "array", "items": { "type": "object" },
    "description": "untrusted: other participants' words" }"#;

impl Tool {
    /// The JSON Schema of its arguments.
    #[must_use]
    pub fn input(self) -> Map<String, Value> {
        let mut takes = self.takes();
        takes.push(("handle", TEXT, Need::Optional));
        if !self.is_read_only() {
            takes.push(("request_key", TEXT, Need::Optional));
        }
        let needed = takes.iter().filter(|(.., need)| *need == Need::Needed);
        let needed: Vec<_> = needed.map(|(name, ..)| *name).collect();
        let mut input = object(takes.into_iter().map(|(name, schema, _)| (name, schema)));
        if !needed.is_empty() {
            input.insert("required".into(), needed.into());
        }
        input
    }

    /// The JSON Schema of `structuredContent`: the fields of this tool's own. Those of every result are not
    /// repeated for each tool: `unread`, `note` where the result shows others, and `error` of a refused
    /// call.
    #[must_use]
    pub fn output(self) -> Map<String, Value> {
        object(self.gives().iter().copied())
    }
}

fn object(properties: impl Iterator<Item = (&'static str, Schema)>) -> Map<String, Value> {
    let read = |schema| serde_json::from_str(schema).expect("each schema is JSON");
    let properties = properties.map(|(name, schema)| (name.to_owned(), read(schema)));
    let properties: Map<_, _> = properties.collect();
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
        let bytes: usize = Tool::all()
            .map(|tool| {
                let input = serde_json::to_string(&tool.input()).unwrap();
                tool.name().len() + tool.text().len() + input.len()
            })
            .sum();
        assert!(bytes <= MAX_BYTES, "{bytes} bytes");
    }

    #[test]
    fn fields_that_show_others_say_that_they_are_untrusted() {
        let untrusted: Vec<_> = Tool::all()
            .flat_map(|tool| {
                let properties = tool.output()["properties"].clone();
                let fields = properties.as_object().unwrap().clone();
                let told = fields
                    .into_iter()
                    .filter(|(_, schema)| schema["description"].is_string());
                told.map(move |(name, _)| (tool.name(), name))
                    .collect::<Vec<_>>()
            })
            .collect();
        let expected = [
            ("enter_queue", "partner"),
            ("login", "messages"),
            ("login", "users"),
            ("check", "events"),
            ("check", "notices"),
            ("speak", "events"),
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
        for tool in Tool::all() {
            let input = tool.input();
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
