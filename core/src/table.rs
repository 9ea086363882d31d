//! A hash table that hides its order.

use std::hash::Hash;

use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize, Serializer};

use crate::digest::{Printed, fingerprint};
use crate::mix;

#[expect(
    clippy::disallowed_types,
    reason = "this is the one place that keeps its order hidden"
)]
type Map<K, V> = std::collections::HashMap<K, V, FxBuildHasher>;

/// A map with access in constant time, which can be walked only in the order of its keys.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent, bound(deserialize = "Map<K, V>: Deserialize<'de>"))]
pub(crate) struct Table<K, V>(Map<K, V>);

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self(Map::default())
    }
}

impl<K: Eq + Hash, V: PartialEq> PartialEq for Table<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<K: Copy + Ord + Hash, V> Table<K, V> {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.0.get(key)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.0.get_mut(key)
    }

    pub(crate) fn get_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.0.entry(key).or_default()
    }

    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.0.insert(key, value)
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let value = self.0.remove(key);
        // A table frees memory in steps as its entries are removed.
        if self.0.len() * 8 < self.0.capacity() && self.0.capacity() > 1_024 {
            self.0.shrink_to(self.0.len() * 2);
        }
        value
    }

    /// The largest size of a value.
    pub(crate) fn most(&self, size: impl Fn(&V) -> usize) -> usize {
        self.0.values().map(size).max().unwrap_or_default()
    }

    /// All entries, in the order of their keys.
    pub(crate) fn sorted(&self) -> impl Iterator<Item = (K, &V)> {
        let keys = self.sorted_keys().into_iter();
        keys.filter_map(|key| Some((key, self.get(&key)?)))
    }

    /// All keys, in order. The cost of the sort is for snapshots, digests and checks only.
    pub(crate) fn sorted_keys(&self) -> Vec<K> {
        let mut keys: Vec<K> = self.0.keys().copied().collect();
        keys.sort_unstable();
        keys
    }
}

impl<K: Copy + Ord + Hash + Serialize, V: Serialize> Table<K, Printed<V>> {
    /// A fingerprint of all entries. The sum of the entries' fingerprints needs no order.
    pub(crate) fn print(&self) -> u64 {
        let entries = self.0.iter();
        let prints = entries.map(|(key, value)| mix(fingerprint(key), value.print()));
        prints.fold(self.0.len() as u64, u64::wrapping_add)
    }
}

impl<K: Copy + Ord + Hash + Serialize, V: Serialize> Serialize for Table<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Their number is known, and comes first: formats without delimiters need it.
        let keys = self.sorted_keys().into_iter();
        serializer.collect_map(keys.map(|key| (key, &self.0[&key])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables with fewer entries than this do not shrink.
    const SMALL: usize = 1_024;

    #[test]
    fn a_table_shrinks_in_few_steps_as_entries_leave() {
        let mut table = Table::default();
        for key in 0..10_000_u32 {
            table.insert(key, ());
        }
        let mut sizes = vec![table.0.capacity()];
        for key in 0..10_000 {
            let before = table.0.capacity();
            assert_eq!(table.remove(&key), Some(()));
            let (left, after) = (table.len(), table.0.capacity());
            if after == before {
                assert!(after <= SMALL || left * 8 >= after, "{left} in {after}");
                continue;
            }
            assert!(left * 8 < before && before > SMALL, "{left} in {before}");
            assert!(after >= left * 2, "room for {after}, and {left} are left");
            sizes.push(after);
        }
        assert!(sizes.len() <= 3, "each move costs time: {sizes:?}");
        assert!(sizes.last() <= Some(&SMALL), "{sizes:?}");
    }
}
