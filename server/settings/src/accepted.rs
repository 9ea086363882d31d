//! What settings take, in words for people, for flags and the file alike.

use std::net::SocketAddr;

use serde_json::Value;

/// What the address takes.
pub(crate) const ADDRESS: &str = "an address and a port, as in 127.0.0.1:8894";
/// What the address of a PostgreSQL server takes.
pub(crate) const POSTGRES: &str = "an address, as in postgres://chat@db.example.org/chat";
/// What a time takes.
pub(crate) const TIME: &str = "a time, as in 250ms, 10s, 5m or 1d";
/// What an age takes.
pub(crate) const AGE: &str = "a time, as in 90d, or none";
/// What a size on a disk takes.
pub(crate) const BYTES: &str = "a size, as in 512MiB or 2GiB, or none";
/// What a size of memory takes.
pub(crate) const SIZE: &str = "a size from 64MiB on, as in 512MiB or 2GiB, or none";
/// What a number of entries or messages takes.
pub(crate) const COUNT: &str = "a number, or none";
/// The levels of the log.
pub(crate) const LEVELS: &str = "error, warn, info, debug or trace";

/// The largest cool-down of a boss, in seconds: a year, as for all durations.
const MAX_COOLDOWN: u32 = 365 * 24 * 3_600;

/// A level of the log by its name.
pub(crate) fn level(text: &str) -> Option<tracing::Level> {
    // The library takes numbers, too.
    let is_word = text.bytes().all(|byte| byte.is_ascii_alphabetic());
    text.parse().ok().filter(|_| is_word)
}

/// Parses a level of the log on the command line.
///
/// # Errors
/// A sentence that names the levels.
pub(crate) fn level_flag(text: &str) -> Result<tracing::Level, String> {
    level(text).ok_or_else(|| format!("write {LEVELS}"))
}

/// An address and a port. The name `localhost` stands for 127.0.0.1: a server has one address, and
/// other names may have several.
pub(crate) fn address(text: &str) -> Option<SocketAddr> {
    match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}").parse().ok(),
        None => text.parse().ok(),
    }
}

/// Parses the address to listen on.
///
/// # Errors
/// A sentence that names the accepted forms.
pub(crate) fn address_flag(text: &str) -> Result<SocketAddr, String> {
    address(text).ok_or_else(|| format!("write {ADDRESS}"))
}

/// Parses the percentage of breaks that alert the boss.
///
/// # Errors
/// A sentence that names the accepted forms.
pub(crate) fn percent_flag(text: &str) -> Result<u32, String> {
    whole(text, 100)
}

/// Parses the boss's cool-down.
///
/// # Errors
/// A sentence that names the accepted forms.
pub(crate) fn cooldown_flag(text: &str) -> Result<u32, String> {
    whole(text, MAX_COOLDOWN)
}

fn whole(text: &str, most: u32) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| *number <= most);
    number.ok_or_else(|| format!("write a whole number from 0 to {most}"))
}

/// A value as an error shows it.
pub(crate) fn shown(value: &Value) -> String {
    match value.as_str() {
        Some(text) => format!("`{text}`"),
        None => value.to_string(),
    }
}

/// These words, the last after `or`.
pub(crate) fn either(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [word] => (*word).into(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// The end of the error for an unknown name: what was probably meant, or all names.
pub(crate) fn closest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.into_iter().collect();
    let alike = |known: &str| strsim::damerau_levenshtein(name, known);
    let nearest = names.iter().min_by_key(|known| alike(known));
    match nearest.filter(|known| alike(known) <= known.len().div_ceil(3)) {
        Some(known) => format!("; did you mean `{known}`?"),
        None => format!("; there are {}", names.join(", ")),
    }
}
