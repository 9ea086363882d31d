//! The words of texts and of searches, the same in `history.db` and in its copy: runs of letters and
//! digits, in lower case, without accents, and each letter of a script without blanks by itself.
//!
//! The indices have each word with its room before it, as in `7xtea`: a search looks up the words of
//! its reader's rooms, and does no work on those of others. A room has few words that begin with the
//! same letters, so no further index of beginnings is needed.
//!
//! The index of SQLite takes a run of letters as one word. So each letter of scripts without blanks between
//! words, such as Chinese, Japanese and Thai, is a word of its own, in the index and in searches; several are a
//! phrase.

use std::borrow::Cow;
use std::cell::LazyCell;
#[cfg(feature = "postgres")]
use std::collections::BTreeMap;
#[cfg(feature = "postgres")]
use std::fmt::Write as _;

use chat_core::RoomId;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// The blocks of scripts without blanks in Unicode, first and last.
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

/// PostgreSQL takes no later place of a word in a text.
#[cfg(feature = "postgres")]
const LAST_PLACE: usize = 16_383;

/// PostgreSQL takes no more places of one word.
#[cfg(feature = "postgres")]
const PLACES: usize = 255;

/// The longest word in bytes. PostgreSQL refuses those of 2,048 and more.
const LONGEST: usize = 1_024;

/// The text with a blank around each letter of these scripts.
fn spaced(text: &str) -> Cow<'_, str> {
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

/// The words of a text, in order.
fn words(text: &str) -> Vec<String> {
    let spaced = spaced(text);
    let plain = spaced.nfd().filter(|c| !is_combining_mark(*c));
    let plain: String = plain.flat_map(char::to_lowercase).collect();
    plain
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| word[..word.floor_char_boundary(LONGEST)].to_owned())
        .collect()
}

/// The words of a text for FTS5, each with the number of its room.
pub(super) fn scoped(room: i64, text: &str) -> String {
    let words = words(text).into_iter();
    let words: Vec<_> = words.map(|word| format!("{room}x{word}")).collect();
    words.join(" ")
}

/// The literal of a `tsvector`: each word with the number of its room, and its places.
#[cfg(feature = "postgres")]
pub(super) fn vector(room: i64, text: &str) -> String {
    let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, word) in words(text).into_iter().enumerate() {
        let places = places.entry(word).or_default();
        if places.len() < PLACES {
            places.push((index + 1).min(LAST_PLACE));
        }
    }
    let mut literal = String::new();
    for (word, places) in places {
        // A word has letters and digits alone.
        let places: Vec<String> = places.iter().map(ToString::to_string).collect();
        let _ = write!(literal, "'{room}x{word}':{} ", places.join(","));
    }
    literal
}

/// The words of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryWords(Vec<Phrase>);

/// What stood between two blanks: words that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Phrase {
    words: Vec<String>,
    /// The last word may be the beginning of one.
    is_open: bool,
}

impl QueryWords {
    /// The largest number of words.
    pub const MOST: usize = 16;

    /// The words of this text: its parts between blanks with a letter or a digit. None if there is
    /// none, or too many.
    pub fn new(text: &str) -> Option<Self> {
        let parts = text.split(|c: char| c.is_whitespace() || c.is_control());
        let phrases = parts.map(|part| {
            let words = words(part);
            // Too many words begin with a very short one.
            let is_open = words.last().is_some_and(|last| last.len() >= 3);
            Phrase { words, is_open }
        });
        let phrases: Vec<_> = phrases.filter(|phrase| !phrase.words.is_empty()).collect();
        (1..=Self::MOST)
            .contains(&phrases.len())
            .then_some(Self(phrases))
    }

    /// The words of a text that has more than letters, digits and blanks, of which the rest is not
    /// looked for.
    pub fn left_of(text: &str) -> Option<String> {
        let is_more = text
            .chars()
            .any(|c| !c.is_alphanumeric() && !c.is_whitespace());
        is_more.then(|| words(text).join(" "))
    }

    /// The query of FTS5 for one room: all words, in any order. A word is a quoted string of letters
    /// and digits.
    pub(super) fn in_room(&self, room: RoomId) -> String {
        let phrases = self.0.iter().map(|phrase| {
            let end = if phrase.is_open { "*" } else { "" };
            let words = phrase.words.iter();
            let words: Vec<_> = words.map(|word| format!("\"{}x{word}\"", room.0)).collect();
            words.join(" ") + end
        });
        let phrases: Vec<_> = phrases.collect();
        phrases.join(" ")
    }

