//! Lines of text, look-alikes, and who may have which name. // 5.2, 5.3

use std::sync::Arc;

use sim_model::protocol::{Refusal, User};
use unicode_security::confusable_detection::skeleton;

use super::{Model, refuse};

/// Names, names of rooms and interests have at most so many characters. // 1
pub(super) const MAX_NAME: usize = 64;

/// Whether a character is visible; U+0020 is. // 5.2
fn is_visible(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    !c.is_control()
        && !c.is_whitespace()
        && !matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a text is a line of at most `most` characters. // 5.2
pub(super) fn is_line(text: &str, most: usize) -> bool {
    let mut count = 0;
    let mut before = ' ';
    for c in text.chars() {
        if !is_visible(c) || (c == ' ' && before == ' ') {
            return false;
        }
        before = c;
        count += 1;
    }
    count <= most && before != ' '
}

/// Whether a text says something. // 5.2
pub(super) fn says_something(text: &str) -> bool {
    text.chars().any(|c| is_visible(c) && c != ' ')
}

/// The folded form: names are look-alikes if theirs are equal. // 5.3
pub(super) fn fold(name: &str) -> String {
    if name.is_ascii() {
        fold_ascii(name)
    } else {
        fold_other(name)
    }
}

pub(super) fn fold_ascii(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    for c in name.chars() {
        match c.to_ascii_lowercase() {
            ' ' => {}
            '0' => folded.push('o'),
            '1' | '|' => folded.push('l'),
            'm' => folded.push_str("rn"),
            '`' => folded.push('\''),
            '"' => folded.push_str("''"),
            '%' => folded.push_str("°/₀"),
            other => folded.push(other),
        }
    }
    folded
}

pub(super) fn fold_other(name: &str) -> String {
    let lower = name.to_lowercase();
    let seen: String = skeleton(&lower).collect();
    let mut bare = seen.to_lowercase();
    bare.retain(|c| c != ' ');
    skeleton(&bare).collect()
}

/// Whether a folded name is of the form that the server gives. // 5.3
pub(super) fn is_servers_form(folded: &str) -> bool {
    folded
        .strip_prefix("user_")
        .is_some_and(|n| !n.is_empty() && n.chars().all(|c| "ol23456789".contains(c)))
}

/// What an accepted display name does.
pub(super) enum Naming {
    /// The participant has it.
    Keep,
    /// It is the participant's from now on; this is its folded form.
    Take(String),
}

impl Model {
    /// Whether a participant, or one that registers, may have this name. // 5.3
    pub(super) fn check_name(&self, who: Option<User>, name: &str) -> Result<Naming, Refusal> {
        if !is_line(name, MAX_NAME) {
            return Err(refuse("name_not_allowed")); // 5.3 (1)
        }
        let folded = fold(name);
        if folded == "server" || folded == "systern" {
            return Err(refuse("name_not_allowed")); // 5.3 (2)
        }
        if let Some(user) = who {
            let person = self.person(user);
            if *person.name == *name {
                return Ok(Naming::Keep); // 5.3 (3)
            }
            if person.chosen {
                return Err(refuse("name_not_allowed")); // 5.3 (4)
            }
        }
        if self.banned_names.contains(&folded) {
            return Err(refuse("name_not_allowed")); // 5.3 (5)
        }
        match self.names.get(&folded) {
            Some(owner) if Some(*owner) != who => Err(refuse("name_taken")), // 5.3 (6)
            None if is_servers_form(&folded) => Err(refuse("name_taken")),   // 5.3 (7)
            Some(_) | None => Ok(Naming::Take(folded)),
        }
    }

    /// A name that passed its check is the participant's. // 5.3
    pub(super) fn name(&mut self, user: User, name: &Arc<str>, naming: Naming) {
        let Naming::Take(folded) = naming else { return };
        let person = self.person_mut(user);
        person.name = Arc::clone(name);
        person.chosen = true;
        let before = std::mem::replace(&mut person.folded, folded.clone());
        self.names.remove(&before);
        self.names.insert(folded, user);
    }
}
