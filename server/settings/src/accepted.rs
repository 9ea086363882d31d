//! What settings take, in words for people, for flags and the file alike.

use std::net::SocketAddr;
use std::ops::RangeInclusive;

use chat_types::Span;
use chat_types::config::Limit;
use serde_json::Value;

/// The units of a written size.
const UNITS: [(&str, u32); 4] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];

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

/// What a text says that is this limit, or `none`. `what` is what else one may write.
pub(crate) fn limit<T>(text: &str, limit: Option<T>, what: &str) -> Result<Limit<T>, String> {
    match (text, limit) {
        ("none", _) => Ok(Limit::None),
        (_, Some(limit)) => Ok(Limit::At(limit)),
        (_, None) => Err(format!("write {what}, or none")),
    }
}

/// Parses a limit of an age.
pub(crate) fn age(text: &str) -> Result<Limit<Span>, String> {
    limit(text, Span::parse(text).ok(), "a time, as in 90d")
}

/// Parses a limit of a number.
pub(crate) fn count(text: &str) -> Result<Limit<u64>, String> {
    limit(text, text.parse().ok(), "a number")
}

/// Parses a limit of a size in bytes.
pub(crate) fn size(text: &str) -> Result<Limit<u64>, String> {
    limit(text, bytes_of(text), "a size, as in 512MiB or 2GiB")
}

/// The bytes of a size with its unit.
pub(crate) fn bytes_of(text: &str) -> Option<u64> {
    UNITS.iter().find_map(|(unit, shift)| {
        let number: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        number.checked_mul(1 << shift)
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_texts_or_none() {
        let day = Span::secs(24 * 3_600);
        assert_eq!(age("90d"), Ok(Limit::At(day.times(90))));
        assert_eq!(age("none"), Ok(Limit::None));
        assert_eq!(count("1000"), Ok(Limit::At(1_000)));
        assert_eq!(size("2GiB"), Ok(Limit::At(2 << 30)));
        assert!(size("2").unwrap_err().contains("2GiB"));
        assert!(count("many").unwrap_err().contains("none"));
        assert!(age("soon").is_err());
    }
}
