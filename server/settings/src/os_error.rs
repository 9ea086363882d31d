//! Errors of the operating system in words for people.

use std::io;

/// The reason without the number of the system's error. The texts of this program add what to do.
#[must_use]
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    if text == "stream did not contain valid UTF-8" {
        return "it is not text in UTF-8".into();
    }
    let text = without_number(&text);
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => "the system gives no reason".into(),
    }
}

/// What to do about an error: the advice for its kind, or `otherwise`.
#[must_use]
pub fn advice(
    error: &io::Error,
    known: &[(io::ErrorKind, &'static str)],
    otherwise: &'static str,
) -> &'static str {
    let found = known.iter().find(|(kind, _)| *kind == error.kind());
    found.map_or(otherwise, |(_, advice)| advice)
}

/// A text without the number of the system's error at its end, which a library has put there.
#[must_use]
pub fn without_number(text: &str) -> &str {
    text.split(" (os error ").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_no_number() {
        let missing = std::fs::read("/nonexistent/file").expect_err("it is missing");
        assert!(missing.to_string().contains("os error"));
        assert_eq!(reason(&missing), "no such file or directory");
        let no_text = io::read_to_string(&[0xff_u8][..]).expect_err("it is no text");
        assert_eq!(reason(&no_text), "it is not text in UTF-8");
    }
}
