//! What settings take, in words for people, for flags and the file alike.

use std::net::SocketAddr;
use std::ops::RangeInclusive;

use serde_json::Value;

/// Parses a level of the log.
///
/// # Errors
/// A sentence that names the levels.
pub(crate) fn level(text: &str) -> Result<tracing::Level, &'static str> {
    // The library takes numbers, too.
    let is_word = text.bytes().all(|byte| byte.is_ascii_alphabetic());
    let level = text.parse().ok().filter(|_| is_word);
    level.ok_or("write error, warn, info, debug or trace")
}

/// Parses an address and a port. The name `localhost` stands for 127.0.0.1: a server has one address,
/// and other names may have several.
///
/// # Errors
/// A sentence that names the accepted forms.
pub(crate) fn address(text: &str) -> Result<SocketAddr, &'static str> {
    let address = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}").parse(),
        None => text.parse(),
    };
    address.map_err(|_| "write an address and a port, as in 127.0.0.1:8894")
}

/// A parser of whole numbers in this range.
pub(crate) fn whole(range: RangeInclusive<u32>) -> impl Fn(&str) -> Result<u32, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let (least, most) = (range.start(), range.end());
        number.ok_or_else(|| format!("write a whole number from {least} to {most}"))
    }
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
