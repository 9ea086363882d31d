//! Two runs with one configuration, seed and list of entries give the same replies, effects and
//! digest, and break no invariant.

use proptest::prelude::*;

use crate::journal::{journal, run, step};

proptest! {
    #[test]
    fn the_same_entries_give_the_same_sound_state(journal in journal()) {
        let (mut one, mut other) = (journal.hub(), journal.hub());
        for (at, entry) in &journal.entries {
            prop_assert_eq!(step(&mut one, *at, entry), step(&mut other, *at, entry));
            prop_assert_eq!(one.digest(), other.digest());
            prop_assert_eq!(one.validate(), Ok(()));
            let sizes = one.sizes();
            prop_assert_eq!(sizes.iter().find(|size| size.size > size.limit), None);
        }
    }

    #[test]
    fn the_digest_tells_journals_apart(journal in journal(), drop in any::<prop::sample::Index>()) {
        let (mut all, mut some) = (journal.hub(), journal.hub());
        run(&mut all, &journal.entries);
        let mut fewer = journal.entries.clone();
        fewer.remove(drop.index(fewer.len()));
        run(&mut some, &fewer);
        // At least the position differs.
        prop_assert_ne!(all.digest(), some.digest());
    }
}
