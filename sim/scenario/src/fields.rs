//! A map that accepts only certain keys.

use std::collections::BTreeMap;

use super::closest::{closest, did_you_mean};
use super::error::{Place, Problem, Problems, Read};
use super::node::{Entry, Node, Value, shortened};
use super::schemas::Key;

/// The entries of one map. Its problems are unknown and repeated keys, and keys that cannot be
/// combined; the values of the known keys can be read nevertheless.
#[derive(Debug)]
pub(crate) struct Fields<'n> {
    /// Where the map begins.
    pub(crate) place: Place,
    /// What the map describes, such as "a phase".
    what: &'static str,
    accepted: Vec<&'static str>,
    entries: &'n [Entry],
    /// The keys that unknown keys probably mean; `None` for one that may mean any.
    meant: Vec<Option<&'static str>>,
}

impl<'n> Fields<'n> {
    /// Reads `node` as a map with these keys.
    pub(crate) fn read(
        node: &'n Node,
        what: &'static str,
        keys: &'static [Key],
    ) -> Read<(Self, Problems)> {
        let names = keys.iter().map(|key| key.name).collect();
        let (fields, mut problems) = Self::named(node, what, names, |_| false)?;
        let combined = keys.iter().filter(|key| key.is_combined());
        if !combined
            .map(|key| key.name)
            .any(|name| fields.may_be_misspelt(name))
        {
            problems.keep(fields.refuse_combinations(keys));
        }
        Ok((fields, problems))
    }

    /// Reads `node` as a map with no keys but the `accepted` ones, and those that are read elsewhere.
    pub(crate) fn named(
        node: &'n Node,
        what: &'static str,
        accepted: Vec<&'static str>,
        is_read_elsewhere: fn(&str) -> bool,
    ) -> Read<(Self, Problems)> {
        let Value::Map(entries) = &node.value else {
            return node.place.refuse(
                format!(
                    "expected {what} as a map of keys and values, found {}",
                    node.described()
                ),
                format!("accepted keys of {what}: {}", accepted.join(", ")),
            );
        };
        let mut fields = Self {
            place: node.place,
            what,
            accepted,
            entries,
            meant: Vec::new(),
        };
        let mut problems = Problems::default();
        let mut first: BTreeMap<&str, &Entry> = BTreeMap::new();
        for entry in entries {
            let known = match is_read_elsewhere(&entry.key) {
                true => Ok(()),
                false => fields.refuse_unknown(entry),
            };
            problems.keep(known.and_then(|()| match first.insert(&entry.key, entry) {
                None => Ok(()),
                Some(before) => Err(repeated(what, entry, before)),
            }));
        }
        Ok((fields, problems))
    }

    fn refuse_unknown(&mut self, entry: &Entry) -> Read<()> {
        if self.accepted.contains(&entry.key.as_str()) {
            return Ok(());
        }
        let meant = closest(&entry.key, &self.accepted);
        if !self.meant.contains(&meant) {
            self.meant.push(meant);
        }
        let guess = did_you_mean(&entry.key, &self.accepted);
        let what = format!("unknown key `{}` in {}", shortened(&entry.key), self.what);
        let wrong = entry.place.wrong(what, self.keys());
        Err(wrong.labelled(format!("not a key of {}{guess}", self.what)))
    }

    /// Whether an unknown key may be this one, misspelt. Then it is no mistake of its own that this
    /// one is missing.
    pub(crate) fn may_be_misspelt(&self, key: &str) -> bool {
        let mut meant = self.meant.iter();
        self.get(key).is_none() && meant.any(|meant| meant.is_none_or(|meant| meant == key))
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
        place.refuse(
            format!("`{key}` does not belong here: it goes with {hosts}"),
            format!("{hosts} beside it, or no `{key}`; {}", self.keys()),
        )
    }

    /// The value of a key, if it is present.
    pub(crate) fn get(&self, key: &str) -> Option<&'n Node> {
        debug_assert!(self.accepted.contains(&key), "{key} is asked for");
        self.entry(key).map(|entry| &entry.node)
    }

    /// The value of a required key; `example` shows its form.
    pub(crate) fn need(&self, key: &str, example: &str) -> Read<&'n Node> {
        self.get(key).ok_or_else(|| {
            let accepted = format!("write `{key}: {example}`; {}", self.keys());
            let wrong = (self.place).wrong(format!("{} needs `{key}`", self.what), accepted);
            wrong.labelled(format!("`{key}` is missing here"))
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
        let mut there = keys.iter();
        match there.find_map(|key| Some((key, self.key_place(key)?))) {
            None => Ok(()),
            Some((key, place)) => place.refuse(
                format!("`{key}` does not belong here: {why}"),
                format!("remove `{key}`; {}", self.keys()),
            ),
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
            return self.place.refuse(
                format!("{} needs one of {}", self.what, keys.join(", ")),
                format!("write for example `{first}: {example}`; {}", self.keys()),
            );
        };
        if let Some((other, second)) = found.next() {
            let what = format!("{} has both `{key}` and `{other}`", self.what);
            let accepted = format!("exactly one of {}", keys.join(", "));
            let wrong = second.place.wrong(what, accepted);
            return Err(wrong.with(entry.place, "and here"));
        }
        Ok((key, &entry.node))
    }

    /// "accepted keys of a phase: …"
    fn keys(&self) -> String {
        let (what, accepted) = (self.what, self.accepted.join(", "));
        format!("accepted keys of {what}: {accepted}")
    }

    fn entry(&self, key: &str) -> Option<&'n Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

/// The error about a key that occurs twice.
fn repeated(what: &str, entry: &Entry, first: &Entry) -> Box<Problem> {
    let what = format!("the key `{}` occurs twice in {what}", entry.key);
    let wrong = (entry.place).wrong(what, "each key at most once; remove one of the two");
    wrong.labelled("again here").with(first.place, "first here")
}
