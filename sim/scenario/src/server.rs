//! The server's configuration. The core itself parses it, one key at a time, so that each error has
//! a place.

use chat_types::Config;
use serde_json::{Map, Value as Json};

use super::error::{Problem, Read};
use super::fields::Fields;
use super::node::{Node, Value};

/// The keys of `Config`, in the core's spelling.
pub(super) fn keys() -> &'static [&'static str] {
    // The keys come from the core, so that a new limit there is a new key here.
    static KEYS: std::sync::LazyLock<Vec<&'static str>> = std::sync::LazyLock::new(|| {
        let defaults = serde_json::to_value(Config::default());
        let Ok(Json::Object(entries)) = defaults else {
            return Vec::new();
        };
        entries
            .into_iter()
            .map(|(key, _)| -> &'static str { Box::leak(key.into_boxed_str()) })
            .collect()
    });
    &KEYS
}

/// Reads the `server` section.
pub(super) fn server(node: &Node) -> Read<Config> {
    read(node, "`server`", Map::new())
}

/// Reads keys of the `server` section that change a configuration.
pub(super) fn changed(config: &Config, node: &Node) -> Read<Config> {
    let all = match serde_json::to_value(config) {
        Ok(Json::Object(all)) => all,
        Ok(_) | Err(_) => Map::new(),
    };
    read(node, "`configure`", all)
}

/// Reads keys of a configuration, which replace those in `all`.
fn read(node: &Node, what: &'static str, mut all: Map<String, Json>) -> Read<Config> {
    let fields = Fields::read(node, what, keys())?;
    for key in keys() {
        let Some(value) = fields.get(key) else {
            continue;
        };
        let json = to_json(value);
        let alone = Json::Object(Map::from_iter([((*key).to_owned(), json.clone())]));
        serde_json::from_value::<Config>(alone).map_err(|error| {
            Problem::new(
                value.place,
                format!("`{key}` cannot be {}", value.described()),
                format!("accepted here: {}", accepted(&error.to_string())),
            )
        })?;
        all.insert((*key).to_owned(), json);
    }
    let config: Config = serde_json::from_value(Json::Object(all)).map_err(|error| {
        Problem::new(
            node.place,
            "the server cannot be configured so",
            error.to_string(),
        )
    })?;
    config.check().map_err(|error| {
        let place = fields.get(error.key).map_or(node.place, |node| node.place);
        Problem::new(
            place,
            format!("`{}` cannot be {}", error.key, error.found),
            format!("accepted here: {}", error.accepted),
        )
    })?;
    Ok(config)
}

/// The expected values from the core's own error.
fn accepted(error: &str) -> String {
    let expected = error
        .rfind("expected ")
        .map_or(error, |at| &error[at + "expected ".len()..]);
    match expected {
        "u32" | "u64" => "a whole number".to_owned(),
        "a string" if error.contains("invalid type") => {
            "a number and a unit, as in 250us, 20ms, 1.5s, 10m, 2h or 1d".to_owned()
        }
        other => match other.split_once("; write ") {
            Some((_, how)) => how.to_owned(),
            None => other.to_owned(),
        },
    }
}

fn to_json(node: &Node) -> Json {
    match &node.value {
        Value::Empty => Json::Null,
        Value::Bool(value) => Json::from(*value),
        Value::Whole(n) => Json::from(*n),
        Value::Negative(n) => Json::from(*n),
        Value::Fraction(x) => Json::from(*x),
        Value::Text(text) => Json::from(text.as_str()),
        Value::List(items) => items.iter().map(to_json).collect(),
        Value::Map(entries) => entries
            .iter()
            .map(|entry| (entry.key.clone(), to_json(&entry.node)))
            .collect(),
    }
}
