//! The settings' file. Each key is read by itself, so that an error names the line, the key, what it
//! takes and what it was given.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use chat_types::{Config, Span};
use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;

use super::SettingsError;
use super::limits::{self, GivenLimit};
use crate::accepted::{self, closest};
use crate::cli::{LogForm, ReadsRule};
use crate::named_file;
use crate::{Bytes, Durability, Keep, MemoryLimit, Realm, ServerUrl, Toolset};

/// The keys of the file, each equal to a flag.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) listen: Option<SocketAddr>,
    pub(super) allow_hosts: Vec<String>,
    pub(super) auth_tokens: Option<PathBuf>,
    pub(super) operator_tokens: Option<PathBuf>,
    pub(super) toolsets: Vec<Toolset>,
    pub(super) no_output_schemas: bool,
    pub(super) trust_usernames: bool,
    pub(super) grace: Option<Span>,
    pub(super) memory_limit: Option<MemoryLimit>,
    pub(super) data: Option<PathBuf>,
    pub(super) in_memory: bool,
    pub(super) cluster: Vec<String>,
    pub(super) cluster_credentials: Option<PathBuf>,
    pub(super) cluster_ca: Option<PathBuf>,
    pub(super) realms: Vec<Realm>,
    pub(super) cluster_realm: Option<String>,
    pub(super) cluster_member: Option<String>,
    pub(super) cluster_monitor: Vec<String>,
    pub(super) cluster_trust_servers: bool,
    pub(super) reads: Option<ReadsRule>,
    pub(super) journal_entries: Option<Keep<u64>>,
    pub(super) journal_bytes: Option<Keep<Bytes>>,
    pub(super) disk_reserve: Option<Keep<Bytes>>,
    pub(super) history_bytes: Option<Keep<Bytes>>,
    pub(super) durability: Option<Durability>,
    pub(super) history: Option<ServerUrl>,
    pub(super) history_age: Option<Keep<Span>>,
    pub(super) history_messages: Option<Keep<u64>>,
    pub(super) limits: Vec<GivenLimit>,
    pub(super) log: Option<LogForm>,
    pub(super) log_level: Option<tracing::Level>,
    pub(super) access_log: bool,
}

/// The names of the keys.
const KEYS: [&str; 32] = [
    "listen",
    "allow_hosts",
    "auth_tokens",
    "operator_tokens",
    "toolsets",
    "no_output_schemas",
    "trust_usernames",
    "grace",
    "memory_limit",
    "data",
    "in_memory",
    "cluster",
    "cluster_credentials",
    "cluster_ca",
    "realms",
    "cluster_realm",
    "cluster_member",
    "cluster_monitor",
    "cluster_trust_servers",
    "reads",
    "journal_entries",
    "journal_bytes",
    "disk_reserve",
    "durability",
    "history",
    "history_age",
    "history_messages",
    "history_bytes",
    "limits",
    "log",
    "log_level",
    "access_log",
];

impl File {
    /// Reads the file.
    ///
    /// # Errors
    /// It cannot be read, or says what no setting is.
    pub(super) fn read(path: &Path) -> Result<Self, SettingsError> {
        let text = named_file::read(path).map_err(|error| SettingsError::Unreadable {
            path: path.into(),
            error,
        })?;
        Self::parse(&text).map_err(|error| SettingsError::Malformed {
            path: path.into(),
            error,
        })
    }

