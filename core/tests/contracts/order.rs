//! An inbox has no holes, and all members of a room receive its events in one order.

use std::collections::BTreeMap;

use chat_core::{Body, Effect, Entry, Event, Hub, Implied, RoomId, RoomSeq, Seq, UserId};
use proptest::prelude::*;

use crate::journal::{journal, step};

/// Reads new events of an inbox that never overflows.
fn news(hub: &Hub, user: UserId, after: Seq) -> Vec<(Seq, std::sync::Arc<Event>)> {
    let page = hub.read_inbox(user, after, usize::MAX).expect("registered");
    assert_eq!(page.gaps, []);
    assert_eq!(page.first(), after.next());
    page.events
}

proptest! {
    #[test]
    fn inboxes_have_no_holes_and_rooms_one_order(journal in journal()) {
        let journal = journal.under(|config| {
            (config.inbox_limit, config.max_answer) = (10_000, 10_000);
        });
        let mut hub = journal.hub();
        let mut ends: BTreeMap<UserId, Seq> = BTreeMap::new();
        let mut last: BTreeMap<(UserId, RoomId), RoomSeq> = BTreeMap::new();
        let mut known: BTreeMap<(RoomId, RoomSeq), std::sync::Arc<Event>> = BTreeMap::new();
        for (at, entry) in &journal.entries {
            if matches!(entry, Entry::Implied { implied: Implied::Read { .. }, .. }) {
                continue;
            }
            let effects = step(&mut hub, *at, entry).effects;
            for effect in effects {
                let Effect::InboxGrew(user) = effect else { continue };
                if hub.inbox_cursors(user).is_none() {
                    continue;
                }
                let end = ends.entry(user).or_default();
                for (seq, event) in news(&hub, user, *end) {
                    prop_assert_eq!(seq, end.next());
                    *end = seq;
                    let before = last.insert((user, event.room), event.room_seq);
                    prop_assert!(before < Some(event.room_seq), "{:?}", event);
                    if let Body::Message { sender, .. } = &event.body {
                        prop_assert_ne!(sender.id, user);
                    }
                    let first = known.entry((event.room, event.room_seq)).or_insert_with(|| event.clone());
                    prop_assert_eq!(&*first, &event);
                }
            }
        }
        // In a room, times follow its order.
        for (one, other) in known.values().zip(known.values().skip(1)) {
            prop_assert!(one.room != other.room || one.at <= other.at);
        }
    }
}
