//! Texts beyond ASCII: words of many scripts, and arbitrary characters.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use chat_types::mix;

use sim_model::plan::Alphabet;
use sim_model::protocol::Agent;

/// Words of many scripts, some written from right to left, some with combining marks.
const WORDS: &str = "naïve Straße smörgåsbord Ænigma İstanbul привет ЁЖИК Ελλάδα ὀδύσσεια שלום مرحبا \
    नमस्ते ประเทศไทย こんにちは カタカナ 漢字 한국어 ქართული አማርኛ e\u{301}clair q\u{307}\u{323} Ｆｕｌｌ ﬁne 🦀";

/// Characters that are easily mishandled: marks without a base, emoji and their joiners, direction
/// marks, zero-width spaces, the ends of the planes, controls, and characters that JSON must
/// escape.
const ODD: &str = "aZ0 .éßıİжΩשمन\u{e48}漢한\u{301}\u{327}\u{20dd}🦀👩\u{200d}\u{fe0f}🇫🇷\u{202e}\u{200f}\
    \u{200b}\u{feff}𝔘𠜎\u{ffff}\u{10ffff}\u{1}\u{7f}\t\n\"\\";

/// Both taken apart: to walk through the whole string for each character of a text would cost more
/// than the rest of the text.
static WORD_LIST: LazyLock<Vec<&str>> = LazyLock::new(|| WORDS.split(' ').collect());
static ODD_LIST: LazyLock<Vec<char>> = LazyLock::new(|| ODD.chars().collect());

/// A text of exactly `length` characters. Like ASCII texts, it begins with the numbers of its
/// speaker and of the text.
pub(super) fn text(alphabet: Alphabet, agent: Agent, count: u32, length: usize) -> Arc<str> {
    let mut said = String::with_capacity(length.saturating_mul(3).min(1 << 20));
    // Writing to a string cannot fail.
    let _ = write!(said, "{}.{} ", agent.0, count);
    let mut so_far = said.len();
    let seed = mix(u64::from(agent.0), u64::from(count));
    let mut drawn = 0;
    while so_far < length {
        drawn += 1;
        let bits = mix(seed, drawn);
        match alphabet {
            Alphabet::Words => {
                let word = word(bits);
                said.push_str(word);
                said.push(' ');
                so_far += word.chars().count() + 1;
            }
            Alphabet::Unicode => {
                said.push(pick(ODD_LIST.iter().copied(), bits));
                so_far += 1;
            }
        }
    }
    first(&said, length).into()
}

/// A word of some script, chosen by these bits.
pub(super) fn word(bits: u64) -> &'static str {
    pick(WORD_LIST.iter().copied(), bits)
}

/// An element of a list, chosen by these bits.
pub(super) fn pick<T: Default>(mut from: impl Iterator<Item = T> + Clone, bits: u64) -> T {
    // The remainder is below the length.
    let index = usize::try_from(bits % from.clone().count() as u64).unwrap_or(0);
    from.nth(index).unwrap_or_default()
}

/// The first `length` characters of a text.
pub(super) fn first(text: &str, length: usize) -> &str {
    let end = text.char_indices().nth(length).map(|(end, _)| end);
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unicode_texts_have_the_requested_length() {
        for alphabet in [Alphabet::Words, Alphabet::Unicode] {
            for length in [0, 1, 4, 5, 40, 200, 201, 2_000] {
                let said = text(alphabet, Agent(12), 3, length);
                assert_eq!(said.chars().count(), length, "{alphabet:?}");
            }
            let long = text(alphabet, Agent(12), 3, 200);
            assert!(long.starts_with("12.3 ") && long.len() > 260, "{long:?}");
        }
    }

    #[test]
    fn draws_choose_among_all_words_and_odd_characters() {
        assert_eq!((WORD_LIST.len(), ODD_LIST.len()), (24, 40));
        assert!(WORD_LIST.iter().all(|word| !word.is_empty()));
    }

    #[test]
    fn one_call_gives_one_text() {
        let of = |count| text(Alphabet::Unicode, Agent(1), count, 60);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1)[4..], of(2)[4..]);
    }
}
