//! Draws messages, names, rooms and interests: in many alphabets, at the limits, and in several
//! spellings.
//!
//! The parts of a list stand between slashes.

use std::sync::Arc;

use super::dice::{Dice, table};
use super::spelling;
use sim_model::draw::Shape;
use sim_model::plan::{Alphabet, Text};

/// Texts that several users send; some have no visible character.
const WORDS: &str = "hello/hello/héllo/he\u{301}llo/🦀👩\u{200d}🚀/a\nb/\u{200b}x/ /\u{200b}/";

/// Interests. Some are equal in lower case; others only look alike.
pub(super) const INTERESTS: &str = "chess/chess/Chess/CHESS/ch\u{435}ss/café/CAFÉ/cafe\u{301}/Straße/STRASSE/İstanbul/\
    istanbul/ΣΊΣΥΦΟΣ/σίσυφος/café  au lait/thé\u{3000}\u{3000}vert";

const FEW_SHARE: &str = "go/tea/rust/bees/jazz/maps/kites/ink/owls/salt/tides/looms/moss/bells";

/// Lists of interests, of which all users of a run choose from one.
pub(super) const CIRCLES: [&str; 8] = [
    "art/artillery/part/a/go/gold",
    "go/tea/rust",
    // Enough different interests for a long queue.
    "go/tea/rust/bees/jazz/maps",
    // So many that few users share one. Users that insist on a shared one gather in the queue.
    FEW_SHARE,
    FEW_SHARE,
    "café/CAFÉ/Café/tea",
    "chess/Chess/ch\u{435}ss/go",
    "ΣΊΣΥΦΟΣ/σίσυφος/σίσυφοσ/Straße/STRASSE",
];

/// Names of rooms. Most are the lobby, also some that look different.
const ROOMS: &str = "lobby/lobby/lobby/lobby/lobby/hall/hall/Lobby/1obby/lоbby/Ｌｏｂｂｙ/l obby/héll/he\u{301}ll/\
    user_1/ lobby/hé  ll/hé\u{a0}\u{a0}ll";

/// Display names: look-alikes, reserved ones, and invalid ones.
const NAMES: &str = "Ann/क्षत्रियकुमारी/ปิ่นปักษ์สิริ/ANN/Аnn/Ann Lee/Annlee/Zoë/Zoe\u{308}/Tom/Torn/Alice/\
    AIice/ALlCE/bob/ВОВ/Вob/Ꭱita/Ann 🦀/🦀/ﬁne/user_2/USER_1/User_2/ＵＳＥＲ_3/Ｓｙｓｔｅｍ/SYSТEМ/\
    Server:/my ser-ver/you there/ADMlN/Servant/Ann /Zoë  Lee/Zoë\u{2003}\u{2003}Lee/\
    Zoë\u{3000}Lee/";

/// Names that the server gives one of the first participants, or that look so.
const SERVER_NAMES: &str = "user_1/user_2/user_3/user_4/user_I/user_l2/user_2O/USER_1I";

/// Lists of names that look alike.
pub(super) const LOOK_ALIKES: [&str; 6] = [
    "Alice/AIice/ALlCE/a1ice",
    "bob/b0b/ВОВ/BOB",
    "Bill/BiII/BIll/b1ll",
    "Zoë/Zoe\u{308}/ZOË/zoë",
    // Only in upper case does the Cyrillic word look like the Latin one.
    "сон/COH",
    "вор/BOP",
];

/// Public ids, the last of which are invalid.
const IDS: &str = "ann/ann/Ann/alice/AIice/b0b/ann.1/ann.l/a-b_c/admin/the-server/user_1/USER_l/é";

/// The characters in the longest name, public id or interest.
const MAX_NAME: usize = 64;

/// The characters in the longest reason.
const MAX_REASON: usize = 500;

/// Reasons of reports and of operators; the last are invalid.
const REASONS: &str = "spam/spam/unfreundlich 🦀/ spam/für  alle/a\nb/";

/// Longer texts only slow down a run.
const LONG: u32 = 400;

