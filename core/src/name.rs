//! Names: rules that keep participants from passing for one another or for the server. They define
//! the characters of a display name (Unicode Technical Standard 39, sections 3 and 5) and the
//! reserved words.

mod fold;
mod line;

use std::sync::Arc;

use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{
    EmojiStatus, GeneralCategoryGroup, UnicodeEmoji as _, UnicodeGeneralCategory as _,
};
use unicode_security::{GeneralSecurityProfile as _, RestrictionLevel, RestrictionLevelDetection};

pub(crate) use self::fold::{Keys, fold, is_given};
pub(crate) use self::line::{has_visible, is_line, line_fault};
use crate::reject::{LineFault, NameFault, refuse_if};

/// The largest number of characters of a name.
pub(crate) const MAX_NAME: usize = 64;

/// The largest number of combining marks after one letter.
const MAX_MARKS: usize = 4;

/// Words that no name may contain, in their folded form: what the server's texts call itself, those
/// who run it, the reader and all readers. Words with an `i` fold in two ways.
const RESERVED: [&str; 16] = [
    "server",
    "systern",
    "operator",
    "operators",
    "adrnin",
    "adrnln",
    "adrnins",
    "adrnlns",
    "adrninistrator",
    "adrnlnlstrator",
    "adrninistrators",
    "adrnlnlstrators",
    "rnoderator",
    "rnoderators",
    "you",
    "everyone",
];

/// Words that no name may be, in their folded form. Names may contain them: `Support Agent`.
const RESERVED_ALONE: [&str; 12] = [
    "talkingstick",
    "talklngstlck",
    "root",
    "support",
    "host",
    "boss",
    "assistant",
    "asslstant",
    "next",
    "note",
    "rne",
    "all",
];

/// A valid display name, with its keys. Two names that look alike share a key.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) shown: Arc<str>,
    pub(crate) keys: Keys,
}

impl Name {
    /// Checks a display name: one visible line of characters that Unicode allows in identifiers, of
    /// one script in each word, without reserved words.
    pub(crate) fn new(text: &Arc<str>) -> Result<Self, NameFault> {
        if !is_line(text, MAX_NAME) {
            let length = text.chars().count();
            let fault = if length == 0 || length > MAX_NAME {
                NameFault::Length
            } else {
                NameFault::Line
            };
            return Err(fault);
        }
        check_characters(text)?;
        Ok(Self {
            shown: Arc::clone(text),
            keys: unreserved(text).ok_or(NameFault::Reserved)?,
        })
    }
}

/// A room's name: one visible line, and its key. Rooms with the same key are one room.
#[derive(Clone, Debug)]
pub(crate) struct RoomName {
    pub(crate) shown: Arc<str>,
    pub(crate) key: Box<str>,
}

impl RoomName {
    /// Checks that the text is a line of at most `MAX_NAME` characters.
    pub(crate) fn new(text: &Arc<str>) -> Result<Self, LineFault> {
        match line_fault(text, MAX_NAME) {
            Some(fault) => Err(fault),
            None => Ok(Self {
                shown: Arc::clone(text),
                key: room_key(text),
            }),
        }
    }
}

/// The key of a room's name: the same for any case, and for canonically equal texts. It addresses the
/// room, so that look-alikes have other keys: names that differ are of different rooms.
pub(crate) fn room_key(name: &str) -> Box<str> {
    if name.is_ascii() {
        return name.to_ascii_lowercase().into();
    }
    name.to_lowercase().nfc().collect::<String>().into()
}

/// Checks the characters of a name.
fn check_characters(text: &str) -> Result<(), NameFault> {
    if text.is_ascii() {
        let has_base = text.bytes().any(|byte| byte.is_ascii_alphanumeric());
        return refuse_if(!has_base, NameFault::Bare);
    }
    refuse_if(!text.chars().all(is_allowed), NameFault::Characters)?;
    refuse_if(!text.chars().any(is_base), NameFault::Bare)?;
    refuse_if(!has_marks_in_place(text), NameFault::Marks)?;
    refuse_if(!text.split(' ').all(is_of_one_script), NameFault::Scripts)
}

/// Whether a name may contain this character: printable ASCII, a character that Unicode allows in
/// identifiers, or an emoji of one character.
fn is_allowed(c: char) -> bool {
    matches!(c, ' '..='~') || c.identifier_allowed() || is_emoji(c)
}

