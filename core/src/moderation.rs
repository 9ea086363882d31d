//! What participants reported and operators decided.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use chat_types::Time;
use serde::{Deserialize, Serialize};

use crate::event::Who;
use crate::id::{Address, SecretHash, UserId};
use crate::name::{Keys, fold};

/// Reports, and what operators keep from coming back.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Moderation {
    pub(crate) reports: VecDeque<Report>,
    /// By the key of the name in lower case.
    names: BTreeMap<Box<str>, Name>,
    /// The other keys of these names, each with the one in lower case that it belongs to.
    spellings: BTreeSet<(Box<str>, Box<str>)>,
    /// By the hash of the handle.
    handles: BTreeMap<SecretHash, Handle>,
    pub(crate) addresses: BTreeMap<Address, Ban>,
}

/// A name that is muted or banned by itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Name {
    /// As its bearer spelled it.
    shown: Box<str>,
    ban: Ban,
}

/// A handle that is muted or banned.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Handle {
    /// Its owner, as others saw it then.
    owner: Arc<Who>,
    /// The key in lower case of the owner's name.
    lower: Box<str>,
    ban: Ban,
}

/// One thing of which a mute or a ban is kept, as operators find it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept<'a> {
    /// A display name or a public id that a participant chose.
    Name {
        /// By what it is found: in lower case, folded.
        folded: &'a str,
        /// As its bearer spelled it.
        shown: &'a str,
    },
    /// The handle of this participant. The name of its owner lifts it.
    Handle {
        /// The handle's hash.
        hash: SecretHash,
        /// The participant as others saw it then.
        owner: &'a Arc<Who>,
    },
    /// An address.
    Address(Address),
}

/// The place of something kept among all that is: names come first, then handles, then addresses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeptPlace {
    /// Of a name, by its folded form.
    Name(Box<str>),
    /// Of a handle, by its hash.
    Handle(SecretHash),
    /// Of an address.
    Address(Address),
}

impl Kept<'_> {
    /// Where it stands.
    #[must_use]
    pub fn place(&self) -> KeptPlace {
        match *self {
            Kept::Name { folded, .. } => KeptPlace::Name(folded.into()),
            Kept::Handle { hash, .. } => KeptPlace::Handle(hash),
            Kept::Address(address) => KeptPlace::Address(address),
        }
    }
}

/// What an operator has decided of a participant or an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Measure {
    /// It may not speak.
    Mute,
    /// It may not come in.
    Ban,
}

/// A participant, as what operators keep of it knows it again.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) handle: SecretHash,
    pub(crate) who: Arc<Who>,
    /// The keys of its display name, and whether the participant chose it.
    pub(crate) name: Keys,
    pub(crate) is_chosen: bool,
    /// The keys of its public id, if the participant chose one.
    pub(crate) id: Option<Keys>,
}

impl Known {
    /// What the participant is called by its own choice: each with its keys.
    fn chosen(&self) -> impl Iterator<Item = (&str, &Keys)> {
        let name = self.is_chosen.then_some((&*self.who.name, &self.name));
        name.into_iter()
            .chain(self.who.chosen_id.as_deref().zip(self.id.as_ref()))
    }
}

/// Somebody was reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// When.
    pub at: Time,
    /// By whom.
    pub by: UserId,
    /// Where the reporter was registered from.
    pub from: Address,
    /// Who.
    pub about: UserId,
    /// Why.
    pub reason: Arc<str>,
}

/// A name or an address is muted or banned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ban {
    /// Which of the two.
    pub measure: Measure,
    /// Since when.
    pub at: Time,
    /// By which operator.
    pub by: Arc<str>,
    /// Why.
    pub reason: Arc<str>,
}

impl Moderation {
    pub(crate) fn report(&mut self, report: Report, limit: usize) {
        while self.reports.len() >= limit {
            self.reports.pop_front();
        }
        self.reports.push_back(report);
    }

    /// How many reports from the address are kept.
    pub(crate) fn reports_from(&self, address: Address) -> usize {
        let reports = self.reports.iter();
        reports.filter(|kept| kept.from == address).count()
    }

    /// The most reports that are kept from one address.
    pub(crate) fn most_reports_from_one(&self) -> usize {
        let mut from: BTreeMap<Address, usize> = BTreeMap::new();
        for report in &self.reports {
            *from.entry(report.from).or_default() += 1;
        }
        from.into_values().max().unwrap_or_default()
    }