    fn parse(text: &str) -> Result<Self, String> {
        // A text without values is null.
        match serde_saphyr::from_str(text).map_err(|error| unreadable(&error))? {
            Value::Null => return Ok(Self::default()),
            Value::Object(_) => {}
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(
                    "a file of settings has lines of a key, a colon and a value, as in \
                            `grace: 10s`"
                        .into(),
                );
            }
        }
        let places = serde_saphyr::from_str(text).map_err(|error| unreadable(&error))?;
        let limits = serde_saphyr::from_str(text);
        let mut keys = Keys(places);
        keys.check_names()?;
        Ok(Self {
            listen: keys.text("listen", accepted::ADDRESS, accepted::address)?,
            allow_hosts: keys.list("allow_hosts", "a list, as in [chat.example.org]", own)?,
            auth_tokens: keys.path("auth_tokens", "the path of a file")?,
            operator_tokens: keys.path("operator_tokens", "the path of a file")?,
            toolsets: keys.list("toolsets", "a list of pairing, room, breaks", |text| {
                text.parse().ok()
            })?,
            no_output_schemas: keys.switch("no_output_schemas")?,
            trust_usernames: keys.switch("trust_usernames")?,
            grace: keys.text("grace", accepted::TIME, |text| Span::parse(text).ok())?,
            memory_limit: keys.text("memory_limit", accepted::SIZE, |text| text.parse().ok())?,
            data: keys.path("data", "the path of a folder")?,
            in_memory: keys.switch("in_memory")?,
            cluster: keys.list("cluster", "a list, as in [nats://10.0.0.1:4222]", own)?,
            cluster_credentials: keys.path("cluster_credentials", "the path of a file")?,
            cluster_ca: keys.path("cluster_ca", "the path of a file")?,
            realms: keys.list(
                "realms",
                "a list, as in [arena, court=court.example.org]",
                |text| text.parse().ok(),
            )?,
            cluster_realm: keys.text("cluster_realm", "a name", own)?,
            cluster_member: keys.text("cluster_member", "a name", own)?,
            cluster_monitor: keys.list(
                "cluster_monitor",
                "a list, as in [http://10.0.0.1:8222]",
                own,
            )?,
            cluster_trust_servers: keys.switch("cluster_trust_servers")?,
            reads: keys.word("reads")?,
            journal_entries: keys
                .text("journal_entries", accepted::COUNT, |text| text.parse().ok())?,
            journal_bytes: keys.text("journal_bytes", accepted::BYTES, |text| text.parse().ok())?,
            disk_reserve: keys.text("disk_reserve", accepted::BYTES, |text| text.parse().ok())?,
            history_bytes: keys.text("history_bytes", accepted::BYTES, |text| text.parse().ok())?,
            durability: keys.word("durability")?,
            history: keys.text("history", accepted::POSTGRES, |text| text.parse().ok())?,
            history_age: keys.text("history_age", accepted::AGE, |text| text.parse().ok())?,
            history_messages: keys.text("history_messages", accepted::COUNT, |text| {
                text.parse().ok()
            })?,
            limits: keys.limits(limits)?,
            log: keys.word("log")?,
            log_level: keys.text("log_level", accepted::LEVELS, accepted::level)?,
            access_log: keys.switch("access_log")?,
        })
    }
}

/// Any text.
#[expect(clippy::unnecessary_wraps, reason = "other readers refuse some texts")]
fn own(text: &str) -> Option<String> {
    Some(text.into())
}

/// A text that is no YAML, or that has a key twice.
fn unreadable(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    // What follows is for the library's users.
    let text = text.split(", set DuplicateKeyPolicy").next();
    let text = text.unwrap_or_default();
    let text = match text.split_once("duplicate mapping key: ") {
        Some((_, key)) => format!("`{key}` is there twice: leave one out"),
        None => format!("it is no YAML: {text}"),
    };
    match error.location() {
        Some(place) => format!("line {}: {text}", place.line()),
        None => text,
    }
}

/// The limits alone, with their places.
#[derive(Deserialize)]
struct Limits {
    limits: BTreeMap<String, Spanned<Value>>,
}

/// The given keys with their places. A key that is null counts as absent.
struct Keys(BTreeMap<String, Spanned<Value>>);

