//! What participants reported and operators decided.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use chat_types::Time;
use serde::{Deserialize, Serialize};

use crate::id::{Address, SecretHash, UserId};
use crate::name::Keys;

/// Reports, and what operators keep from coming back.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Moderation {
    pub(crate) reports: VecDeque<Report>,
    /// By the key of the name in lower case.
    names: BTreeMap<Box<str>, Ban>,
    /// The other keys of these names, each with the one in lower case that it belongs to.
    spellings: BTreeSet<(Box<str>, Box<str>)>,
    /// By the hash of the handle; with the key in lower case of its owner's name.
    handles: BTreeMap<SecretHash, (Box<str>, Ban)>,
    pub(crate) addresses: BTreeMap<Address, Ban>,
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
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    pub(crate) handle: SecretHash,
    /// The keys of its display name, and whether the participant chose it.
    pub(crate) name: &'a Keys,
    pub(crate) is_chosen: bool,
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

    /// What is kept by name, each with the key of the name in lower case, in the order of those.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &Ban)> {
        self.names.iter().map(|(name, ban)| (&**name, ban))
    }

    /// How many names, handles and addresses are kept.
    pub(crate) fn bans(&self) -> usize {
        self.names.len() + self.handles.len() + self.addresses.len()
    }

    /// How many more are kept once this participant's are.
    pub(crate) fn missing(&self, known: Known<'_>) -> usize {
        let name = known.is_chosen && !self.names.contains_key(&known.name.lower);
        usize::from(name) + usize::from(!self.handles.contains_key(&known.handle))
    }

    /// Keeps the participant's handle, and its name if it chose it.
    pub(crate) fn keep(&mut self, known: Known<'_>, ban: Ban) {
        let lower = &known.name.lower;
        let handle = (lower.clone(), ban.clone());
        self.handles.insert(known.handle, handle);
        if known.is_chosen {
            self.forget_name(lower);
            for key in &known.name.others {
                self.spellings.insert((key.clone(), lower.clone()));
            }
            self.names.insert(lower.clone(), ban);
        }
    }

    /// The muted participant took a name: keeps that, too, if its handle is kept. One name for
    /// each handle: a participant that registers again and again does not fill what is kept.
    pub(crate) fn follow(&mut self, known: Known<'_>) {
        if let Some((name, ban)) = self.handles.get(&known.handle)
            && !self.names.contains_key(name)
        {
            let ban = ban.clone();
            self.keep(known, ban);
        }
    }

    /// What is kept of a handle.
    pub(crate) fn of_handle(&self, handle: &SecretHash) -> Option<Measure> {
        self.handles.get(handle).map(|(_, ban)| ban.measure)
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
        kept.map(|ban| ban.measure).max()
    }

    /// Drops what is kept of the participant as muted.
    pub(crate) fn unmute(&mut self, known: Known<'_>) {
        let mut names = vec![known.name.lower.clone()];
        if self.of_handle(&known.handle) == Some(Measure::Mute) {
            names.extend(self.handles.remove(&known.handle).map(|(name, _)| name));
        }
        for name in names {
            let kept = self.names.get(&name);
            if kept.is_some_and(|ban| ban.measure == Measure::Mute) {
                self.forget_name(&name);
            }
        }
    }

    /// Drops what is kept of the name with this key in lower case, and of handles under it.
    pub(crate) fn drop_name(&mut self, lower: &str) {
        self.forget_name(lower);
        self.handles.retain(|_, (of, _)| **of != *lower);
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

    #[test]
    fn the_keys_of_a_name_that_is_kept_again_replace_those_before() {
        let keys = |lower: &str, other: &str| Keys {
            lower: lower.into(),
            others: [other].map(Box::from).into(),
        };
        let ban = Ban {
            measure: Measure::Ban,
            at: Time(0),
            by: "olga".into(),
            reason: "spam".into(),
        };
        let mut moderation = Moderation::default();
        for other in ["first", "second"] {
            let known = Known {
                handle: SecretHash([0; 16]),
                name: &keys("name", other),
                is_chosen: true,
            };
            moderation.keep(known, ban.clone());
        }
        let is_kept = |name| moderation.of_name(&keys("new", name)).is_some();
        assert!(is_kept("name") && is_kept("second") && !is_kept("first"));
        assert_eq!(moderation.bans(), 2, "the name and the handle");
    }
}
