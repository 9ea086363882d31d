//! The server's configuration, whose keys `chat-types` declares. Each key is parsed separately, so
//! that an error has a place.

use chat_types::config::{ConfigKey, MOST_RATE, Takes};
use chat_types::{Config, Span};
use serde_json::{Map, Value as Json, json};

use super::closest::did_you_mean;
use super::context::Context;
use super::error::Read;
use super::fields::Fields;
use super::form::{Form, Schemas, described};
use super::forms::DURATION;
use super::node;
use super::node::{Node, Value};
use super::text::Text;

/// `server`: the keys that differ from the defaults.
impl Form for Config {
    type Of = Self;
    const WHAT: &'static str = "`server`";
    const EXAMPLE: &'static str = "{ turn_limit: 5 }";
    const NAME: Option<&'static str> = Some("Config");

    fn read(node: &Node, context: &mut Context) -> Read<Self> {
        context.server = None;
        let config = read(node, Self::WHAT, &Self::default())?;
        context.server = Some(config.clone());
        Ok(config)
    }

    fn write(config: &Self, _: &Context) -> Option<Text> {
        Some(differing(config, &Self::default()))
    }

    fn schema(schemas: &mut Schemas) -> Json {
        let usual = entries(&Self::default());
        let property = |key: &ConfigKey| {
            let mut schema = described(taken(key.takes, schemas), key.about);
            schema["default"] = usual.get(key.name).cloned().unwrap_or_default();
            (key.name.to_owned(), schema)
        };
        json!({
            "description": "The operator's settings. Each limit names the refusal, or the gap, that follows from it.",
            "type": "object",
            "properties": Self::KEYS.iter().map(property).collect::<Map<_, _>>(),
            "additionalProperties": false
        })
    }
}

/// `configure`: the keys that differ from `server`.
pub(crate) enum ConfigChange {}

impl Form for ConfigChange {
    type Of = Box<Config>;
    const WHAT: &'static str = "`configure`";
    const EXAMPLE: &'static str = Config::EXAMPLE;

    fn read(node: &Node, context: &mut Context) -> Read<Self::Of> {
        let config = match &context.server {
            Some(server) => read(node, Self::WHAT, server)?,
            None => read_keys(node, Self::WHAT, &Self::Of::default())?.1,
        };
        Ok(Box::new(config))
    }

    fn write(config: &Self::Of, context: &Context) -> Option<Text> {
        Some(differing(config, context.server.as_ref()?))
    }

    fn schema(schemas: &mut Schemas) -> Json {
        schemas.of::<Config>()
    }
}

/// Reads limits of a command line, such as `stick_lease=60s`, over the defaults. Of a key that is
/// given twice, the last value counts.
///
/// # Errors
/// A sentence about the first limit that is wrong.
pub fn limits<'t>(limits: impl IntoIterator<Item = &'t str>) -> Result<Config, String> {
    let mut config = Config::default();
    for limit in limits {
        let (key, value) = limit
            .split_once('=')
            .ok_or("write a key, `=` and a value, as in stick_lease=60s")?;
        let key = key.trim();
        let known = Config::KEYS.iter().find(|known| known.name == key);
        let Some(known) = known else {
            let names: Vec<_> = Config::KEYS.iter().map(|known| known.name).collect();
            let guess = did_you_mean(key, &names);
            return Err(format!("there is no limit `{key}`{guess}"));
        };
        let node = node::read(&format!("{key}: {value}"));
        let read = node.and_then(|node| read(&node, "a limit", &config));
        let wrong = |_| {
            let accepted = accepted(known.takes);
            format!("{key} cannot be `{}`; accepted: {accepted}", value.trim())
        };
        config = read.map_err(wrong)?;
    }
    Ok(config)
}

/// Parses keys of a configuration, which replace those of `over`, and checks them together.
fn read(node: &Node, what: &'static str, over: &Config) -> Read<Config> {
    let (fields, config) = read_keys(node, what, over)?;
    config.check().map_err(|error| {
        fields.place_of(error.key).wrong(
            format!("`{}` cannot be {}", error.key, error.found),
            format!("accepted here: {}", error.accepted),
        )
    })?;
    Ok(config)
}

/// Parses keys of a configuration, each on its own.
fn read_keys<'n>(node: &'n Node, what: &'static str, over: &Config) -> Read<(Fields<'n>, Config)> {
    let keys = Config::KEYS.iter().map(|key| key.name).collect();
    let (fields, mut problems) = Fields::named(node, what, keys)?;
    let mut config = over.clone();
    for key in Config::KEYS {
        let Some(value) = fields.get(key.name) else {
            continue;
        };
        let mut all = entries(&config);
        all.insert(key.name.to_owned(), to_json(value));
        let read = serde_json::from_value(Json::Object(all)).map_err(|_| {
            value.place.wrong(
                format!("`{}` cannot be {}", key.name, value.described()),
                format!("accepted here: {}", accepted(key.takes)),
            )
        });
        config = problems.keep(read).unwrap_or(config);
    }
    problems.finish(Some((fields, config)))
}

/// The accepted values of a key, for an error about any value.
fn accepted(takes: Takes) -> String {
    match takes {
        Takes::Word(_) => takes.to_string(),
        Takes::Count(..) => format!("a whole number, {takes}"),
        Takes::Time(_) => DURATION.to_owned(),
        Takes::Limit => "a whole number or none".to_owned(),
        Takes::Rate => "{ per_second, burst } or none".to_owned(),
    }
}

fn taken(takes: Takes, schemas: &mut Schemas) -> Json {
    let or_none = |value: Json| json!({ "anyOf": [value, { "const": "none" }] });
    let count =
        |least: u32, most: u32| json!({ "type": "integer", "minimum": least, "maximum": most });
    match takes {
        Takes::Word(words) => {
            let word = |(word, about): &(&str, &str)| described(json!({ "const": word }), about);
            json!({ "oneOf": words.iter().map(word).collect::<Vec<_>>() })
        }
        Takes::Count(least, most) => count(least, most),
        Takes::Time(_) => schemas.of::<Span>(),
        Takes::Limit => or_none(count(1, u32::MAX)),
        Takes::Rate => or_none(json!({
            "description": "A token bucket: so many calls a second on average, and so many at once.",
            "type": "object",
            "properties": {
                "per_second": described(count(1, MOST_RATE), "Calls a second, on average."),
                "burst": described(count(1, MOST_RATE), "Calls at once, after a rest.")
            },
            "additionalProperties": false,
            "required": ["per_second", "burst"]
        })),
    }
}

fn entries(config: &Config) -> Map<String, Json> {
    match serde_json::to_value(config) {
        Ok(Json::Object(entries)) => entries,
        Ok(_) | Err(_) => Map::new(),
    }
}

/// The keys of a configuration that differ from another.
fn differing(config: &Config, usual: &Config) -> Text {
    let (config, usual) = (entries(config), entries(usual));
    let differing = config
        .iter()
        .filter(|(key, value)| usual.get(*key) != Some(*value));
    Text::map(differing.map(|(key, value)| (key, Some(to_text(value)))))
}

fn to_text(value: &Json) -> Text {
    match value {
        Json::Object(entries) => Text::map(
            entries
                .iter()
                .map(|(key, value)| (key, Some(to_text(value)))),
        ),
        Json::String(text) => Text::plain(text),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) => Text::plain(value),
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
