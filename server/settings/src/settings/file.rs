//! The settings' file, read as the flags that say the same. Each key is parsed by itself, so that an
//! error names the line, the key, what it takes and what it was given.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::path::Path;

use chat_types::Config;
use clap::{Arg, ArgAction, Args as _, Command, FromArgMatches as _};
use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;

use super::{ServeArgs, limits, read_file};
use crate::accepted::{self, closest, either};

/// The settings that are no keys of the file.
const FLAGS_ALONE: [&str; 4] = [
    "accept_loss",
    "boss_alertness",
    "boss_alertness_cooldown",
    "config",
];

/// Reads the file.
///
/// # Errors
/// It cannot be read, or says what no setting is.
pub(super) fn read(path: &Path) -> Result<ServeArgs, String> {
    let text = read_file("--config", path)?;
    parse(&text).map_err(|error| format!("{}: {error}", path.display()))
}

fn parse(text: &str) -> Result<ServeArgs, String> {
    // A text without values is null.
    match serde_saphyr::from_str(text).map_err(|error| unreadable(&error))? {
        Value::Null => return Ok(ServeArgs::default()),
        Value::Object(_) => {}
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            let form = "has lines of a key, a colon and a value, as in `grace: 10s`";
            return Err(format!("a file of settings {form}"));
        }
    }
    let mut given: Placed = serde_saphyr::from_str(text).map_err(|error| unreadable(&error))?;
    let limits: Result<Limits, _> = serde_saphyr::from_str(text);
    let keys = Keys::new();
    keys.check_names(&given)?;
    // A key that is null counts as absent.
    given.retain(|_, given| !given.value.is_null());
    let mut words = Vec::new();
    for (name, given) in &given {
        let said = match (name.as_str(), &limits) {
            ("limits", Ok(Limits { limits })) => Some(keys.limits(limits)?),
            ("limits", Err(_)) => None,
            _ => keys.words(name, &given.value),
        };
        words.extend(said.ok_or_else(|| {
            let (line, found) = (given.referenced.line(), accepted::shown(&given.value));
            format!(
                "line {line}: {name} must be {}, not {found}",
                keys.accepted(name)
            )
        })?);
    }
    let parsed = keys.0.try_get_matches_from(words);
    let parsed = parsed.and_then(|parsed| ServeArgs::from_arg_matches(&parsed));
    Ok(parsed.expect("each was parsed by itself"))
}

/// A text that is no YAML, or that has a key twice.
fn unreadable(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    // What follows is for the library's users.
    let text = text.split(", set DuplicateKeyPolicy").next();
    let text = text.unwrap_or_default();
    let text = match text.split_once("duplicate mapping key: ") {
        Some((_, key)) => format!("`{key}` occurs twice: remove one"),
        None => format!("it is not YAML: {text}"),
    };
    match error.location() {
        Some(place) => format!("line {}: {text}", place.line()),
        None => text,
    }
}

/// Keys and values with their places.
type Placed = BTreeMap<String, Spanned<Value>>;

/// The limits alone, with their places.
#[derive(Deserialize)]
struct Limits {
    limits: Placed,
}

/// The keys of the file, as flags.
struct Keys(Command);

impl Keys {
    fn new() -> Self {
        let flags = ServeArgs::augment_args(Command::new("file").no_binary_name(true));
        // The items of its lists are apart.
        Self(flags.mut_args(|flag| flag.value_delimiter(None)))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.0.get_arguments().map(|flag| flag.get_id().as_str());
        names.filter(|name| !FLAGS_ALONE.contains(name))
    }

    fn flag(&self, name: &str) -> &Arg {
        let mut flags = self.0.get_arguments();
        flags
            .find(|flag| flag.get_id() == name)
            .expect("its name was checked")
    }

    fn check_names(&self, given: &Placed) -> Result<(), String> {
        let mut given = given.iter();
        match given.find(|(name, _)| !self.names().any(|known| known == *name)) {
            None => Ok(()),
            Some((name, given)) => {
                let line = given.referenced.line();
                let hint = match Config::KEYS.iter().any(|key| key.name == name) {
                    true => format!(
                        "; it is a limit, and goes under `limits`, as in limits: {{ {name}: {} }}",
                        given.value
                    ),
                    false => closest(name, self.names()),
                };
                Err(format!("line {line}: there is no setting `{name}`{hint}"))
            }
        }
    }

    /// The words of a command line that say that the key has this value. None if it takes others.
    fn words(&self, name: &str, value: &Value) -> Option<Vec<String>> {
        let flag = self.flag(name);
        let long = flag.get_long()?;
        let word = |value: &Value| Some(format!("--{long}={}", scalar(value)?));
        let words = match (flag.get_action(), value) {
            (ArgAction::Set, one) => vec![word(one)?],
            (ArgAction::Append, Value::Array(all)) => {
                all.iter().map(word).collect::<Option<_>>()?
            }
            (ArgAction::SetTrue, Value::Bool(true)) => vec![format!("--{long}")],
            (ArgAction::SetTrue, Value::Bool(false)) => Vec::new(),
            _ => return None,
        };
        refusal(flag, words.clone()).is_none().then_some(words)
    }

    /// The words of a command line that say that these are the limits.
    fn limits(&self, limits: &Placed) -> Result<Vec<String>, String> {
        let word = |(key, given): (&String, &Spanned<Value>)| {
            let line = given.referenced.line();
            if self.names().any(|name| name == key) {
                return Err(format!(
                    "line {line}: limits: `{key}` is no limit, and goes at the top of the file"
                ));
            }
            let word = format!("--limit={key}={}", given.value);
            let found = accepted::shown(&given.value);
            let checked = limits::checked(key, given.value.clone(), &found);
            checked.map_err(|why| format!("line {line}: limits: {why}"))?;
            Ok(word)
        };
        limits.iter().map(word).collect()
    }

