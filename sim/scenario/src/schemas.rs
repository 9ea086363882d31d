//! The descriptions of keys, and the JSON Schema for editors.

use serde_json::{Map, Value as Json, json};

/// The definitions that schemas refer to by name.
#[derive(Default)]
pub(crate) struct Schemas(pub(crate) Map<String, Json>);

/// One key of a form.
pub(crate) struct Key {
    /// The name.
    pub(crate) name: &'static str,
    /// The description, for editors.
    pub(crate) about: &'static str,
    /// If not empty: exactly one of these keys is required.
    pub(crate) one_of: &'static [&'static str],
    /// If not empty: the key requires one of these.
    pub(crate) with: &'static [&'static str],
    /// The key is required if one of these is present.
    pub(crate) needed_with: &'static [&'static str],
    /// Whether the key is required.
    pub(crate) needed: fn() -> bool,
    /// An example of a value.
    pub(crate) example: fn() -> String,
    /// The schema of its value.
    pub(crate) schema: fn(&mut Schemas) -> Json,
    /// The written default.
    pub(crate) usual: fn() -> Option<String>,
}

impl Key {
    /// Whether other keys decide whether it is required or refused.
    pub(crate) const fn is_combined(&self) -> bool {
        !(self.one_of.is_empty() && self.with.is_empty() && self.needed_with.is_empty())
    }
}

/// The schema with a description.
pub(crate) fn described(mut schema: Json, about: &str) -> Json {
    if !about.is_empty() {
        schema["description"] = json!(about.trim());
    }
    schema
}

/// The schema of a map with these keys and no others.
pub(crate) fn object(about: &str, keys: &[Key], schemas: &mut Schemas) -> Json {
    let property = |key: &Key| {
        let said = match (key.usual)() {
            None => key.about.to_owned(),
            Some(usual) => format!("{}; {usual} by default.", key.about.trim_end_matches('.')),
        };
        (key.name.to_owned(), described((key.schema)(schemas), &said))
    };
    let properties: Map<String, Json> = keys.iter().map(property).collect();
    let mut object = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false
    });
    let names = |of: fn(&Key) -> bool| -> Vec<&str> {
        let keys = keys.iter().filter(|key| of(key));
        keys.map(|key| key.name).collect()
    };
    let required = |names: &[&str]| -> Json {
        let names = names.iter();
        names.map(|name| json!({ "required": [name] })).collect()
    };
    let needed = names(|key| (key.needed)());
    if !needed.is_empty() {
        object["required"] = json!(needed);
    }
    let one_of = names(|key| !key.one_of.is_empty());
    if !one_of.is_empty() {
        object["oneOf"] = required(&one_of);
    }
    for key in keys {
        for host in key.needed_with {
            require(&mut object["dependentRequired"][host], key.name);
        }
        match key.with {
            [] => {}
            [host] => require(&mut object["dependentRequired"][key.name], host),
            hosts => object["dependentSchemas"][key.name] = json!({ "anyOf": required(hosts) }),
        }
    }
    described(object, about)
}

/// The schema of one of these words alone, or of a map with one of these keys.
pub(crate) fn word_or_key(words: Json, keys: Map<String, Json>) -> Json {
    let map = json!({
        "type": "object",
        "properties": keys,
        "additionalProperties": false,
        "minProperties": 1,
        "maxProperties": 1
    });
    json!({ "anyOf": [words, map] })
}

fn require(names: &mut Json, name: &str) {
    if let Json::Array(names) = names {
        names.push(json!(name));
    } else {
        *names = json!([name]);
    }
}
