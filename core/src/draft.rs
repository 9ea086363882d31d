//! A draft: what a participant has appended in a room and not yet pushed.

use serde::{Deserialize, Serialize};

/// The appended texts. Each append can be undone, the last one first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Draft {
    pub(crate) text: String,
    pub(crate) length: u32,
    /// For each append: the length in bytes before it, for `undo`, and its number of characters.
    appends: Vec<(u32, u32)>,
}

impl Draft {
    pub(crate) fn is_empty(&self) -> bool {
        self.appends.is_empty()
    }

    /// Appends the first `max_append` characters of `text`. The caller has checked that they fit.
    /// Returns the number of characters that were cut.
    pub(crate) fn append(&mut self, text: &str, max_append: u32) -> u32 {
        let total = count(text);
        let taken = total.min(max_append);
        let end = text
            .char_indices()
            .nth(taken as usize)
            .map_or(text.len(), |(at, _)| at);
        let before = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        self.appends.push((before, taken));
        self.text.push_str(&text[..end]);
        self.length += taken;
        total - taken
    }

    /// Undoes the last append. An empty draft stays as it is.
    pub(crate) fn undo(&mut self) {
        if let Some((bytes, characters)) = self.appends.pop() {
            self.text.truncate(bytes as usize);
            self.length -= characters;
        }
    }

    /// The last `n` characters.
    pub(crate) fn suffix(&self, n: usize) -> &str {
        let start = self
            .text
            .char_indices()
            .rev()
            .nth(n.saturating_sub(1))
            .map_or(0, |(at, _)| at);
        &self.text[start..]
    }

    /// Checks the invariant: every append can be undone.
    pub(crate) fn validate(&self) -> Result<(), String> {
        let mut rest = self.clone();
        for (bytes, characters) in self.appends.iter().rev() {
            let last = rest.text.get(*bytes as usize..).map(count);
            if last != Some(*characters) || rest.length < *characters {
                return Err("a draft does not consist of its appends".into());
            }
            rest.undo();
        }
        if rest.text.is_empty() && rest.length == 0 {
            return Ok(());
        }
        Err("a draft is more than its appends".into())
    }
}

/// The number of characters of a text: Unicode scalar values, as the protocol counts them.
pub(crate) fn count(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_append_is_cut_between_characters() {
        let mut draft = Draft::default();
        assert_eq!((draft.append("äöü", 2), draft.length), (1, 2));
        assert_eq!(draft.text, "äö");
        assert_eq!((draft.append("xy", 5), draft.length), (0, 4));
        assert_eq!((draft.suffix(3), draft.suffix(9)), ("öxy", "äöxy"));
        draft.undo();
        assert_eq!((&*draft.text, draft.length), ("äö", 2));
        draft.undo();
        draft.undo();
        assert!(draft.is_empty());
    }

    #[test]
    fn damage_is_seen() {
        let of = |text: &str, length, appends: &[(u32, u32)]| Draft {
            text: text.into(),
            length,
            appends: appends.to_vec(),
        };
        assert_eq!(of("äxy", 3, &[(0, 1), (2, 2)]).validate(), Ok(()));
        for (damaged, part) in [
            (of("äxy", 3, &[(0, 1), (2, 1)]), "does not consist"),
            (of("äxy", 3, &[(0, 1), (1, 2)]), "does not consist"),
            (of("äxy", 1, &[(0, 1), (2, 2)]), "does not consist"),
            (of("äxy", 9, &[(0, 1), (9, 2)]), "does not consist"),
            (of("äxy", 2, &[(2, 2)]), "is more than"),
            (of("äxy", 4, &[(0, 1), (2, 2)]), "is more than"),
        ] {
            let said = damaged.validate().expect_err(&format!("{damaged:?}"));
            assert!(said.contains(part), "{damaged:?}: {said}");
        }
    }
}