    /// What the key takes.
    fn accepted(&self, name: &str) -> String {
        let flag = self.flag(name);
        let values = flag.get_possible_values();
        let values: Vec<_> = values.iter().map(|value| value.get_name()).collect();
        let placeholder = flag.get_value_names().and_then(|names| names.first());
        match (name, placeholder.map_or("", |name| name.as_str())) {
            ("allow_hosts", _) => "a list, as in [chat.example.org]".into(),
            ("cluster", _) => "a list, as in [nats://10.0.0.1:4222]".into(),
            ("cluster_monitor", _) => "a list, as in [http://10.0.0.1:8222]".into(),
            ("limits", _) => "keys with values, as in { stick_lease: 60s }".into(),
            ("realms", _) => "a list, as in [arena, court=court.example.org]".into(),
            ("toolsets", _) => "a list of pairing, room, breaks".into(),
            (_, "DIR") => "the path of a folder".into(),
            (_, "FILE") => "the path of a file".into(),
            (_, "NAME") => "a name".into(),
            _ if !flag.get_action().takes_values() => "true or false".into(),
            _ if !values.is_empty() => either(&values),
            _ => advice(flag).unwrap_or_else(|| "a time, as in 250ms, 10s, 5m or 1d".into()),
        }
    }
}

/// Why the flag does not take these words of a command line, if it does not.
fn refusal(flag: &Arg, words: Vec<String>) -> Option<clap::Error> {
    let alone = Command::new("file").no_binary_name(true).arg(flag);
    alone.try_get_matches_from(words).err()
}

/// What the parser of the flag says to write, when it is given a text that it never takes.
fn advice(flag: &Arg) -> Option<String> {
    let refusal = refusal(flag, vec![format!("--{}=\0", flag.get_long()?)])?;
    Some(refusal.source()?.to_string().strip_prefix("write ")?.into())
}

/// What a text or a number says.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_line_the_key_and_what_it_takes() {
        for (text, wanted) in [
            (
                "# a server\nlisten: here",
                "line 2: listen must be an address and a port, as in 127.0.0.1:8894, not `here`",
            ),
            (
                "lisen: 127.0.0.1:1",
                "line 1: there is no setting `lisen`; did you mean `listen`?",
            ),
            (
                "allow_hosts: chat.example.org",
                "line 1: allow_hosts must be a list, as in [chat.example.org], not \
                 `chat.example.org`",
            ),
            (
                "grace: 5",
                "line 1: grace must be a time, as in 250ms, 10s, 5m or 1d, not 5",
            ),
            (
                "trust_usernames: maybe",
                "line 1: trust_usernames must be true or false, not `maybe`",
            ),
            (
                "journal_entries: -4",
                "line 1: journal_entries must be a number, or none, not -4",
            ),
            ("log: x", "line 1: log must be pretty or json, not `x`"),
            (
                "log_level: 5",
                "line 1: log_level must be error, warn, info, debug or trace, not 5",
            ),
            (
                "toolsets: [pairing, rooms]",
                "line 1: toolsets must be a list of pairing, room, breaks, not \
                 [\"pairing\",\"rooms\"]",
            ),
            (
                "limits: 5",
                "line 1: limits must be keys with values, as in { stick_lease: 60s }, not 5",
            ),
            (
                "limits:\n  stick: required\n  max_members: many",
                "line 3: limits: max_members must be a whole number from 2 to 65536, not `many`",
            ),
            (
                "limits: { stick_lease: 5 }",
                "line 1: limits: stick_lease must be a time from 1ms to 365d, as in 60s, not 5",
            ),
            (
                "- listen",
                "a file of settings has lines of a key, a colon and a value, as in `grace: 10s`",
            ),
        ] {
            assert_eq!(parse(text).err().as_deref(), Some(wanted), "{text}");
        }
        for text in ["listen: [1", "a: b: c"] {
            let why = parse(text).expect_err(text);
            assert!(
                why.contains("line ") && why.contains("it is not YAML: "),
                "{why}"
            );
            assert!(!why.contains("Policy"), "{why}");
        }
    }

    #[test]
    fn each_key_says_what_it_takes() {
        let keys = Keys::new();
        for name in keys.names() {
            let values = keys.flag(name).get_value_names().unwrap_or_default();
            let is_time = values.first().is_some_and(|value| value.as_str() == "TIME");
            let taken = keys.accepted(name);
            assert!(is_time || !taken.starts_with("a time"), "{name}: {taken}");
        }
    }

    #[test]
    fn a_key_in_another_place_or_twice_is_told_as_such() {
        for (text, wanted) in [
            (
                "boss_alertness: 50",
                "line 1: there is no setting `boss_alertness`; it is a limit, and goes under \
                 `limits`, as in limits: { boss_alertness: 50 }",
            ),
            (
                "limits:\n  grace: 5s",
                "line 2: limits: `grace` is no limit, and goes at the top of the file",
            ),
            (
                "log: json\nlog: pretty",
                "line 2: `log` occurs twice: remove one",
            ),
            (
                "listen: localhost:99999",
                "line 1: listen must be an address and a port, as in 127.0.0.1:8894, not \
                 `localhost:99999`",
            ),
        ] {
            assert_eq!(parse(text).err().as_deref(), Some(wanted), "{text}");
        }
    }

    #[test]
    fn an_empty_file_and_a_key_without_a_value_say_nothing() {
        for text in ["", "# nothing\n", "grace:\n", "limits:\n"] {
            let file = parse(text).expect(text);
            assert!(file.grace.is_none() && file.limits.is_empty(), "{text}");
        }
    }
}
