//! The random journals are worth something only if they get about.

use std::collections::BTreeSet;

use chat_core::{Reject, Seq};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::journal::{journal, step, users};

/// What no entry is refused with: see `codes.rs` of the behaviour tests.
const NOT_FROM_ENTRIES: [&str; 5] = [
    "overloaded",
    "storage_unavailable",
    "shutting_down",
    "blocked",
    "invalid_cursor",
];

#[test]
fn random_journals_reach_every_refusal_every_event_and_every_limit() {
    let mut runner = TestRunner::deterministic();
    let (mut codes, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    let (mut full, mut known) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..1_000 {
        let tree = journal().new_tree(&mut runner).expect("a journal");
        let journal = tree
            .current()
            .under(|config| config.max_answer = config.inbox_limit);
        let mut hub = journal.hub();
        for (at, entry) in &journal.entries {
            let outcome = step(&mut hub, *at, entry);
            codes.extend(outcome.reply.err().map(|why| why.code()));
            for user in users() {
                let page = hub.read_inbox(user, Seq(0), usize::MAX).ok();
                let events = page.iter().flat_map(|page| &page.events);
                kinds.extend(events.map(|event| event.kind()));
            }
            let sizes = hub.sizes();
            let at_limit = sizes.iter().filter(|size| size.size == size.limit);
            full.extend(at_limit.map(|size| size.name));
        }
        known.extend(hub.sizes().iter().map(|size| size.name));
    }
    codes.extend(NOT_FROM_ENTRIES);
    assert_eq!(codes, Reject::CODES.iter().copied().collect());
    assert_eq!(kinds.len(), 16, "{kinds:?}");
    // Whoever holds the stick is a member too, so those who wait are always one fewer.
    full.insert("stick_line");
    assert_eq!(full, known);
}
