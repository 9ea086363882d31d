//! A map that accepts only certain keys.

use super::closest::did_you_mean;
use super::error::{Problem, Read};
use super::node::{Entry, Node, Place, Value, shortened};

/// The entries of one map, checked for unknown and repeated keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'n> {
    /// Where the map begins.
    pub(super) place: Place,
    /// What the map describes, such as "a phase".
    what: &'static str,
    accepted: &'static [&'static str],
    entries: &'n [Entry],
}

impl<'n> Fields<'n> {
    /// Reads `node` as a map with no keys but the `accepted` ones.
    pub(super) fn read(
        node: &'n Node,
        what: &'static str,
        accepted: &'static [&'static str],
    ) -> Read<Self> {
        let Value::Map(entries) = &node.value else {
            return Err(Problem::new(
                node.place,
                format!(
                    "expected {what} as a map of keys and values, found {}",
                    node.described()
                ),
                format!("accepted keys of {what}: {}", accepted.join(", ")),
            ));
        };
        let fields = Self {
            place: node.place,
            what,
            accepted,
            entries,
        };
        fields.refuse_unknown()?;
        fields.refuse_repeated()?;
        Ok(fields)
    }

    fn refuse_unknown(&self) -> Read<()> {
        let Some(entry) = self
            .entries
            .iter()
            .find(|entry| !self.accepted.contains(&entry.key.as_str()))
        else {
            return Ok(());
        };
        let guess = did_you_mean(&entry.key, self.accepted);
        Err(Problem::new(
            entry.place,
            format!("unknown key `{}` in {}", shortened(&entry.key), self.what),
            self.keys(),
        )
        .labelled(format!("not a key of {}{guess}", self.what)))
    }

    fn refuse_repeated(&self) -> Read<()> {
        for (i, entry) in self.entries.iter().enumerate() {
            if let Some(first) = self.entries[..i].iter().find(|e| e.key == entry.key) {
                return Err(Problem::new(
                    entry.place,
                    format!("the key `{}` is there twice in {}", entry.key, self.what),
                    "each key at most once; remove one of the two",
                )
                .labelled("again here")
                .with(first.place, "first here"));
            }
        }
        Ok(())
    }

    /// The value of a key, if it is present.
    pub(super) fn get(&self, key: &str) -> Option<&'n Node> {
        debug_assert!(self.accepted.contains(&key), "{key} is asked for");
        self.entry(key).map(|entry| &entry.node)
    }

    /// The value of a required key; `example` shows its form.
    pub(super) fn need(&self, key: &str, example: &str) -> Read<&'n Node> {
        self.get(key).ok_or_else(|| {
            Problem::new(
                self.place,
                format!("{} needs `{key}`", self.what),
                format!("write `{example}`; {}", self.keys()),
            )
            .labelled(format!("`{key}` is missing here"))
        })
    }

    /// The place of a key, if it is present.
    pub(super) fn key_place(&self, key: &str) -> Option<Place> {
        self.entry(key).map(|entry| entry.place)
    }

    /// Refuses keys that cannot be combined with the others.
    pub(super) fn refuse(&self, keys: &[&str], why: &str) -> Read<()> {
        for key in keys {
            if let Some(place) = self.key_place(key) {
                return Err(Problem::new(
                    place,
                    format!("`{key}` does not belong here: {why}"),
                    format!("remove `{key}`; {}", self.keys()),
                ));
            }
        }
        Ok(())
    }

    /// The key among `keys` that is present, with its value; exactly one must be.
    pub(super) fn one_of(
        &self,
        keys: &'static [&'static str],
        example: &str,
    ) -> Read<(&'static str, &'n Node)> {
        let mut found = keys
            .iter()
            .filter_map(|key| self.entry(key).map(|entry| (*key, entry)));
        let Some((key, entry)) = found.next() else {
            return Err(Problem::new(
                self.place,
                format!("{} needs one of {}", self.what, keys.join(", ")),
                format!("write for example `{example}`; {}", self.keys()),
            ));
        };
        if let Some((other, second)) = found.next() {
            return Err(Problem::new(
                second.place,
                format!("{} has both `{key}` and `{other}`", self.what),
                format!("exactly one of {}", keys.join(", ")),
            )
            .with(entry.place, "and here"));
        }
        Ok((key, &entry.node))
    }

    /// "accepted keys of a phase: …"
    pub(super) fn keys(&self) -> String {
        format!(
            "accepted keys of {}: {}",
            self.what,
            self.accepted.join(", ")
        )
    }

    fn entry(&self, key: &str) -> Option<&'n Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}
