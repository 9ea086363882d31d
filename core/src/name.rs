//! Names that people and models may bear without passing for one another, or for the server.

use std::sync::Arc;

use unicode_security::confusable_detection::skeleton;

use crate::reject::NameFault;

/// The most characters that a name has.
pub(crate) const MAX_NAME: usize = 64;

/// What only the server is called, folded: `server` and `system`.
const VOICES: [&str; 2] = ["server", "systern"];

/// How names begin that the server gives, folded, and the digits that follow, folded.
const GIVEN: &str = "user_";
const DIGITS: &str = "ol23456789";

/// What a percent sign folds to.
const PERCENT: &str = "°/₀";

/// A name that may be shown, and the form by which two that look alike are equal.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) shown: Arc<str>,
    pub(crate) folded: Box<str>,
}

impl Name {
    /// A participant's display name: one visible line, and not the server's voice.
    pub(crate) fn of_participant(text: &Arc<str>) -> Result<Self, NameFault> {
        let name = Self::of_room(text)?;
        if VOICES.contains(&&*name.folded) {
            return Err(NameFault::Reserved);
        }
        Ok(name)
    }

    /// A room's name: one visible line.
    pub(crate) fn of_room(text: &Arc<str>) -> Result<Self, NameFault> {
        if !is_line(text, MAX_NAME) {
            let length = text.chars().count();
            let fault = if length == 0 || length > MAX_NAME {
                NameFault::Length
            } else {
                NameFault::Characters
            };
            return Err(fault);
        }
        Ok(Self {
            shown: Arc::clone(text),
            folded: fold(text),
        })
    }
}

/// Whether a folded name or id is one of those that the server gives (`user_7`), or would pass for
/// one.
pub(crate) fn is_given(folded: &str) -> bool {
    folded.strip_prefix(GIVEN).is_some_and(|number| {
        !number.is_empty() && number.chars().all(|digit| DIGITS.contains(digit))
    })
}

/// What look-alikes have in common: case and confusable characters folded away
/// (Unicode Technical Standard 39, section 4).
pub(crate) fn fold(text: &str) -> Box<str> {
    if text.is_ascii() {
        return fold_ascii(text);
    }
    fold_any(text)
}

/// The same of ASCII, which most names are, at a twentieth of the cost: none of it decomposes or
/// combines, so that each character folds by itself.
fn fold_ascii(text: &str) -> Box<str> {
    let length = text.bytes().map(|byte| match byte {
        b' ' => 0,
        b'"' | b'm' | b'M' => 2,
        b'%' => PERCENT.len(),
        _ => 1,
    });
    // As long as it will be: to make it shorter afterwards costs more than to count.
    let mut folded = String::with_capacity(length.sum());
    for c in text.chars() {
        match c.to_ascii_lowercase() {
            ' ' => {}
            '0' => folded.push('o'),
            '1' | '|' => folded.push('l'),
            '`' => folded.push('\''),
            '"' => folded.push_str("''"),
            '%' => folded.push_str(PERCENT),
            'm' => folded.push_str("rn"),
            other => folded.push(other),
        }
    }
    folded.into_boxed_str()
}

fn fold_any(text: &str) -> Box<str> {
    let lower: String = text.to_lowercase();
    let bare: String = skeleton(&lower)
        .flat_map(char::to_lowercase)
        .filter(|c| *c != ' ')
        .collect();
    // A second pass: lowering a skeleton can bring back a character that has another look-alike.
    skeleton(&bare).collect::<String>().into_boxed_str()
}

/// Whether a text is one line of 1 to `limit` visible characters with single spaces inside.
pub(crate) fn is_line(text: &str, limit: usize) -> bool {
    if text.is_ascii() {
        return is_ascii_line(text.as_bytes(), limit);
    }
    let count = text.chars().count();
    (1..=limit).contains(&count)
        && text.chars().all(is_visible)
        && !text.starts_with(' ')
        && !text.ends_with(' ')
        && !text.contains("  ")
}

/// The same of ASCII, which most lines are.
fn is_ascii_line(text: &[u8], limit: usize) -> bool {
    (1..=limit).contains(&text.len())
        && text.iter().all(|byte| matches!(byte, b' '..=b'~'))
        && text.first() != Some(&b' ')
        && text.last() != Some(&b' ')
        && !text.windows(2).any(|two| two == b"  ")
}