/// A text of a few characters, a text that other users send as well, or one of `most` characters or
/// one more.
pub(super) fn text(most: u32, dice: &mut Dice) -> Text {
    match dice.between(0, 9) {
        0 | 1 => Text::Words(spelling::drawn(dice.part(WORDS), dice)),
        2 | 3 if most <= LONG || dice.one_in(8) => {
            let most = u64::from(most);
            let (low, high) = dice.pick(&[(most, most), (most, most + 1), (most + 1, most + 1)]);
            letters(Shape::Uniform(low, high), dice)
        }
        _ => letters(Shape::Uniform(1, 20), dice),
    }
}

fn letters(length: Shape, dice: &mut Dice) -> Text {
    let length = table(length);
    match dice.between(0, 4) {
        0 => Text::Letters(Alphabet::Words, length),
        1 => Text::Letters(Alphabet::Unicode, length),
        _ => Text::Length(length),
    }
}

/// In `none` of eight draws no interests; otherwise a few, or one more than allowed.
pub(super) fn interests(those: &str, none: u32, most: u32, dice: &mut Dice) -> Arc<[Arc<str>]> {
    let those: Vec<&str> = those.split('/').collect();
    let some = match dice.between(0, 7) {
        times if times < none => 0,
        7 if dice.coin() => most.min(16) + 1,
        4 => dice.between(2, most.min(8)),
        5 => dice.between(2, most.min(16)),
        6 | 7 => dice.between(2, 3),
        _ => 1,
    };
    // Some users share all of a few, others some of many.
    let first = dice.coin().then(|| dice.index(those.len()));
    (0..some)
        .map(|nth| match (dice.between(0, 15), first) {
            (0, _) => "Ü".repeat(MAX_NAME).into(),
            (1, _) | (_, None) => interest(dice.pick(&those), dice),
            (_, Some(first)) => those[(first + nth as usize) % those.len()].into(),
        })
        .collect()
}

/// An interest, perhaps respelled. Scenarios accept only trimmed lines.
fn interest(text: &str, dice: &mut Dice) -> Arc<str> {
    let respelled = spelling::drawn(text, dice);
    let is_line = respelled.trim() == &*respelled && !respelled.contains(char::is_control);
    match is_line && !respelled.is_empty() {
        true => respelled,
        false => text.into(),
    }
}

/// The name of a room, sometimes one of the largest length or longer.
pub(super) fn room(dice: &mut Dice) -> Arc<str> {
    one_of(ROOMS, ("é", MAX_NAME), dice)
}

/// The reason of a report or of an operator's act, sometimes one of the largest length or longer.
pub(super) fn reason(dice: &mut Dice) -> Arc<str> {
    one_of(REASONS, ("é", MAX_REASON), dice)
}

/// One of these texts. One time in sixteen, a text of `most` characters, of one more, or of so many
/// that its bytes alone are too many.
fn one_of(texts: &str, (character, most): (&str, usize), dice: &mut Dice) -> Arc<str> {
    if dice.one_in(16) {
        let length = dice.pick(&[most, most, most, most + 1, most + 1, 4 * most + 1]);
        return character.repeat(length).into();
    }
    spelling::drawn(dice.part(texts), dice)
}

/// A chosen name, one time in `one_in`.
pub(super) fn name(one_in: u64, dice: &mut Dice) -> Option<Arc<str>> {
    dice.one_in(one_in).then(|| match dice.between(0, 3) {
        0 => spelling::drawn(dice.part(SERVER_NAMES), dice),
        _ => one_of(NAMES, ("ß", MAX_NAME), dice),
    })
}

/// A chosen public id, one time in `one_in`.
pub(super) fn public_id(one_in: u64, dice: &mut Dice) -> Option<Arc<str>> {
    dice.one_in(one_in)
        .then(|| one_of(IDS, ("q", MAX_NAME), dice))
}

/// An excuse for a break, sometimes: of the largest length, too long, or empty.
pub(super) fn excuse(most: u32, dice: &mut Dice) -> Option<Arc<str>> {
    let times = |length: u32| "é".repeat(usize::try_from(length).unwrap_or(0)).into();
    match dice.between(0, 7) {
        0 => Some("the chicken was getting cold".into()),
        1 => Some(times(most.min(LONG))),
        2 => Some(times(most.min(LONG) + 1)),
        3 => Some(spelling::drawn(dice.part(WORDS), dice)),
        4 => Some(spelling::drawn("a long day", dice)),
        _ => None,
    }
}
