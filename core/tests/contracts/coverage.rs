//! The random journals are worth something only if they get about.

use std::collections::BTreeSet;

use chat_core::{Reject, Seq};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::journal::{Journal, journal, step, users};

/// What no entry is refused with: see `codes.rs` of the behaviour tests.
const NOT_FROM_ENTRIES: [&str; 5] = [
    "overloaded",
    "storage_unavailable",
    "shutting_down",
    "blocked",
    "invalid_cursor",
];

/// How many kinds of events there are.
const KINDS: usize = 16;

/// What journals were seen to reach.
#[derive(Default)]
struct Reached {
    codes: BTreeSet<&'static str>,
    kinds: BTreeSet<&'static str>,
    /// The collections that were full, and all that have a limit.
    full: BTreeSet<&'static str>,
    known: BTreeSet<&'static str>,
}

impl Reached {
    fn look(&mut self, journal: &Journal) {
        let mut hub = journal.hub();
        for (at, entry) in &journal.entries {
            let outcome = step(&mut hub, *at, entry);
            self.codes.extend(outcome.reply.err().map(|why| why.code()));
            for user in users() {
                let page = hub.read_inbox(user, Seq(0), usize::MAX).ok();
                let events = page.iter().flat_map(|page| &page.events);
                self.kinds.extend(events.map(|event| event.kind()));
            }
            let sizes = hub.sizes();
            let at_limit = sizes.iter().filter(|size| size.size == size.limit);
            self.full.extend(at_limit.map(|size| size.name));
        }
        self.known.extend(hub.sizes().iter().map(|size| size.name));
    }

    fn is_all(&self) -> bool {
        Reject::CODES.iter().all(|code| self.codes.contains(code))
            && self.kinds.len() == KINDS
            && self.full == self.known
    }
}

#[test]
fn random_journals_reach_every_refusal_every_event_and_every_limit() {
    let mut runner = TestRunner::deterministic();
    let mut reached = Reached {
        codes: NOT_FROM_ENTRIES.into(),
        // Whoever holds the stick is a member too, so those who wait are always one fewer.
        full: BTreeSet::from(["stick_line"]),
        ..Reached::default()
    };
    for _ in 0..1_000 {
        let tree = journal().new_tree(&mut runner).expect("a journal");
        reached.look(
            &tree
                .current()
                .under(|config| config.max_answer = config.inbox_limit),
        );
        if reached.is_all() {
            return;
        }
    }
    assert_eq!(reached.codes, Reject::CODES.iter().copied().collect());
    assert_eq!(reached.kinds.len(), KINDS, "{:?}", reached.kinds);
    assert_eq!(reached.full, reached.known);
}
