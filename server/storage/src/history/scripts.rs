//! Words in scripts without blanks between them, such as Chinese, Japanese and Thai.
//!
//! The index of SQLite takes a run of letters as one word. So each letter of these scripts is a word
//! of its own, in the index and in searches; several are a phrase.

use std::borrow::Cow;

/// The blocks of these scripts in Unicode, first and last.
const BLOCKS: [(char, char); 10] = [
    ('\u{e00}', '\u{eff}'),     // Thai, Lao
    ('\u{1000}', '\u{109f}'),   // Myanmar
    ('\u{1780}', '\u{17ff}'),   // Khmer
    ('\u{3005}', '\u{3007}'),   // 々, 〆 and 〇
    ('\u{3040}', '\u{30ff}'),   // Hiragana, Katakana
    ('\u{31f0}', '\u{31ff}'),   // small Katakana
    ('\u{3400}', '\u{9fff}'),   // Chinese characters
    ('\u{f900}', '\u{faff}'),   // compatible forms of them
    ('\u{ff66}', '\u{ff9f}'),   // narrow Katakana
    ('\u{20000}', '\u{3ffff}'), // rarer Chinese characters
];

/// The text with a blank around each letter of these scripts.
pub(super) fn spaced(text: &str) -> Cow<'_, str> {
    // The first block begins here: most texts have no such letter.
    if text.chars().all(|c| c < '\u{e00}') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        let alone = BLOCKS
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&c));
        match alone {
            true => out.extend([' ', c, ' ']),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::spaced;

    #[test]
    fn letters_of_scripts_without_spaces_are_separate_words() {
        for text in ["", "tea for two", "Grüße, 3 €", "한국어 문장", "привет"] {
            assert_eq!(spaced(text), text);
        }
        assert_eq!(spaced("会議は3時"), " 会  議  は 3 時 ");
        assert_eq!(spaced("ok ไป"), "ok  ไ  ป ");
    }
}