/// Whether the character is an emoji by itself. Framed letters and words are excluded: they spell
/// words.
fn is_emoji(c: char) -> bool {
    let is_framed = matches!(c, '\u{1f100}'..='\u{1f2ff}');
    let is_shown_so = matches!(
        c.emoji_status(),
        EmojiStatus::EmojiPresentation
            | EmojiStatus::EmojiPresentationAndModifierBase
            | EmojiStatus::EmojiPresentationAndEmojiComponent
            | EmojiStatus::EmojiPresentationAndModifierAndEmojiComponent
    );
    is_shown_so && !is_framed
}

/// Whether the character is a letter or a number.
fn is_base(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    matches!(
        c.general_category_group(),
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number
    )
}

fn is_mark(c: char) -> bool {
    !c.is_ascii() && c.general_category_group() == GeneralCategoryGroup::Mark
}

/// Whether every combining mark follows a letter or a number, and no letter has too many.
fn has_marks_in_place(text: &str) -> bool {
    // The number of marks that may follow the previous character.
    let mut room = 0_usize;
    text.chars().all(|c| {
        if is_mark(c) {
            let fits = room > 0;
            room = room.saturating_sub(1);
            return fits;
        }
        room = if is_base(c) { MAX_MARKS } else { 0 };
        true
    })
}

/// Whether a word has letters of one script, or of scripts that are used together: Latin with
/// Chinese, Japanese or Korean.
fn is_of_one_script(word: &str) -> bool {
    if word.is_ascii() {
        return true;
    }
    // Other characters, punctuation and emoji, belong to no script.
    let spelt: String = word.chars().filter(|c| c.identifier_allowed()).collect();
    spelt.check_restriction_level(RestrictionLevel::HighlyRestrictive)
}

/// The keys of a name or a public id, unless it is or contains a reserved word, or looks like one:
/// in any case, with look-alike characters, with any marks and any punctuation. The id of a room is
/// reserved, too.
pub(crate) fn unreserved(text: &str) -> Option<Keys> {
    let mut is_reserved = false;
    let spellings = fold::spellings(text);
    let keys = Keys::of_spellings(spellings.inspect(|folded| is_reserved |= has_reserved(folded)));
    (!is_reserved).then_some(keys)
}

fn has_reserved(folded: &str) -> bool {
    let spelt = letters_of(folded);
    if RESERVED.contains(&&*spelt) || RESERVED_ALONE.contains(&&*spelt) {
        return true;
    }
    if spelt.len() == folded.len() {
        return false; // It is one word.
    }
    let spells = |piece: &str| match piece.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        true => RESERVED.contains(&piece),
        false => RESERVED.contains(&&*letters_of(piece)),
    };
    fold::is_room(folded)
        || folded.split(' ').any(spells)
        || folded.split(|c| !is_spelling(c)).any(spells)
}

/// The letters and numbers of a text.
fn letters_of(text: &str) -> String {
    let mut letters = String::with_capacity(text.len());
    letters.extend(text.chars().filter(|c| is_base(*c)));
    letters
}

