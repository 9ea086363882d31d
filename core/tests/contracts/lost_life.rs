//! Numbers of a lost life are not given again.

use chat_core::{Continuity, Effect, Entry, Seq, Span};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::journal::{journal, run, step};

proptest! {
    #[test]
    fn numbers_of_a_lost_life_are_not_given_again(journal in journal(), kept in any::<Index>()) {
        let (mut lost, mut restored) = (journal.hub(), journal.hub());
        run(&mut lost, &journal.entries);
        run(&mut restored, &journal.entries[..kept.index(journal.entries.len() + 1)]);
        let resumed = Entry::Resumed {
            config: journal.config.clone().into(),
            version: "test".into(),
            continuity: Continuity::Broken,
        };
        let mut other = restored.clone();
        let effects = step(&mut restored, lost.now(), &resumed).effects;
        // Another life from the same backup begins behind this one, as soon as there is time between.
        step(&mut other, lost.now() + Span(1), &resumed);
        let (one, other) = (restored.last_numbers(), other.last_numbers());
        prop_assert!(other.user > one.user && other.room > one.room);
        prop_assert!(one.inboxes.iter().all(|(user, end)| other.inboxes[user] > *end));
        prop_assert_eq!(restored.validate(), Ok(()));
        let (given, next) = (lost.last_numbers(), restored.last_numbers());
        prop_assert!(next.user > given.user && next.room > given.room);
        for (room, (place, epoch)) in next.places {
            let given = given.places.get(&room).copied().unwrap_or_default();
            prop_assert!(place > given.0 && (epoch > given.1 || epoch == given.1 && epoch.0 == 0));
        }
        for (user, end) in next.inboxes {
            prop_assert!(effects.contains(&Effect::InboxGrew(user)));
            let cursor = given.inboxes.get(&user).copied().unwrap_or(Seq(0));
            prop_assert!(end > cursor);
            // What the lost life told behind what is kept is in a gap that says so.
            let (mut cursor, mut is_told) = (cursor, false);
            while cursor < end {
                let page = restored.read_inbox(user, cursor, usize::MAX);
                let page = page.expect("a cursor that was given");
                is_told |= page.gaps.iter().any(|gap| gap.rooms_omitted);
                cursor = page.cursor;
            }
            prop_assert!(is_told);
        }
    }
}
