//! Time never goes back, and no deadline is missed.

use chat_core::{Continuity, Entry, Span, Time};
use proptest::prelude::*;

use crate::journal::{journal, run, step};

proptest! {
    #[test]
    fn deadlines_come_in_order_and_no_sooner(
        journal in journal(),
        beyond in proptest::collection::vec(0..90u64, 100),
    ) {
        let mut hub = journal.hub();
        for ((at, entry), beyond) in journal.entries.iter().zip(beyond) {
            step(&mut hub, *at, entry);
            let listed = hub.deadlines();
            prop_assert!(listed.is_sorted());
            prop_assert_eq!(listed.first().map(|(at, ..)| *at), hub.poll_timeout());
            if let Some(next) = hub.poll_timeout() {
                let mut before = hub.clone();
                before.handle_timeout(Time((next.0 - 1).max(hub.now().0)));
                prop_assert_eq!(before.poll_effect(), None);
                prop_assert_eq!(before.poll_timeout(), Some(next));
            }
            let now = hub.now() + Span::secs(beyond);
            let mut later = hub.clone();
            later.handle_timeout(now);
            prop_assert!(later.poll_timeout().is_none_or(|next| next > now));
            prop_assert_eq!(later.now(), now);
        }
    }

    #[test]
    fn time_never_goes_back(journal in journal()) {
        let (mut hub, mut clamped) = (journal.hub(), journal.hub());
        for (at, entry) in &journal.entries {
            let before = hub.now();
            let outcome = step(&mut hub, *at, entry);
            prop_assert_eq!(hub.now(), before.max(*at));
            // An entry with an earlier time is handled at the time of the entry before.
            prop_assert_eq!(outcome, step(&mut clamped, before.max(*at), entry));
        }
        prop_assert_eq!(hub.digest(), clamped.digest());
    }

    #[test]
    fn when_all_are_gone_nothing_is_left_to_wait_for(journal in journal()) {
        let mut hub = journal.hub();
        run(&mut hub, &journal.entries);
        // Streams keep a participant present for ever; downtime closes them.
        let resumed = Entry::Resumed {
            config: Box::new(journal.config.clone()),
            version: "test".into(),
            continuity: Continuity::Whole,
        };
        let now = hub.now();
        step(&mut hub, now, &resumed);
        step(&mut hub, now + Span::secs(60), &Entry::Tick);
        prop_assert_eq!(hub.poll_timeout(), None);
        let left = hub.sizes().into_iter().filter(|size| size.size > 0);
        let left: Vec<_> = left.map(|size| size.name).collect();
        let kept = ["reports", "reports_per_address", "bans"];
        prop_assert!(left.iter().all(|name| kept.contains(name)), "{:?}", left);
    }
}
