//! Ticks have no effect of their own, wherever they fall.

use chat_core::{Entry, Time};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::journal::{steady_journal, step};

proptest! {
    /// Advancing the clock takes no position, so the digests are always equal.
    #[test]
    fn letting_time_pass_between_entries_changes_nothing(
        journal in steady_journal(),
        parts in vec(0..=10u64, 100),
    ) {
        let (mut plain, mut ticked) = (journal.hub(), journal.hub());
        let mut last = Time(0);
        for ((at, entry), part) in journal.entries.iter().zip(parts) {
            let between = last.0 + at.0.saturating_sub(last.0) * part / 10;
            ticked.handle_timeout(Time(between));
            let mut effects: Vec<_> = std::iter::from_fn(|| ticked.poll_effect()).collect();
            let outcome = step(&mut plain, *at, entry);
            let same = step(&mut ticked, *at, entry);
            effects.extend(same.effects);
            prop_assert_eq!(outcome.reply, same.reply);
            prop_assert_eq!(outcome.effects, effects);
            prop_assert_eq!(plain.digest(), ticked.digest());
            last = last.max(*at);
        }
    }

    /// A tick in the journal takes a position and has no other effect: with as many ticks at the
    /// end of the other journal, the digests are equal, too. (A position determines the draws of
    /// random matching, and the time of the last entry the length of a downtime, so neither is
    /// included.)
    #[test]
    fn ticks_in_the_journal_take_a_position_and_nothing_else(
        journal in steady_journal(),
        parts in vec(proptest::option::of(0..=10u64), 100),
    ) {
        let (mut plain, mut ticked) = (journal.hub(), journal.hub());
        let (mut last, mut ticks) = (Time(0), 0);
        for ((at, entry), part) in journal.entries.iter().zip(parts) {
            if let Some(part) = part {
                let between = last.0 + at.0.saturating_sub(last.0) * part / 10;
                step(&mut ticked, Time(between), &Entry::Tick);
                ticks += 1;
            }
            prop_assert_eq!(
                step(&mut plain, *at, entry).reply,
                step(&mut ticked, *at, entry).reply
            );
            last = last.max(*at);
        }
        for _ in 0..ticks {
            step(&mut plain, last, &Entry::Tick);
        }
        prop_assert_eq!(plain.position(), ticked.position());
        prop_assert_eq!(plain.digest(), ticked.digest());
    }
}
