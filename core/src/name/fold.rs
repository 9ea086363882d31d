//! Skeletons, which look-alike texts have in common (Unicode Technical Standard 39, section 4).

use unicode_security::confusable_detection::skeleton;

/// The folded prefixes of the ids of participants and rooms, and the folded digits.
const GIVEN: &str = "user_";
const ROOM: &str = "roorn_";
const DIGITS: &str = "ol23456789";

/// The folded form of a percent sign.
const PERCENT: &str = "°/₀";

/// The case in which a text is folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Lower,
    /// The given case. Only in it `AIice` looks like `Alice`.
    Given,
    Upper,
}

/// The keys of a name. Two names look alike if they have a key in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    /// The key of the name in lower case.
    pub(crate) lower: Box<str>,
    /// The keys of the name as given and in upper case, where they differ from the first.
    pub(crate) others: Vec<Box<str>>,
}

impl Keys {
    /// The keys of a text.
    pub(crate) fn of(text: &str) -> Self {
        Self::of_spellings(spellings(text))
    }

    /// The keys of a text with these spellings.
    pub(super) fn of_spellings(spellings: impl Iterator<Item = String>) -> Self {
        let mut keys = spellings.map(without_spaces);
        let lower = keys
            .next()
            .expect("the spelling in lower case is the first");
        let mut others = Vec::new();
        for key in keys {
            if key != lower && !others.contains(&key) {
                others.push(key);
            }
        }
        Self { lower, others }
    }

    /// All keys, the lower-case one first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.lower).chain(self.others.iter().map(|key| &**key))
    }
}

/// Whether a folded text is the id of a room (`room_7`), or looks like one.
pub(super) fn is_room(folded: &str) -> bool {
    is_numbered(ROOM, folded)
}

/// Whether a key is that of a server's id (`user_7`), or of a text that looks like one.
pub(crate) fn is_given(key: &str) -> bool {
    is_numbered(GIVEN, key)
}

fn is_numbered(prefix: &str, text: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|number| {
        !number.is_empty() && number.chars().all(|digit| DIGITS.contains(digit))
    })
}

/// The lower-case key of a text. Names are ordered by it.
pub(crate) fn fold(text: &str) -> Box<str> {
    without_spaces(folded(text, Case::Lower))
}

/// The skeletons of a text in each case, lowered, with spaces: first that of the lower-case text,
/// then the others if they can differ.
pub(super) fn spellings(text: &str) -> impl Iterator<Item = String> {
    // In ASCII only `I` looks like another letter in one case and not in the other.
    let differ = !text.is_ascii();
    let given = differ || text.contains('I');
    let upper = differ || text.contains('i');
    [
        Some(Case::Lower),
        given.then_some(Case::Given),
        upper.then_some(Case::Upper),
    ]
    .into_iter()
    .flatten()
    .map(move |case| folded(text, case))
}

fn without_spaces(mut text: String) -> Box<str> {
    // Most names are one word.
    if text.contains(' ') {
        text.retain(|c| c != ' ');
    }
    text.into_boxed_str()
}

fn folded(text: &str, case: Case) -> String {
    if text.is_ascii() {
        return fold_ascii(text, case);
    }
    fold_any(text, case)
}

/// Folds an ASCII text as `fold_any` does, at a twentieth of the cost: no ASCII character
/// decomposes or combines, so each one folds by itself.
fn fold_ascii(text: &str, case: Case) -> String {
    // Only a text with an `m`, a double quote or a percent sign becomes longer.
    let mut folded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte.to_ascii_lowercase() {
            b'0' => folded.push('o'),
            b'1' | b'|' => folded.push('l'),
            b'i' if case == Case::Upper || (case == Case::Given && byte == b'I') => {
                folded.push('l');
            }
            b'`' => folded.push('\''),
            b'"' => folded.push_str("''"),
            b'%' => folded.push_str(PERCENT),
            b'm' => folded.push_str("rn"),
            other => folded.push(char::from(other)),
        }
    }
    folded
}

fn fold_any(text: &str, case: Case) -> String {
    let spelling = match case {
        Case::Lower => text.to_lowercase(),
        Case::Given => text.to_owned(),
        Case::Upper => text.to_uppercase(),
    };
    let lower = skeleton(&spelling).collect::<String>().to_lowercase();
    // A second pass, because lowering a skeleton can restore a character with another look-alike.
    skeleton(&lower).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(one: &str, other: &str) -> bool {
        let (one, other) = (Keys::of(one), Keys::of(other));
        one.iter().any(|key| other.iter().any(|k| k == key))
    }

    #[test]
    fn ascii_folds_as_the_tables_say_alone_and_in_pairs() {
        let ascii = || (0..128u8).map(char::from);
        let texts = ascii().flat_map(|first| {
            let pairs = ascii().map(move |second| String::from_iter([first, second]));
            std::iter::once(first.to_string()).chain(pairs)
        });
        for text in texts {
            for case in [Case::Lower, Case::Given, Case::Upper] {
                assert_eq!(fold_ascii(&text, case), fold_any(&text, case), "{text:?}");
            }
            let mut all = [Case::Lower, Case::Given, Case::Upper].map(|c| fold_any(&text, c));
            let mut some: Vec<_> = spellings(&text).collect();
            all.sort();
            some.sort();
            some.dedup();
            assert!(all.iter().all(|one| some.contains(one)), "{text:?}");
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
        assert_eq!(*fold("user_"), *GIVEN);
        assert_eq!(*fold("0123456789"), *DIGITS);
    }

    #[test]
    fn look_alikes_have_a_key_in_common() {
        for (one, other) in [
            ("Ann", "ANN"),
            ("paypal", "рaypal"),
            ("Alice", "AIice"),
            ("alice", "AIICE"),
            ("Alice", "ALlCE"),
            ("Bob", "Вob"),
            ("bob", "ВОВ"),
            ("Holly", "Ηolly"),
            ("Rita", "Ꭱita"),
            ("modern", "rnodem"),
            ("Zoë", "Zoe\u{308}"),
            ("ΟΔΟΣ", "οδοσ"),
            ("Ann Lee", "annlee"),
            ("Ian", "lan"),
        ] {
            assert!(alike(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("Ann", "Anna"),
            ("Bob", "Rob"),
            ("Анна", "Anna"),
            ("Liz", "Lee"),
        ] {
            assert!(!alike(one, other), "{one} {other}");
        }
    }

    #[test]
    fn most_names_have_one_key() {
        assert_eq!(Keys::of("Ann Lee").others, []);
        assert_eq!(Keys::of("Alice").others, ["allce".into()]);
        assert_eq!(Keys::of("AIiCE").others, ["alice".into(), "allce".into()]);
    }
}
