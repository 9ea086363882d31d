//! Lines of text and visible characters.

use crate::reject::LineFault;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

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

/// What keeps a text from being such a line.
pub(crate) fn line_fault(text: &str, limit: usize) -> Option<LineFault> {
    // Nearly every text is a line, and is looked at once.
    if is_line(text, limit) {
        return None;
    }
    let count = text.chars().count();
    Some(match count {
        0 => LineFault::Empty,
        _ if count > limit => LineFault::Long,
        _ if !text.chars().all(is_visible) => LineFault::Hidden,
        _ => LineFault::Spaces,
    })
}

/// Whether an ASCII text is such a line. Most texts are ASCII, where each visible byte is a
/// character.
fn is_ascii_line(text: &[u8], limit: usize) -> bool {
    (1..=limit).contains(&text.len())
        && text.iter().all(|byte| matches!(byte, b' '..=b'~'))
        && text.first() != Some(&b' ')
        && text.last() != Some(&b' ')
        && !text.windows(2).any(|two| two == b"  ")
}

/// Whether a text has a visible character.
pub(crate) fn has_visible(text: &str) -> bool {
    // Nearly every message begins with a visible ASCII character. The full test is for the others.
    text.chars()
        .any(|c| c.is_ascii_graphic() || (is_visible(c) && c != ' '))
}

/// Whether a character is visible, or is a plain space. Characters that only control the display of
/// others (joiners, direction marks, fillers, tags) serve to make look-alikes.
fn is_visible(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    let steers = matches!(
        c.general_category(),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::SpaceSeparator
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
    );
    !steers && !is_ignorable(c)
}

/// Whether the character has the property `Default_Ignorable_Code_Point` without being a format
/// control, or is the braille pattern without a dot.
fn is_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{2065}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the ASCII path of `is_line` with the general one, by appending a character that is
    /// not ASCII.
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
    fn control_characters_are_not_visible() {
        for hidden in [
            "\u{ad}",
            "\u{70f}",
            "\u{600}",
            "\u{110bd}",
            "\u{200d}",
            "\u{2066}",
            "\u{fe0f}",
            "\u{e0041}",
            "\u{2028}",
            "\u{a0}",
            "\u{85}",
        ] {
            assert!(!is_line(hidden, 9) && !has_visible(hidden), "{hidden:?}");
        }
        for shown in ["é", "🦀", "\u{301}", "漢", "\u{e000}", "—"] {
            assert!(is_line(shown, 9) && has_visible(shown), "{shown:?}");
        }
    }

    #[test]
    fn blank_messages_say_nothing() {
        assert!(!has_visible(" \u{200b}\n\t"));
        assert!(has_visible(" .") && has_visible("é"));
    }

    #[test]
    fn a_text_that_is_no_line_says_why() {
        for (text, fault) in [
            ("ab c", None),
            ("", Some(LineFault::Empty)),
            ("abcde", Some(LineFault::Long)),
            ("a\nb", Some(LineFault::Hidden)),
            ("a\u{200b}b", Some(LineFault::Hidden)),
            (" a", Some(LineFault::Spaces)),
            ("a  b", Some(LineFault::Spaces)),
        ] {
            assert_eq!(line_fault(text, 4), fault, "{text:?}");
        }
    }
}
