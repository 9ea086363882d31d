//! Other spellings of a text: with look-alikes, odd characters, and one character more or less.

use std::sync::Arc;

use super::dice::Dice;

/// Characters and strings that look alike, or fold to each other.
const ALIKE: [&[&str]; 12] = [
    &["l", "I", "1", "|", "i", "L"],
    &["o", "O", "0", "о", "ο"],
    &["m", "rn", "M"],
    &["a", "A", "а", "ａ"],
    &["e", "E", "е", "é", "e\u{301}"],
    &["s", "S", "ѕ", "ſ"],
    &["k", "K", "\u{212a}"],
    &["ß", "ss", "ẞ"],
    &["i", "İ", "ı"],
    &["'", "`", "’"],
    &["\"", "''", "“"],
    &["_", "-", "."],
];

/// Characters with a rule of their own: breaks, spaces, marks, invisible ones, emoji.
const ODD: &str = "\n\r\t\u{b}\u{85}\u{2028}\u{2029} \u{a0}\u{2003}\u{3000}\u{ad}\u{200b}\u{200d}\
    \u{202e}\u{2066}\u{feff}\u{fe0f}\u{3164}\u{2800}\u{301}\u{20e3}\u{e0041}🦀🇦%`\"|'\0\u{7f}";

fn odd(dice: &mut Dice) -> char {
    let all: Vec<char> = ODD.chars().collect();
    dice.pick(&all)
}

/// The text itself, or one time in four another spelling of it.
pub(super) fn drawn(text: &str, dice: &mut Dice) -> Arc<str> {
    if !dice.one_in(4) {
        return text.into();
    }
    let mut spelled = text.to_owned();
    for _ in 0..dice.between(1, 2) {
        spelled = respelled(&spelled, dice);
    }
    spelled.into()
}

/// The text with one change.
fn respelled(text: &str, dice: &mut Dice) -> String {
    let length = text.chars().count();
    let place = dice.index(length + 1);
    let split = text.char_indices().nth(place);
    let (before, from) = text.split_at(split.map_or(text.len(), |(at, _)| at));
    let mut after = from.chars();
    let replaced = after.next();
    let after = after.as_str();
    match dice.between(0, 9) {
        0 => format!("{before}{after}"),
        1 => format!("{before}{}{from}", odd(dice)),
        2 => format!("{before}{}{after}", odd(dice)),
        3 => format!("{before}{}{from}", dice.pick(&['a', 's', '2', 'ж', '太'])),
        4 => before.to_owned(),
        5 => alike(text, dice),
        6 => text
            .chars()
            .flat_map(|letter| [letter, '\u{301}'])
            .collect(),
        _ => {
            let letter = replaced.map(|letter| match letter.is_lowercase() {
                true => letter.to_uppercase().to_string(),
                false => letter.to_lowercase().to_string(),
            });
            format!("{before}{}{after}", letter.unwrap_or_default())
        }
    }
}

/// The text with a look-alike in place of the first occurrence of a part.
fn alike(text: &str, dice: &mut Dice) -> String {
    let groups = ALIKE
        .iter()
        .filter(|group| group.iter().any(|of| text.contains(of)));
    let groups: Vec<_> = groups.collect();
    if groups.is_empty() {
        return text.to_owned();
    }
    let group = dice.pick(&groups);
    let parts: Vec<_> = group.iter().filter(|of| text.contains(**of)).collect();
    text.replacen(*dice.pick(&parts), dice.pick(group), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_spellings_are_the_text_and_the_others_differ_in_every_way() {
        let mut dice = Dice::new(1);
        let all: Vec<_> = (0..20_000).map(|_| drawn("Olli m", &mut dice)).collect();
        let same = all.iter().filter(|text| &***text == "Olli m").count();
        assert!((14_500..16_500).contains(&same), "{same}");
        let has = |test: fn(&str) -> bool| all.iter().any(|text| test(text));
        assert!(has(|text| text.contains('\u{2028}')), "a separator");
        assert!(has(|text| text == "OIli m"), "a look-alike");
        assert!(has(|text| text == "OllI m"), "another case");
        assert!(has(|text| text == "Ol"), "a beginning");
        assert!(has(|text| text == "Olli"), "without two characters");
    }
}
