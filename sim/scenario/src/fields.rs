//! A map that accepts only certain keys.

use super::closest::did_you_mean;
use super::error::{Problem, Read};
use super::node::{Entry, Node, Place, Value, shortened};
use super::schemas::Key;

/// The entries of one map, checked for unknown and repeated keys, and for keys that cannot be
/// combined.
#[derive(Debug)]
pub(crate) struct Fields<'n> {
    /// Where the map begins.
    pub(crate) place: Place,
    /// What the map describes, such as "a phase".
    what: &'static str,
    accepted: Vec<&'static str>,
    entries: &'n [Entry],
}

impl<'n> Fields<'n> {
    /// Reads `node` as a map with these keys.
    pub(crate) fn read(node: &'n Node, what: &'static str, keys: &'static [Key]) -> Read<Self> {
        let names = keys.iter().map(|key| key.name).collect();
        let fields = Self::named(node, what, names)?;
        fields.refuse_combinations(keys)?;
        Ok(fields)
    }

    /// Reads `node` as a map with no keys but the `accepted` ones.
    pub(crate) fn named(
        node: &'n Node,
        what: &'static str,
        accepted: Vec<&'static str>,
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
        let unknown = |entry: &&Entry| !self.accepted.contains(&entry.key.as_str());
        let Some(entry) = self.entries.iter().find(unknown) else {
            return Ok(());
        };
        let guess = did_you_mean(&entry.key, &self.accepted);
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

    fn refuse_combinations(&self, keys: &[Key]) -> Read<()> {
        let kinds = keys.iter().filter(|key| !key.one_of.is_empty());
        let kinds: Vec<&str> = kinds.map(|key| key.name).collect();
        let example = |name: &str| {
            let key = keys.iter().find(|key| key.name == name);
            key.map_or_else(String::new, |key| (key.example)())
        };
        // If a key belongs to one kind only, that kind is missing.
        let hosts = keys.iter().filter(|key| self.key_place(key.name).is_some());
        let hosts = hosts.map(|key| key.with).find(|hosts| !hosts.is_empty());
        match (kinds.as_slice(), hosts) {
            ([], _) => {}
            (_, Some([kind])) if kinds.iter().all(|kind| self.key_place(kind).is_none()) => {
                self.need(kind, &example(kind))?;
            }
            ([first, ..], _) => _ = self.one_of(&kinds, &example(first))?,
        }
        for key in keys {
            if !key.with.is_empty() {
                self.refuse_without(key.name, key.with)?;
            }
            if key.needed_with.iter().any(|host| self.get(host).is_some()) {
                self.need(key.name, &(key.example)())?;
            }
        }
        Ok(())
    }

    /// Refuses a key that requires one of `hosts`, if none of them is present.
    fn refuse_without(&self, key: &str, hosts: &[&str]) -> Read<()> {
        let Some(place) = self.key_place(key) else {
            return Ok(());
        };
        if hosts.iter().any(|host| self.get(host).is_some()) {
            return Ok(());
        }
        let hosts: Vec<String> = hosts.iter().map(|host| format!("`{host}`")).collect();
        let hosts = hosts.join(" or ");
        Err(Problem::new(
            place,
            format!("`{key}` does not belong here: it goes with {hosts}"),
            format!("{hosts} beside it, or no `{key}`; {}", self.keys()),
        ))
    }

    /// The value of a key, if it is present.
    pub(crate) fn get(&self, key: &str) -> Option<&'n Node> {
        debug_assert!(self.accepted.contains(&key), "{key} is asked for");
        self.entry(key).map(|entry| &entry.node)
    }

    /// The value of a required key; `example` shows its form.
    pub(crate) fn need(&self, key: &str, example: &str) -> Read<&'n Node> {
        self.get(key).ok_or_else(|| {
            Problem::new(
                self.place,
                format!("{} needs `{key}`", self.what),
                format!("write `{key}: {example}`; {}", self.keys()),
            )
            .labelled(format!("`{key}` is missing here"))
        })
    }

    /// The place of a key's value; the beginning of the map if it is absent.
    pub(crate) fn place_of(&self, key: &str) -> Place {
        self.get(key).map_or(self.place, |node| node.place)
    }

    /// The place of a key, if it is present.
    pub(crate) fn key_place(&self, key: &str) -> Option<Place> {
        self.entry(key).map(|entry| entry.place)
    }

    /// Refuses keys that cannot be combined with the others.
    pub(crate) fn refuse(&self, keys: &[&str], why: &str) -> Read<()> {
        match keys
            .iter()
            .find_map(|key| Some((key, self.key_place(key)?)))
        {
            None => Ok(()),
            Some((key, place)) => Err(Problem::new(
                place,
                format!("`{key}` does not belong here: {why}"),
                format!("remove `{key}`; {}", self.keys()),
            )),
        }
    }

    /// The key among `keys` that is present, with its value; exactly one must be. `example` shows a
    /// value of the first.
    pub(crate) fn one_of<'k>(&self, keys: &[&'k str], example: &str) -> Read<(&'k str, &'n Node)> {
        let mut found = keys
            .iter()
            .filter_map(|key| self.entry(key).map(|entry| (*key, entry)));
        let Some((key, entry)) = found.next() else {
            let first = keys.first().copied().unwrap_or_default();
            return Err(Problem::new(
                self.place,
                format!("{} needs one of {}", self.what, keys.join(", ")),
                format!("write for example `{first}: {example}`; {}", self.keys()),
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
    fn keys(&self) -> String {
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