impl Keys {
    fn check_names(&self) -> Result<(), String> {
        let unknown = |(name, _): &(&String, &Spanned<Value>)| !KEYS.contains(&name.as_str());
        match self.0.iter().find(unknown) {
            None => Ok(()),
            Some((name, given)) => {
                let line = given.referenced.line();
                let hint = match Config::KEYS.iter().any(|key| key.name == name) {
                    true => format!(
                        "; it is a limit, and goes under `limits`, as in limits: {{ {name}: {} }}",
                        given.value
                    ),
                    false => closest(name, KEYS),
                };
                Err(format!("line {line}: there is no setting `{name}`{hint}"))
            }
        }
    }

    fn read<T>(
        &mut self,
        name: &str,
        accepted: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>, String> {
        let given = self.0.get(name).filter(|given| !given.value.is_null());
        let Some(given) = given else { return Ok(None) };
        read(&given.value).map(Some).ok_or_else(|| {
            let (line, found) = (given.referenced.line(), accepted::shown(&given.value));
            format!("line {line}: {name} must be {accepted}, not {found}")
        })
    }

    /// The value of a key that is written as a text or a number.
    fn text<T>(
        &mut self,
        name: &str,
        accepted: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, String> {
        self.read(name, accepted, |value| read(&scalar(value)?))
    }

    fn path(&mut self, name: &str, accepted: &str) -> Result<Option<PathBuf>, String> {
        self.text(name, accepted, |text| Some(text.into()))
    }

    fn word<T: clap::ValueEnum>(&mut self, name: &str) -> Result<Option<T>, String> {
        let words: Vec<_> = T::value_variants()
            .iter()
            .filter_map(T::to_possible_value)
            .map(|word| word.get_name().to_owned())
            .collect();
        self.text(name, &words.join(" or "), |text| {
            T::from_str(text, false).ok()
        })
    }

    fn switch(&mut self, name: &str) -> Result<bool, String> {
        let given = self.read(name, "true or false", Value::as_bool)?;
        Ok(given.unwrap_or(false))
    }

    fn list<T>(
        &mut self,
        name: &str,
        accepted: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, String> {
        let item = |value: &Value| read(&scalar(value)?);
        let list = |value: &Value| value.as_array()?.iter().map(item).collect();
        Ok(self.read(name, accepted, list)?.unwrap_or_default())
    }

    fn limits(
        &mut self,
        places: Result<Limits, serde_saphyr::Error>,
    ) -> Result<Vec<GivenLimit>, String> {
        let accepted = "keys with values, as in { stick_lease: 60s }";
        let map = self.read("limits", accepted, |value| value.as_object().cloned())?;
        let (Some(_), Ok(Limits { limits })) = (map, places) else {
            return Ok(Vec::new());
        };
        let checked = limits.into_iter().map(|(key, given)| {
            let line = given.referenced.line();
            let found = accepted::shown(&given.value);
            if KEYS.contains(&key.as_str()) {
                return Err(format!(
                    "line {line}: limits: `{key}` is no limit, and goes at the top of the file"
                ));
            }
            limits::checked(&key, given.value, &found)
                .map_err(|why| format!("line {line}: limits: {why}"))
        });
        checked.collect()
    }
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
            assert_eq!(File::parse(text).err().as_deref(), Some(wanted), "{text}");
        }
        for text in ["listen: [1", "a: b: c"] {
            let why = File::parse(text).expect_err(text);
            assert!(
                why.contains("line ") && why.contains("it is no YAML: "),
                "{why}"
            );
            assert!(!why.contains("Policy"), "{why}");
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
                "line 2: `log` is there twice: leave one out",
            ),
            (
                "listen: localhost:99999",
                "line 1: listen must be an address and a port, as in 127.0.0.1:8894, not \
                 `localhost:99999`",
            ),
        ] {
            assert_eq!(File::parse(text).err().as_deref(), Some(wanted), "{text}");
        }
    }

    #[test]
    fn an_empty_file_and_a_key_without_a_value_say_nothing() {
        for text in ["", "# nothing\n", "grace:\n", "limits:\n"] {
            let file = File::parse(text).expect(text);
            assert!(file.grace.is_none() && file.limits.is_empty(), "{text}");
        }
    }
}
