//! Participants' reports, and operators' mutes and bans.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use chat_types::{Address, Ban, Measure, MeasurePlace, MeasureTarget, Report, SecretHash, Who};
use serde::{Deserialize, Serialize};

use crate::name::{Keys, fold};

/// All reports, mutes and bans.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Moderation {
    pub(crate) reports: VecDeque<Report>,
    /// By the key of the name in lower case.
    names: BTreeMap<Box<str>, Name>,
    /// The other keys of these names, each with the lower-case key that it belongs to.
    spellings: BTreeSet<(Box<str>, Box<str>)>,
    /// By the hash of the handle.
    handles: BTreeMap<SecretHash, Handle>,
    pub(crate) addresses: BTreeMap<Address, Ban>,
}

/// A muted or banned name.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Name {
    /// The participant's spelling.
    shown: Arc<str>,
    ban: Ban,
}

/// A muted or banned handle.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Handle {
    /// Its owner as others saw it at the time.
    owner: Arc<Who>,
    /// The lower-case key of the owner's name.
    lower: Box<str>,
    ban: Ban,
}

/// The properties of a participant by which a measure recognises it.
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
    /// The names that the participant chose, each with its keys.
    fn chosen(&self) -> impl Iterator<Item = (&str, &Keys)> {
        let name = self.is_chosen.then_some((&*self.who.name, &self.name));
        name.into_iter()
            .chain(self.who.chosen_id.as_deref().zip(self.id.as_ref()))
    }
}

impl Moderation {
    pub(crate) fn report(&mut self, report: Report, limit: usize) {
        while self.reports.len() >= limit {
            self.reports.pop_front();
        }
        self.reports.push_back(report);
    }

    /// The number of kept reports from the address.
    pub(crate) fn reports_from(&self, address: Address) -> usize {
        let reports = self.reports.iter();
        reports.filter(|kept| kept.from == address).count()
    }

    /// The largest number of kept reports from one address.
    pub(crate) fn most_reports_from_one(&self) -> usize {
        let mut from: BTreeMap<Address, usize> = BTreeMap::new();
        for report in &self.reports {
            *from.entry(report.from).or_default() += 1;
        }
        from.into_values().max().unwrap_or_default()
    }

    /// All mutes and bans after `after`: names, then handles, then addresses.
    pub(crate) fn kept(
        &self,
        after: Option<&MeasurePlace>,
    ) -> impl Iterator<Item = (MeasurePlace, MeasureTarget, &Ban)> + use<'_> {
        // Kinds before that of `after` are left out, and kinds after it are listed whole.
        let (name, handle, address) = match after {
            None => (Some(Unbounded), Some(Unbounded), Unbounded),
            Some(MeasurePlace::Name(name)) => (Some(Excluded(&**name)), Some(Unbounded), Unbounded),
            Some(MeasurePlace::Handle(hash)) => (None, Some(Excluded(*hash)), Unbounded),
            Some(MeasurePlace::Address(address)) => (None, None, Excluded(*address)),
        };
        let names = name.map(|from| self.names.range::<str, _>((from, Unbounded)));
        let handles = handle.map(|from| self.handles.range((from, Unbounded)));
        let addresses = self.addresses.range((address, Unbounded));
        let names = names.into_iter().flatten().map(|(folded, name)| {
            let target = MeasureTarget::Name(Arc::clone(&name.shown));
            (MeasurePlace::Name(folded.clone()), target, &name.ban)
        });
        let handles = handles.into_iter().flatten().map(|(hash, handle)| {
            let target = MeasureTarget::Handle(Arc::clone(&handle.owner));
            (MeasurePlace::Handle(*hash), target, &handle.ban)
        });
        let addresses = addresses.map(|(address, ban)| {
            let target = MeasureTarget::Address(*address);
            (MeasurePlace::Address(*address), target, ban)
        });
        names.chain(handles).chain(addresses)
    }

    /// The number of names, handles and addresses with a measure.
    pub(crate) fn bans(&self) -> usize {
        self.names.len() + self.handles.len() + self.addresses.len()
    }

    /// The number of entries that `keep` would add for this participant.
    pub(crate) fn missing(&self, known: &Known) -> usize {
        let names: BTreeSet<&str> = known.chosen().map(|(_, keys)| &*keys.lower).collect();
        let new = names.iter().filter(|name| !self.names.contains_key(**name));
        new.count() + usize::from(!self.handles.contains_key(&known.handle))
    }

    /// Stores the measure for the participant's handle and each name that it chose. A name and an
    /// id with the same lower-case key become one entry with the keys of both.
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

    /// Extends a mute to a name that the participant took, if its handle is muted. Each handle has
    /// at most one such name, so repeated registrations cannot exhaust the space.
    pub(crate) fn follow(&mut self, known: &Known) {
        if let Some(handle) = self.handles.get(&known.handle)
            && !self.names.contains_key(&handle.lower)
        {
            let ban = handle.ban.clone();
            self.keep(known, &ban);
        }
    }

    /// The measure against a handle.
    pub(crate) fn of_handle(&self, handle: &SecretHash) -> Option<Measure> {
        self.handles.get(handle).map(|handle| handle.ban.measure)
    }

    /// The ban of a handle.
    pub(crate) fn ban_of(&self, handle: &SecretHash) -> Option<&Ban> {
        let ban = self.handles.get(handle).map(|kept| &kept.ban);
        ban.filter(|ban| ban.measure == Measure::Ban)
    }

    /// The measure against an address.
    pub(crate) fn of_address(&self, address: Address) -> Option<Measure> {
        self.addresses.get(&address).map(|ban| ban.measure)
    }

    /// The measure against a name or a name that looks like it. A ban precedes a mute.
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

    /// Removes the participant's mutes. Returns whether there was one.
    pub(crate) fn unmute(&mut self, known: &Known) -> bool {
        let before = self.bans();
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
        self.bans() < before
    }

    /// Removes the measure against the name with this lower-case key, and against handles of its
    /// owner. Returns whether there was one.
    pub(crate) fn drop_name(&mut self, lower: &str) -> bool {
        let before = self.bans();
        self.forget_name(lower);
        self.handles.retain(|_, handle| *handle.lower != *lower);
        self.bans() < before
    }

    fn forget_name(&mut self, lower: &str) {
        if self.names.remove(lower).is_some() {
            self.spellings.retain(|(_, of)| **of != *lower);
        }
    }
}

#[cfg(test)]
mod tests {
    use chat_types::{Time, UserId};

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
    fn stored_measures_are_listed_page_by_page() {
        let mut moderation = Moderation::default();
        let known = Known {
            id: Some(keys("id", "another")),
            ..named(keys("name", "other"))
        };
        moderation.keep(&known, &ban());
        moderation.addresses.insert(Address(7), ban());
        let places: Vec<_> = moderation.kept(None).map(|(place, ..)| place).collect();
        let expected = [
            MeasurePlace::Name("id".into()),
            MeasurePlace::Name("name".into()),
            MeasurePlace::Handle(SecretHash([0; 16])),
            MeasurePlace::Address(Address(7)),
        ];
        assert_eq!(places, expected);
        assert!(places.is_sorted());
        for (index, place) in places.iter().enumerate() {
            let behind = moderation.kept(Some(place)).map(|(place, ..)| place);
            assert_eq!(behind.collect::<Vec<_>>(), places[index + 1..], "{place:?}");
        }
    }
}