/// Whether the character spells words: a letter, a number, or a mark of one.
fn is_spelling(c: char) -> bool {
    is_base(c) || (!c.is_ascii() && is_mark(c))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn fault(text: &str) -> Option<NameFault> {
        Name::new(&text.into()).err()
    }

    #[test]
    fn names_are_one_visible_line() {
        for bad in [
            "a\nb",
            "a\u{200b}b",
            " a",
            "a ",
            "a  b",
            "a\tb",
            "\u{202e}nnA",
            "a\u{a0}b",
            "Server\u{70f}",
        ] {
            assert_eq!(fault(bad), Some(NameFault::Line), "{bad:?}");
        }
        assert_eq!(fault(""), Some(NameFault::Length));
        assert_eq!(fault(&"x".repeat(65)), Some(NameFault::Length));
        assert_eq!(fault(&"x".repeat(64)), None);
        let longest_hidden = "\u{200b}".repeat(64);
        assert_eq!(fault(&longest_hidden), Some(NameFault::Line));
    }

    #[test]
    fn names_of_many_scripts_are_names() {
        for good in [
            "Ann",
            "Ann Lee",
            "a",
            "7",
            "C++",
            "gpt-4 (mini)",
            "O’Neil",
            "Zoë",
            "Straße",
            "İstanbul",
            "привет",
            "Ελλάδα",
            "שלום",
            "مرحبا",
            "नमस्ते",
            "ประเทศไทย",
            "李雷",
            "こんにちは",
            "한국어",
            "ქართული",
            "አማርኛ",
            "Tシャツ太郎",
            "Алиса GPT",
            "Zoe\u{308}",
            "Ann 🦀",
            "🦀Ann👍🏽",
            "Servant",
            "Youssef",
            "Systematic",
            "Sadmin",
            "Administrative",
            "Support Agent",
            "Next.js",
            "Note Taker",
            "Hostess",
            "root_1",
        ] {
            assert_eq!(fault(good), None, "{good}");
        }
    }

    #[test]
    fn names_consist_of_identifier_characters() {
        for bad in [
            "Ｓｅｒｖｅｒ",
            "Ꭱita",
            "𝔘nn",
            "ﬁne",
            "Ann™",
            "🅰lice",
            "🇦nn",
            "a\u{e000}",
        ] {
            assert_eq!(fault(bad), Some(NameFault::Characters), "{bad}");
        }
        for bad in ["Вob", "Ηolly", "SYSТEМ", "Sеrver", "Ann-Анна", "Aनn"] {
            assert_eq!(fault(bad), Some(NameFault::Scripts), "{bad}");
        }
        for bad in ["!", ". .", "🦀", "🦀 🦀", "—"] {
            assert!(fault(bad).is_some(), "{bad}");
        }
        assert_eq!(fault("🦀"), Some(NameFault::Bare));
        assert_eq!(fault(":-)"), Some(NameFault::Bare));
        for bad in ["\u{301}Ann", "Ann \u{301}", "A:\u{301}", "🦀\u{301}n"] {
            assert_eq!(fault(bad), Some(NameFault::Marks), "{bad:?}");
        }
        assert_eq!(fault(&format!("a{}", "\u{301}".repeat(4))), None);
        let high = format!("a{}", "\u{301}".repeat(5));
        assert_eq!(fault(&high), Some(NameFault::Marks));
    }

    #[test]
    fn reserved_names_are_refused() {
        for bad in [
            "Server",
            "SERVER",
            "system",
            "S e r v e r",
            "Server:",
            "[Server]",
            "*System*",
            "Operator",
            "you",
            "You:",
            "the server",
            "Server bot",
            "server-1",
            "Ser-ver",
            "a Ser-ver",
            "server 🤖",
            "ser🦀ver",
            "admin",
            "ADMIN",
            "ADMlN",
            "ADM|N",
            "adrnin",
            "Administrator",
            "ADMINlSTRATOR",
            "M0DERATOR",
            "Everyone",
            "m.o.d.e.r.a.t.o.r",
            "Ann, the operator!",
            "Ṣerver",
            "Servẹr",
            "S\u{308}erver",
            "the Sërver",
            "moderators",
            "Talking Stick",
            "talking-stick",
            "Root",
            "SUPPORT:",
            "B0ss",
            "Assistant",
            "next:",
            "[note]",
            "me",
            "all",
            "room_1",
            "ROOM_l0",
        ] {
            assert_eq!(fault(bad), Some(NameFault::Reserved), "{bad}");
        }
        for bad in ["server-1", "ADMIN", "y.o.u", "the_operator"] {
            assert!(unreserved(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn the_server_s_words_are_written_down_as_they_fold() {
        let folded = |words: &[&str]| {
            let folded = words.iter().flat_map(|word| fold::spellings(word));
            BTreeSet::from_iter(folded)
        };
        let words = "server system operator operators admin admins administrator administrators \
            moderator moderators you everyone";
        let words: Vec<_> = words.split_whitespace().collect();
        assert_eq!(folded(&words), RESERVED.map(String::from).into());
        let alone = "talkingstick root support host boss assistant next note me all";
        let alone: Vec<_> = alone.split(' ').collect();
        assert_eq!(folded(&alone), RESERVED_ALONE.map(String::from).into());
    }

    #[test]
    fn rooms_with_different_names_are_different_rooms() {
        let differ = [
            ("pr 1 23", "pr 12 3"),
            ("fix 1 1", "fix 11"),
            ("issue-110", "issue-11O"),
            ("team", "tearn"),
            ("В", "B"),
        ];
        for (one, other) in differ {
            assert_ne!(room_key(one), room_key(other), "{one}");
        }
        for (one, other) in [("Lobby", "lobby"), ("Zoë", "ZOE\u{308}")] {
            assert_eq!(room_key(one), room_key(other), "{one}");
        }
    }
}