    /// What is kept, from behind `after`: names, then handles, then addresses.
    pub(crate) fn kept(
        &self,
        after: Option<&KeptPlace>,
    ) -> impl Iterator<Item = (Kept<'_>, &Ban)> + use<'_> {
        // None of a kind that lies before, all of one that lies behind.
        let name: Option<Bound<&str>> = match after {
            None => Some(Bound::Unbounded),
            Some(KeptPlace::Name(folded)) => Some(Bound::Excluded(folded)),
            Some(KeptPlace::Handle(_) | KeptPlace::Address(_)) => None,
        };
        let handle = match after {
            None | Some(KeptPlace::Name(_)) => Some(Bound::Unbounded),
            Some(KeptPlace::Handle(hash)) => Some(Bound::Excluded(*hash)),
            Some(KeptPlace::Address(_)) => None,
        };
        let address = match after {
            None | Some(KeptPlace::Name(_) | KeptPlace::Handle(_)) => Bound::Unbounded,
            Some(KeptPlace::Address(address)) => Bound::Excluded(*address),
        };
        let names = name.map(|from| self.names.range::<str, _>((from, Bound::Unbounded)));
        let handles = handle.map(|from| self.handles.range((from, Bound::Unbounded)));
        let addresses = self.addresses.range((address, Bound::Unbounded));
        let names = names
            .into_iter()
            .flatten()
            .map(|(folded, Name { shown, ban })| (Kept::Name { folded, shown }, ban));
        let handles = handles.into_iter().flatten().map(|(hash, handle)| {
            let (hash, owner) = (*hash, &handle.owner);
            (Kept::Handle { hash, owner }, &handle.ban)
        });
        let addresses = addresses.map(|(address, ban)| (Kept::Address(*address), ban));
        names.chain(handles).chain(addresses)
    }

    /// How many names, handles and addresses are kept.
    pub(crate) fn bans(&self) -> usize {
        self.names.len() + self.handles.len() + self.addresses.len()
    }

    /// How many more are kept once this participant's are.
    pub(crate) fn missing(&self, known: &Known) -> usize {
        let names: BTreeSet<&str> = known.chosen().map(|(_, keys)| &*keys.lower).collect();
        let new = names.iter().filter(|name| !self.names.contains_key(**name));
        new.count() + usize::from(!self.handles.contains_key(&known.handle))
    }

    /// Keeps the participant's handle, and what it chose to be called. A name and an id with the
    /// same key in lower case are one, with the keys of both.
    pub(crate) fn keep(&mut self, known: &Known, ban: &Ban) {
        let handle = Handle {
            owner: Arc::clone(&known.who),
            lower: known.name.lower.clone(),
            ban: ban.clone(),
        };
        self.handles.insert(known.handle, handle);
        for (_, keys) in known.chosen() {
            self.forget_name(&keys.lower);
        }
        for (shown, keys) in known.chosen() {
            for key in &keys.others {
                self.spellings.insert((key.clone(), keys.lower.clone()));
            }
            let name = || Name {
                shown: shown.into(),
                ban: ban.clone(),
            };
            self.names.entry(keys.lower.clone()).or_insert_with(name);
        }
    }

    /// The muted participant took a name: keeps that, too, if its handle is kept. One name for
    /// each handle: a participant that registers again and again does not fill what is kept.
    pub(crate) fn follow(&mut self, known: &Known) {
        if let Some(handle) = self.handles.get(&known.handle)
            && !self.names.contains_key(&handle.lower)
        {
            let ban = handle.ban.clone();
            self.keep(known, &ban);
        }
    }

    /// What is kept of a handle.
    pub(crate) fn of_handle(&self, handle: &SecretHash) -> Option<Measure> {
        self.handles.get(handle).map(|handle| handle.ban.measure)
    }

    /// What is kept of an address.
    pub(crate) fn of_address(&self, address: Address) -> Option<Measure> {
        self.addresses.get(&address).map(|ban| ban.measure)
    }

    /// What is kept of a name, or of one that it looks like: a ban before a mute.
    pub(crate) fn of_name(&self, name: &Keys) -> Option<Measure> {
        if self.names.is_empty() {
            return None;
        }
        let kept = name.iter().flat_map(|key| {
            let first = (Box::from(key), Box::default());
            let alike = self.spellings.range(first..);
            let alike = alike.take_while(move |(spelling, _)| **spelling == *key);
            let lower = alike.map(|(_, lower)| &**lower).chain([key]);
            lower.filter_map(|lower| self.names.get(lower))
        });
        kept.map(|name| name.ban.measure).max()
    }

    /// Drops what is kept of the participant as muted.
    pub(crate) fn unmute(&mut self, known: &Known) {
        let mut names = vec![known.name.lower.clone()];
        names.extend(known.id.as_ref().map(|id| id.lower.clone()));
        if self.of_handle(&known.handle) == Some(Measure::Mute)
            && let Some(handle) = self.handles.remove(&known.handle)
        {
            names.push(handle.lower);
            names.extend(handle.owner.chosen_id.as_deref().map(fold));
        }
        for name in names {
            let kept = self.names.get(&name);
            if kept.is_some_and(|name| name.ban.measure == Measure::Mute) {
                self.forget_name(&name);
            }
        }
    }

    /// Drops what is kept of the name with this key in lower case, and of handles under it.
    pub(crate) fn drop_name(&mut self, lower: &str) {
        self.forget_name(lower);
        self.handles.retain(|_, handle| *handle.lower != *lower);
    }

    fn forget_name(&mut self, lower: &str) {
        if self.names.remove(lower).is_some() {
            self.spellings.retain(|(_, of)| **of != *lower);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(lower: &str, other: &str) -> Keys {
        Keys {
            lower: lower.into(),
            others: [other].map(Box::from).into(),
        }
    }

    fn named(name: Keys) -> Known {
        Known {
            handle: SecretHash([0; 16]),
            who: Arc::new(Who {
                id: UserId(1),
                chosen_id: Some("id".into()),
                name: "Name".into(),
            }),
            name,
            is_chosen: true,
            id: None,
        }
    }

    fn ban() -> Ban {
        Ban {
            measure: Measure::Ban,
            at: Time(0),
            by: "olga".into(),
            reason: "spam".into(),
        }
    }

    #[test]
    fn the_keys_of_a_name_that_is_kept_again_replace_those_before() {
        let mut moderation = Moderation::default();
        for other in ["first", "second"] {
            moderation.keep(&named(keys("name", other)), &ban());
        }
        let is_kept = |name| moderation.of_name(&keys("new", name)).is_some();
        assert!(is_kept("name") && is_kept("second") && !is_kept("first"));
        assert_eq!(moderation.bans(), 2, "the name and the handle");
    }

    #[test]
    fn a_name_and_an_id_that_fold_alike_are_one_with_the_keys_of_both() {
        let mut moderation = Moderation::default();
        let known = Known {
            id: Some(keys("name", "of the id")),
            ..named(keys("name", "of the name"))
        };
        assert_eq!(moderation.missing(&known), 2);
        moderation.keep(&known, &ban());
        let is_kept = |name| moderation.of_name(&keys("new", name)).is_some();
        assert!(is_kept("of the name") && is_kept("of the id"));
        assert_eq!((moderation.bans(), moderation.missing(&known)), (2, 0));
    }

    #[test]
    fn each_thing_kept_is_listed_behind_the_one_before() {
        let mut moderation = Moderation::default();
        let known = Known {
            id: Some(keys("id", "another")),
            ..named(keys("name", "other"))
        };
        moderation.keep(&known, &ban());
        moderation.addresses.insert(Address(7), ban());
        let places: Vec<_> = moderation
            .kept(None)
            .map(|(kept, _)| kept.place())
            .collect();
        let expected = [
            KeptPlace::Name("id".into()),
            KeptPlace::Name("name".into()),
            KeptPlace::Handle(SecretHash([0; 16])),
            KeptPlace::Address(Address(7)),
        ];
        assert_eq!(places, expected);
        assert!(places.is_sorted());
        for (index, place) in places.iter().enumerate() {
            let behind = moderation.kept(Some(place)).map(|(kept, _)| kept.place());
            assert_eq!(behind.collect::<Vec<_>>(), places[index + 1..], "{place:?}");
        }
    }
}