/// Whether a text says anything at all.
pub(crate) fn has_visible(text: &str) -> bool {
    // Nearly every message begins with a letter; the full test is for those that do not.
    text.chars()
        .any(|c| c.is_ascii_graphic() || (is_visible(c) && c != ' '))
}

/// Whether a character shows, or is a plain space. Characters that only steer how others are
/// shown (joiners, direction marks, fillers, tags) are what look-alikes are made with.
fn is_visible(c: char) -> bool {
    let hidden = matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}'
    );
    !hidden && !c.is_control() && (c == ' ' || !c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> Option<NameFault> {
        Name::of_participant(&text.into()).err()
    }

    #[test]
    fn names_are_one_visible_line() {
        for good in ["Ann", "Ann Lee", "李雷", "Zoë", "🦀", "a"] {
            assert_eq!(fault(good), None, "{good}");
        }
        for bad in [
            "a\nb",
            "a\u{200b}b",
            " a",
            "a ",
            "a  b",
            "a\tb",
            "\u{202e}nnA",
            "a\u{a0}b",
        ] {
            assert_eq!(fault(bad), Some(NameFault::Characters), "{bad:?}");
        }
        assert_eq!(fault(""), Some(NameFault::Length));
        assert_eq!(fault(&"x".repeat(65)), Some(NameFault::Length));
        assert_eq!(fault(&"x".repeat(64)), None);
        let longest_hidden = "\u{200b}".repeat(64);
        assert_eq!(fault(&longest_hidden), Some(NameFault::Characters));
    }

    #[test]
    fn nobody_passes_for_the_server() {
        for bad in [
            "Server",
            "SERVER",
            "system",
            "Systеm",
            "S e r v e r",
            "ѕystem",
            "Ｓｅｒｖｅｒ",
        ] {
            assert_eq!(fault(bad), Some(NameFault::Reserved), "{bad}");
        }
        assert_eq!(fault("Servant"), None);
    }

    #[test]
    fn ascii_folds_as_the_tables_say_alone_and_in_pairs() {
        let ascii = || (0..128u8).map(char::from);
        for first in ascii() {
            assert_eq!(fold(&first.to_string()), fold_any(&first.to_string()));
            for second in ascii() {
                let text = String::from_iter([first, second]);
                assert_eq!(fold(&text), fold_any(&text), "{text:?}");
            }
        }
    }

    #[test]
    fn names_are_the_server_s_when_nothing_but_a_number_follows() {
        for given in ["user_7", "USER_12", "user_0", "user_l"] {
            assert!(is_given(&fold(given)), "{given}");
        }
        for free in ["user_", "user_bob", "user_7b", "user", "7"] {
            assert!(!is_given(&fold(free)), "{free}");
        }
    }

    #[test]
    fn what_is_written_down_folded_is_what_folds_to_it() {
        assert_eq!(["server", "system"].map(fold), VOICES.map(Box::from));
        assert_eq!(*fold("user_"), *GIVEN);
        assert_eq!(*fold("0123456789"), *DIGITS);
    }

    /// Whether `is_line` says of ASCII what it says of the same text among others, as one whose
    /// last character is not ASCII is.
    #[test]
    fn lines_of_ascii_are_judged_as_all_others_are() {
        let ascii = || (0..128u8).map(char::from);
        for first in ascii() {
            for second in ascii() {
                let text = String::from_iter(['a', first, second]);
                let longer = format!("{text}ä");
                assert_eq!(
                    is_line(&format!("{text}a"), 4),
                    is_line(&longer, 4),
                    "{text:?}"
                );
                let turned = format!("ä{second}{first}");
                let plain = format!("a{second}{first}");
                assert_eq!(is_line(&plain, 3), is_line(&turned, 3), "{plain:?}");
            }
        }
        for (text, limit) in [("", 3), ("abc", 2), ("abc", 3), (" ", 3), (" a", 3)] {
            assert_eq!(
                is_line(text, limit),
                text == "abc" && limit == 3,
                "{text:?}"
            );
        }
    }

    #[test]
    fn look_alikes_are_one_name() {
        assert_eq!(fold("Ann"), fold("ANN"));
        assert_eq!(fold("paypal"), fold("рaypal"));
        assert_ne!(fold("Ann"), fold("Anna"));
    }

    #[test]
    fn blank_messages_say_nothing() {
        assert!(!has_visible(" \u{200b}\n\t"));
        assert!(has_visible(" .") && has_visible("é"));
    }
}
