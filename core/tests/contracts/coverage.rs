//! Random journals are useful only if they reach the core's behaviour.

use std::collections::BTreeSet;

use chat_core::{Caller, Code, Command, Entry, Hub, MeasureTarget, Operate, SecretHash, Seq};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::journal::{Journal, handles, journal, step, users};

/// Codes that no entry is refused with: see `codes.rs` of the behaviour tests.
const NOT_FROM_ENTRIES: [&str; 4] = [
    "overloaded",
    "storage_unavailable",
    "shutting_down",
    "invalid_cursor",
];

/// The number of kinds of events.
const KINDS: usize = 16;

/// The number of cases that `kept` distinguishes.
const KEPT: usize = 5;

/// The behaviour that journals have reached.
#[derive(Default)]
struct Reached {
    codes: BTreeSet<&'static str>,
    kinds: BTreeSet<&'static str>,
    /// The collections that were full, and all collections with a limit.
    full: BTreeSet<&'static str>,
    known: BTreeSet<&'static str>,
    /// The reached cases of mutes, bans and reports.
    kept: BTreeSet<&'static str>,
}

impl Reached {
    fn look(&mut self, journal: &Journal) {
        let mut hub = journal.hub();
        let mut muted = BTreeSet::new();
        for (at, entry) in &journal.entries {
            let before = hub.clone();
            let outcome = step(&mut hub, *at, entry);
            if outcome.reply.is_ok() {
                self.kept.extend(kept(&before, &hub, entry, &muted));
            }
            if let Entry::Operate {
                act: Operate::Mute { user, .. },
                ..
            } = entry
            {
                muted.extend(handles().filter(|handle| hub.user_by_handle(handle) == Some(*user)));
            }
            // A refusal that can be retried would be remembered with its key.
            let reply = outcome.reply.as_ref();
            let is_call = matches!(entry, Entry::Call { .. });
            assert!(!is_call || !reply.is_err_and(|why| why.kind().is_retryable()));
            self.codes.extend(outcome.reply.err().map(|why| why.code()));
            for user in users() {
                let page = hub.read_inbox(user, Seq(0), usize::MAX).ok();
                let events = page.iter().flat_map(|page| &page.events);
                self.kinds.extend(events.map(|(_, event)| event.kind()));
            }
            let sizes = hub.sizes();
            let at_limit = sizes.iter().filter(|size| size.size == size.limit);
            self.full.extend(at_limit.map(|size| size.name));
        }
        self.known.extend(hub.sizes().iter().map(|size| size.name));
    }

    fn is_all(&self) -> bool {
        Code::NAMES.iter().all(|code| self.codes.contains(code))
            && self.kinds.len() == KINDS
            && self.full == self.known
            && self.kept.len() == KEPT
    }
}

/// The case of this entry's effect on mutes and bans; for example, the participant is muted and was
/// not before. `muted` are the handles that operators muted directly.
fn kept(
    before: &Hub,
    after: &Hub,
    entry: &Entry,
    muted: &BTreeSet<SecretHash>,
) -> Option<&'static str> {
    let Entry::Call {
        caller: Caller::Handle(handle) | Caller::New { handle, .. },
        command,
        ..
    } = entry
    else {
        return None;
    };
    let user = after.user_by_handle(handle)?;
    let is_given = *after.who_is(user)?.name == user.to_string();
    let is_muted = |hub: &Hub| Some(hub.participant_view(user)?.is_muted);
    let names = |hub: &Hub| {
        let kept = hub.kept(None).map(|(_, kept, _)| kept);
        kept.filter(|kept| matches!(kept, MeasureTarget::Name(_)))
            .count()
    };
    match (is_muted(before), is_muted(after)) {
        _ if names(after) > names(before) => Some("a muted participant's new name"),
        (None, Some(true)) if is_given => Some("a newcomer by its handle"),
        (None, Some(true)) if !muted.contains(handle) => Some("a newcomer by its name"),
        (Some(false), Some(true)) => Some("a participant by its new name"),
        _ => {
            let is_report = matches!(command, Command::ReportUser { .. });
            let is_second = is_report && before.reports().eq(after.reports());
            is_second.then_some("the first of two reports")
        }
    }
}

#[test]
fn random_journals_reach_every_refusal_event_and_limit() {
    let mut runner = TestRunner::deterministic();
    let mut reached = Reached {
        codes: NOT_FROM_ENTRIES.into(),
        // The holder of a stick is a member, too, so its line is always one shorter than the room.
        full: BTreeSet::from(["stick_line"]),
        ..Reached::default()
    };
    for _ in 0..4_000 {
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
    assert_eq!(reached.codes, Code::NAMES.iter().copied().collect());
    assert_eq!(reached.kinds.len(), KINDS, "{:?}", reached.kinds);
    assert_eq!(reached.full, reached.known);
    assert_eq!(reached.kept.len(), KEPT, "{:?}", reached.kept);
}