    /// Whether the words that follow each other in the query do so in a text that has them all.
    pub(super) fn follow_in(&self, text: &str) -> bool {
        let said = LazyCell::new(|| words(text));
        let mut phrases = self.0.iter().filter(|phrase| phrase.words.len() > 1);
        phrases.all(|phrase| phrase.is_in(&said))
    }

    /// The literal of a `tsquery` for these rooms.
    #[cfg(feature = "postgres")]
    pub(super) fn in_rooms(&self, rooms: &[i64]) -> String {
        let rooms = rooms.iter().map(|room| {
            let phrases = self.0.iter().map(|phrase| {
                let end = if phrase.is_open { ":*" } else { "" };
                let words = phrase.words.iter();
                let words: Vec<_> = words.map(|word| format!("'{room}x{word}'")).collect();
                format!("({}{end})", words.join(" <-> "))
            });
            let phrases: Vec<_> = phrases.collect();
            format!("({})", phrases.join(" & "))
        });
        let rooms: Vec<_> = rooms.collect();
        rooms.join(" | ")
    }
}

impl Phrase {
    fn is_in(&self, said: &[String]) -> bool {
        let (words, last) = (&self.words, self.words.len() - 1);
        said.windows(words.len()).any(|place| match self.is_open {
            true => place[..last] == words[..last] && place[last].starts_with(&words[last]),
            false => place == words,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> QueryWords {
        QueryWords::new(text).expect("words")
    }

    #[test]
    fn letters_of_scripts_without_spaces_are_separate_words() {
        for text in ["", "tea for two", "Grüße, 3 €", "한국어 문장", "привет"] {
            assert_eq!(spaced(text), text);
        }
        assert_eq!(spaced("会議は3時"), " 会  議  は 3 時 ");
        assert_eq!(spaced("ok ไป"), "ok  ไ  ป ");
    }

    #[test]
    fn words_are_letters_and_digits_with_their_room() {
        assert_eq!(
            words("Grüße, O'Neil: a-b 3€"),
            ["gruße", "o", "neil", "a", "b", "3"]
        );
        assert_eq!(words("会議は3時"), ["会", "議", "は", "3", "時"]);
        let long = "é".repeat(3_000);
        assert_eq!(words(&long)[0].len(), LONGEST);
        assert_eq!(scoped(7, "Tea, 4x"), "7xtea 7x4x");
    }

    #[test]
    fn a_query_is_words_and_no_syntax() {
        let of = |text: &str| query(text).in_room(RoomId(7));
        assert_eq!(
            of("tea OR \"room : (1)\" NOT*"),
            "\"7xtea\"* \"7xor\" \"7xroom\"* \"7x1\" \"7xnot\"*"
        );
        assert_eq!(of("a\0b"), "\"7xa\" \"7xb\"");
        assert_eq!(of("O'Neil"), "\"7xo\" \"7xneil\"*");
        for none in ["", " \t", "*", "\" ^ -", &"w ".repeat(17)] {
            assert_eq!(QueryWords::new(none), None, "{none}");
        }
    }

    #[test]
    fn what_is_no_letter_lengthens_no_word_and_is_told() {
        assert_eq!(query("c++").in_room(RoomId(7)), "\"7xc\"");
        assert_eq!(
            QueryWords::left_of("C++ tea-time"),
            Some("c tea time".into())
        );
        assert_eq!(QueryWords::left_of("Grüße 会議 3"), None);
    }

    #[test]
    fn words_of_one_part_follow_each_other() {
        let follow = |asked: &str, text: &str| query(asked).follow_in(text);
        assert!(follow("tea-time", "at Tea Timers"));
        assert!(!follow("tea-time", "time for tea"));
        assert!(follow("tea time", "time for tea"));
        assert!(follow("会議", "明日の会議は") && !follow("会議", "議会"));
        assert!(!follow("a-b c-d", "a b d c") && follow("a-b c-d", "c d a b"));
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn postgresql_takes_the_same_words() {
        assert_eq!(vector(7, "tea for tea"), "'7xfor':2 '7xtea':1,3 ");
        assert_eq!(vector(7, "'); DROP\0 TABLE"), "'7xdrop':1 '7xtable':2 ");
        assert_eq!(
            vector(7, &"a ".repeat(20_000)).matches(',').count(),
            PLACES - 1
        );
        assert_eq!(
            query("会議 O'Neil | !x").in_rooms(&[1, 2]),
            "(('1x会' <-> '1x議':*) & ('1xo' <-> '1xneil':*) & ('1xx')) | \
             (('2x会' <-> '2x議':*) & ('2xo' <-> '2xneil':*) & ('2xx'))"
        );
    }
}
