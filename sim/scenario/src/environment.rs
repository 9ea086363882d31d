//! The environment of users: the server's configuration, whose keys `chat-types` declares, its capacity, the
//! clients' retries, and the network.

use chat_types::config::{ConfigKey, MOST_RATE, Takes};
use chat_types::{Config, Span};
use serde_json::{Map, Value as Json, json};

use super::closest::did_you_mean;
use super::context::Context;
use super::error::Read;
use super::fields::Fields;
use super::form::{Form, form};
use super::forms::{Count, DURATION, SomeTime, Word, Words as _, text, words};
use super::node;
use super::node::{Node, Value};
use super::schemas::{Schemas, described};
use super::tables::DrawnTime;
use super::text::Text;
use sim_model::draw::Ratio;
use sim_model::plan::{self, USUAL_CLIENT, usual_capacity, usual_network};
use sim_model::recipe::{EXAMPLE, Recipe};

form! {
    /// The times of the server's work, so that load causes latency.
    Capacity("`capacity`", "{ service: 20us }") => plan::Capacity = plan::Capacity {
        /// For each command, one at a time.
        service: DrawnTime = usual_capacity().service,
        /// For each journal batch.
        commit: DrawnTime = usual_capacity().commit,
        /// Requests that may wait for service, beyond it `overloaded`.
        queue: Count<1, 10_000_000> = usual_capacity().queue,
        /// The number of journal entries after which a snapshot replaces them.
        snapshot_every: Count<1, 10_000_000> = usual_capacity().snapshot_every,
    }
}

form! {
    /// How virtual clients retry.
    Client("`client`", "{ attempts: 3 }") => plan::Client = plan::Client {
        /// How long the first attempt waits for its answer, where a check's adds its wait.
        timeout: SomeTime = USUAL_CLIENT.timeout,
        /// The factor by which the pause grows from attempt to attempt.
        backoff: Count<1, 100> = USUAL_CLIENT.backoff,
        /// The longest pause.
        max: SomeTime = USUAL_CLIENT.max,
        /// The total number of attempts.
        attempts: Count<1, 1_000> = USUAL_CLIENT.attempts,
    }
}

form! {
    /// The network's random faults, until the scenario's duration is over.
    Network("`network`", "{ loss: 1/200 }") => plan::Network = plan::Network {
        /// Each way, for each packet.
        latency: DrawnTime = usual_network().latency,
        /// Requests and replies that never arrive.
        loss: Ratio = Ratio::NEVER,
        /// Requests that arrive twice.
        duplicate: Ratio = Ratio::NEVER,
        /// Pushes at which the stream breaks instead.
        stream_break: Ratio = Ratio::NEVER,
        /// The number of addresses that the clients share, in turn; after a disconnection a client
        /// comes back from the next one. Without it, each has its own.
        addresses: Option<Count<1, 1_000_000>>,
    }
}

form! {
    /// Perturbed on purpose: by clients' priorities, and by deliveries close to deadlines.
    Race("`race`", "{ depth: 3 }") => plan::Race = plan::Race {
        /// At one moment fewer than this, the next client to send becomes the slowest.
        depth: Count<1, 100> = plan::Race::default().depth,
        /// How often a delivery is moved close to a deadline or to another delivery.
        hug: Ratio = plan::Race::default().hug,
    }
}

form! {
    /// A race with parameters.
    struct RaceKeys("`schedule`", "{ race: { depth: 3 } }") {
        race: Race,
    }
}

words! {
    Kind("a schedule") => plan::Schedule = [
        "plain": plan::Schedule::Plain,
        "race": plan::Schedule::Race(plan::Race::default()),
    ]
}

/// The order in which concurrent packets are delivered: `plain`, `race`, or a race with parameters.
impl Form for plan::Schedule {
    type Of = Self;
    const WHAT: &'static str = Kind::WHAT;
    const EXAMPLE: &'static str = "race";

    fn read(node: &Node, context: &mut Context) -> Read<Self> {
        if matches!(node.value, Value::Map(_)) {
            return RaceKeys::read(node, context).map(|keys| Self::Race(keys.race));
        }
        Word::<Kind>::read(node, context)
    }

    fn write(schedule: &Self, context: &Context) -> Option<Text> {
        match schedule {
            Self::Race(race) if *race != plan::Race::default() => {
                RaceKeys::write(&RaceKeys { race: *race }, context)
            }
            Self::Race(_) | Self::Plain => Word::<Kind>::write(schedule, context),
        }
    }

    fn schema(schemas: &mut Schemas) -> Json {
        json!({ "anyOf": [schemas.of::<Word<Kind>>(), schemas.of::<RaceKeys>()] })
    }
}

/// The steps at which runs branch: `s123:2,s990:1`.
impl Form for Recipe {
    type Of = Self;
    const WHAT: &'static str = "a recipe";
    const EXAMPLE: &'static str = "s123:2,s990:1";

    fn read(node: &Node, _: &mut Context) -> Read<Self> {
        let recipe = text(node, Self::WHAT)?.parse();
        recipe.map_err(|problem: String| node.place.wrong(problem, EXAMPLE))
    }

    fn write(recipe: &Self, _: &Context) -> Option<Text> {
        Some(Text::in_quotes(&recipe.to_string()))
    }

    fn schema(_: &mut Schemas) -> Json {
        json!({
            "type": "string",
            "pattern": "^(s[0-9]+:[1-9][0-9]*(,s[0-9]+:[1-9][0-9]*)*)?$"
        })
    }
}

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

/// Parses keys of a configuration, each on its own, so that an error has a place.
fn read_keys<'n>(node: &'n Node, what: &'static str, over: &Config) -> Read<(Fields<'n>, Config)> {
    let keys = Config::KEYS.iter().map(|key| key.name).collect();
    let (fields, mut problems) = Fields::named(node, what, keys, |_| false)?;
    let mut config = over.clone();
    for key in Config::KEYS {
        let Some(value) = fields.get(key.name) else {
            continue;
        };
        let json = serde_json::to_value(value).unwrap_or_default();
        let read = with_entry(&config, key.name, json).map_err(|_| {
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

/// The values of a configuration by their keys.
#[must_use]
pub fn entries(config: &Config) -> Map<String, Json> {
    match serde_json::to_value(config) {
        Ok(Json::Object(entries)) => entries,
        Ok(_) | Err(_) => Map::new(),
    }
}

/// The configuration with this value of a key.
///
/// # Errors
/// The key does not take it.
pub fn with_entry(config: &Config, key: &str, value: Json) -> serde_json::Result<Config> {
    let mut all = entries(config);
    all.insert(key.to_owned(), value);
    serde_json::from_value(Json::Object(all))
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
