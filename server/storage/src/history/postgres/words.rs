//! The words of a text for PostgreSQL, as the index of `history.db` has them: runs of letters and
//! digits, in lower case, without accents, and each letter of a script without blanks by itself.
//!
//! PostgreSQL's own parser takes addresses and numbers for words of other kinds, so it is not used:
//! texts are handed over as finished vectors and queries.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::history::past::QueryWords;
use crate::history::scripts::spaced;

/// PostgreSQL takes no later place of a word in a text.
const LAST_PLACE: usize = 16_383;

/// PostgreSQL takes no more places of one word.
const PLACES: usize = 255;

/// The longest word in bytes. PostgreSQL refuses those of 2,048 and more.
const LONGEST: usize = 1_024;

/// The words of a text, in order.
fn words(text: &str) -> Vec<String> {
    let spaced = spaced(text);
    let plain = spaced.nfd().filter(|c| !is_combining_mark(*c));
    let plain: String = plain.flat_map(char::to_lowercase).collect();
    plain
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| {
            let mut end = word.len().min(LONGEST);
            while !word.is_char_boundary(end) {
                end -= 1;
            }
            word[..end].to_owned()
        })
        .collect()
}

/// The literal of a `tsvector`: each word with its places.
pub(super) fn vector(text: &str) -> String {
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
        let _ = write!(literal, "'{word}':{} ", places.join(","));
    }
    literal
}

/// The literal of a `tsquery`: all words, each a phrase whose last word may be the beginning of one,
/// unless it is very short. `None` if nothing can match.
pub(super) fn query(query: &QueryWords) -> Option<String> {
    let phrases = query.words().map(|word| {
        let end = if word.len() < 3 { "" } else { ":*" };
        let words = words(word);
        let (last, before) = words.split_last()?;
        let mut phrase = String::from("(");
        for word in before {
            let _ = write!(phrase, "'{word}' <-> ");
        }
        let _ = write!(phrase, "'{last}'{end})");
        Some(phrase)
    });
    let phrases: Option<Vec<String>> = phrases.collect();
    phrases.map(|phrases| phrases.join(" & "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_file_s_index() {
        assert_eq!(
            words("Grüße, O'Neil: a-b 3€"),
            ["gruße", "o", "neil", "a", "b", "3"]
        );
        assert_eq!(words("会議は3時"), ["会", "議", "は", "3", "時"]);
        assert_eq!(vector("tea for tea"), "'for':2 'tea':1,3 ");
        assert_eq!(vector("'); DROP\0 TABLE"), "'drop':1 'table':2 ");
        assert_eq!(
            vector(&"a ".repeat(20_000)).matches(',').count(),
            PLACES - 1
        );
        let long = "é".repeat(3_000);
        assert_eq!(words(&long)[0].len(), LONGEST);
    }

    #[test]
    fn a_query_is_words_and_no_syntax() {
        let query = |text: &str| query(&QueryWords::new(text).expect("words"));
        assert_eq!(query("tea | !x").as_deref(), Some("('tea':*) & ('x')"));
        assert_eq!(
            query("会議 O'Neil").as_deref(),
            Some("('会' <-> '議':*) & ('o' <-> 'neil':*)")
        );
    }
}
