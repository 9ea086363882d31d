//! Resume tokens: the ids of a stream's events, with a cursor for each followed inbox.

use std::collections::BTreeMap;
use std::fmt;

use chat_core::{Seq, UserId};

/// The prefix of these ids. The library's own ids are numbers.
const PREFIX: char = 'c';

/// The largest number of inboxes in an id.
const MAX_INBOXES: usize = 128;

/// The last pushed event of each inbox. Written `c7.12_9.3`: event 12 of user 7, and event 3 of
/// user 9. Each event's id contains all cursors, so the last id is enough to resume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(BTreeMap<UserId, Seq>);

impl Marks {
    /// Reads an id of a listener's stream.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut marks = Self::default();
        let list = text.strip_prefix(PREFIX)?;
        for entry in list.split('_').filter(|entry| !entry.is_empty()) {
            let (user, seq) = entry.split_once('.')?;
            marks.set(UserId(user.parse().ok()?), Seq(seq.parse().ok()?));
        }
        (marks.0.len() <= MAX_INBOXES).then_some(marks)
    }

    pub(super) fn of(&self, user: UserId) -> Option<Seq> {
        self.0.get(&user).copied()
    }

    pub(super) fn set(&mut self, user: UserId, seq: Seq) {
        self.0.insert(user, seq);
    }

    pub(super) fn forget(&mut self, user: UserId) {
        self.0.remove(&user);
    }
}

impl fmt::Display for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}")?;
        for (index, (user, seq)) in self.0.iter().enumerate() {
            let between = if index == 0 { "" } else { "_" };
            write!(f, "{between}{}.{}", user.0, seq.0)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_back() {
        let mut marks = Marks::default();
        assert_eq!(Marks::read(&marks.to_string()), Some(marks.clone()));
        marks.set(UserId(9), Seq(3));
        marks.set(UserId(7), Seq(12));
        assert_eq!(marks.to_string(), "c7.12_9.3");
        assert_eq!(Marks::read("c7.12_9.3"), Some(marks));
    }

    #[test]
    fn what_is_no_id_is_told() {
        for text in ["", "0", "3/1", "c7", "c7.x", "cx.1", "c7.1_9"] {
            assert_eq!(Marks::read(text), None, "{text}");
        }
        let many: Vec<_> = (0..200).map(|n| format!("{n}.1")).collect();
        assert_eq!(Marks::read(&format!("c{}", many.join("_"))), None);
    }
}
