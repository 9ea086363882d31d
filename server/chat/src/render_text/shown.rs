//! Replaces invisible characters, which can also affect the display of others, by readable escapes
//! such as `\u{200b}`. Only this module decides which characters these are; texts and JSON for
//! models both use it.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;
use unicode_properties::{GeneralCategory, UnicodeEmoji as _, UnicodeGeneralCategory as _};

const JOINER: char = '\u{200d}';
const EMOJI_STYLE: char = '\u{fe0f}';
const KEYCAP: char = '\u{20e3}';

/// The text with each control character as an escape. Line breaks and tabs stay, and so do joiners
/// and selectors within ordinary emoji.
#[must_use]
pub fn shown(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    if text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    // The previous character, unless it was escaped.
    let mut before = None;
    while let Some(c) = chars.next() {
        if steers(c) && !is_within_emoji(before, c, chars.peek().copied()) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
            before = None;
        } else {
            shown.push(c);
            before = Some(c);
        }
    }
    Cow::Owned(shown)
}

/// The text on one line: line breaks and tabs are escaped, too.
#[must_use]
pub fn one_line(text: &str) -> String {
    shown(text).replace('\n', "\\n").replace('\t', "\\t")
}

/// JSON for programs on one line, with each such character as an escape of JSON, which means the same to
/// its reader and does nothing to a terminal.
#[must_use]
pub fn json_line(json: &Value) -> String {
    let mut line = String::new();
    for c in json.to_string().chars() {
        if steers(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(line, "\\u{unit:04x}");
            }
        } else {
            line.push(c);
        }
    }
    line
}

/// Whether the character is invisible, or controls the display of others: controls, format controls
/// (joiners, direction marks, tags), line separators, and all with the property
/// `Default_Ignorable_Code_Point` (fillers and variation selectors).
fn steers(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control() && c != '\n' && c != '\t';
    }
    let is_control = matches!(
        c.general_category(),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
    );
    is_control
        || matches!(
            c,
            '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{2065}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Whether a joiner lies between two emoji, or an emoji style selector follows one or is part of a
/// keycap (Unicode Technical Standard 51, section 1.4). Flags that are spelled in tags are escaped:
/// tags can spell anything.
fn is_within_emoji(before: Option<char>, c: char, after: Option<char>) -> bool {
    let (Some(before), is_picture) = (before, |c: char| !c.is_ascii() && c.is_emoji_char()) else {
        return false;
    };
    match c {
        JOINER => (is_picture(before) || before == EMOJI_STYLE) && after.is_some_and(is_picture),
        EMOJI_STYLE => is_picture(before) || (before.is_emoji_char() && after == Some(KEYCAP)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_spelled_out() {
        for (text, expected) in [
            ("a\u{200b}b", "a\\u{200b}b"),
            ("\u{202e}nnA", "\\u{202e}nnA"),
            ("x\u{e0041}\u{e007f}", "x\\u{e0041}\\u{e007f}"),
            ("x\u{fe0f}", "x\\u{fe0f}"),
            ("1\u{fe0f}2", "1\\u{fe0f}2"),
            ("漢\u{e0100}", "漢\\u{e0100}"),
            ("👩\u{fe0f}\u{fe0f}", "👩\u{fe0f}\\u{fe0f}"),
            ("👩\u{200d}", "👩\\u{200d}"),
            ("👩\u{200d}a", "👩\\u{200d}a"),
            ("a\u{fe0f}\u{200d}👩", "a\\u{fe0f}\\u{200d}👩"),
            ("a\u{2028}b\u{85}c", "a\\u{2028}b\\u{85}c"),
            ("a\u{1b}[2J\r", "a\\u{1b}[2J\\u{d}"),
            (
                "\u{ad}\u{34f}\u{3164}\u{feff}",
                "\\u{ad}\\u{34f}\\u{3164}\\u{feff}",
            ),
        ] {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn what_is_seen_stays() {
        for text in [
            "plain\n\ttext",
            "Zoë, नमस्ते, 漢字, שלום",
            "👩\u{200d}💻",
            "👩🏽\u{200d}🚀",
            "❤\u{fe0f}",
            "🏳\u{fe0f}\u{200d}🌈",
            "👨\u{200d}👩\u{200d}👧",
            "1\u{fe0f}\u{20e3}",
            "🇫🇷 ☕\u{fe0f}",
            "e\u{301}",
        ] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn a_line_of_json_reads_as_the_same_and_steers_nothing() {
        let told = serde_json::json!({ "a\u{202e}": "\u{9b}2J\u{7f}\u{e0041} é 👩\u{200d}💻\n" });
        let line = json_line(&told);
        assert!(!line.chars().any(steers), "{line}");
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), told);
    }

    #[test]
    fn one_line_has_no_breaks() {
        assert_eq!(one_line("a\nb\tc\r\u{2029}"), "a\\nb\\tc\\u{d}\\u{2029}");
    }
}
