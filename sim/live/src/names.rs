//! Ids and names in a server's form, and the names that are specific to one run.
//!
//! Users and rooms are numbers in a history. `user_7` is number 7. Ids in another form are numbered
//! from 2^53, in the order of their first appearance.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use chat_types::{Code, mix};
use sim_model::user_name::FIRST_OTHER;

use super::shape::WhoJson;
use sim_model::protocol::{Room, User, Who};

/// The largest number of unknown codes that are remembered.
const MOST_CODES: usize = 256;

/// The names of one run.
#[derive(Debug)]
pub(super) struct Names {
    /// The suffix of room and user names.
    suffix: String,
    salt: u128,
    users: Ids,
    rooms: Ids,
}

/// The ids of one kind.
#[derive(Debug)]
struct Ids {
    prefix: &'static str,
    others: Mutex<Others>,
}

#[derive(Debug, Default)]
struct Others {
    numbers: BTreeMap<String, u64>,
    texts: Vec<String>,
}

impl Ids {
    fn new(prefix: &'static str) -> Self {
        Self {
            prefix,
            others: Mutex::default(),
        }
    }

    fn number(&self, text: &str) -> u64 {
        if let Some(number) = self.written(text) {
            return number;
        }
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = others.numbers.get(text) {
            return *number;
        }
        let number = FIRST_OTHER + others.texts.len() as u64;
        others.numbers.insert(text.to_owned(), number);
        others.texts.push(text.to_owned());
        number
    }

    /// The number in `user_7`, if it is in canonical form.
    fn written(&self, text: &str) -> Option<u64> {
        let digits = text.strip_prefix(self.prefix)?;
        let plain = digits == "0" || !digits.starts_with(['0', '+', '-']);
        digits.parse().ok().filter(|n| plain && *n < FIRST_OTHER)
    }

    fn text(&self, number: u64) -> String {
        let Some(index) = number.checked_sub(FIRST_OTHER) else {
            return format!("{}{number}", self.prefix);
        };
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let text = usize::try_from(index)
            .ok()
            .and_then(|index| others.texts.get(index));
        text.cloned().unwrap_or_default()
    }
}

impl Names {
    /// The names of the run with this nonce.
    pub(super) fn new(nonce: u64) -> Self {
        let (low, high) = (mix(1, nonce), mix(2, nonce));
        Self {
            suffix: suffix(mix(0, nonce)),
            salt: (u128::from(high) << 64) | u128::from(low),
            users: Ids::new("user_"),
            rooms: Ids::new("room_"),
        }
    }

    /// The suffix of this run's names of rooms and users, such as `-k3f9x`.
    pub(super) fn suffix(&self) -> &str {
        &self.suffix
    }

    /// An id or a name in this run.
    pub(super) fn of_run(&self, name: &str) -> String {
        format!("{name}{}", self.suffix)
    }

    /// A request key in this run. Without the salt, a seed would draw equal keys in every run.
    pub(super) fn key(&self, key: u128) -> String {
        format!("{:032x}", key ^ self.salt)
    }

    pub(super) fn user(&self, text: &str) -> User {
        User(self.users.number(text))
    }

    /// A participant as the server shows it.
    pub(super) fn who(&self, who: &WhoJson) -> Arc<Who> {
        let id = who.user_id.as_deref().unwrap_or_default();
        Arc::new(Who {
            id: self.user(id),
            chosen_id: self.users.written(id).is_none().then(|| id.into()),
            name: who.display_name.as_deref().unwrap_or_default().into(),
        })
    }

    pub(super) fn room(&self, text: &str) -> Room {
        Room(self.rooms.number(text))
    }

    pub(super) fn user_text(&self, user: User) -> String {
        self.users.text(user.0)
    }

    pub(super) fn room_text(&self, room: Room) -> String {
        self.rooms.text(room.0)
    }
}

/// Five letters and digits.
fn suffix(mut bits: u64) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut text = String::from("-");
    for _ in 0..5 {
        text.push(char::from(LETTERS[(bits % 32) as usize]));
        bits /= 32;
    }
    text
}

/// A refusal's code as a static string. Codes are few, and histories keep references to them.
pub(super) fn code(text: &str) -> &'static str {
    static OTHERS: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    if let Some(known) = Code::named(text) {
        return known.name();
    }
    let mut others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = others.iter().find(|code| **code == text) {
        return known;
    }
    if others.len() >= MOST_CODES {
        return "other";
    }
    let kept: &'static str = Box::leak(text.to_owned().into_boxed_str());
    others.push(kept);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_with_a_number_keep_it_and_others_get_one() {
        let names = Names::new(1);
        assert_eq!(names.user("user_7"), User(7));
        assert_eq!(names.user_text(User(7)), "user_7");
        for odd in [
            "ann",
            "user_07",
            "user_+7",
            "user_9007199254740992",
            "user_",
        ] {
            let user = names.user(odd);
            assert!(user.0 >= FIRST_OTHER, "{odd}");
            assert_eq!((names.user(odd), names.user_text(user)), (user, odd.into()));
        }
        assert_eq!(names.room("user_7"), Room(FIRST_OTHER));
    }

    #[test]
    fn runs_do_not_share_names_or_keys() {
        let (one, other) = (Names::new(1), Names::new(2));
        assert_ne!(one.of_run("table"), other.of_run("table"));
        assert_ne!(one.key(7), other.key(7));
        assert_eq!((one.suffix().len(), one.key(7).len()), (6, 32));
    }

    #[test]
    fn codes_are_kept_once() {
        assert_eq!(code("chat_ended"), "chat_ended");
        assert!(std::ptr::eq(code("tea_pot"), code("tea_pot")));
    }
}
