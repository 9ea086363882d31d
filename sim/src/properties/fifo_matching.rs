//! Under FIFO nobody is overtaken in line.
//!
//! A line longer than one comes about only among those who cannot be matched with one another.
//! Somebody was overtaken if another, who asked to stand in line only after the first was told to
//! wait, was matched with one whom the first could have met, and the first was in line all the
//! time: it was matched later out of the same wait, or still waits at the end.

use chat_core::config::Matching;

use super::findings::{Findings, Property, name};
use super::ledger::Ledger;
use super::line::Overtaken;

/// The property.
#[derive(Clone, Debug, Default)]
pub(crate) struct FifoMatching {
    pub(crate) checks: u64,
}

impl FifoMatching {
    /// A match was judged, and these were passed over.
    pub(crate) fn judged(&mut self, l: &Ledger, passed_over: &[Overtaken], f: &mut Findings) {
        if l.config.matching == Matching::Fifo {
            self.checks += 1;
            self.overtaken(l, passed_over, f);
        }
    }

    /// These turn out to have been passed over.
    pub(crate) fn overtaken(&self, l: &Ledger, passed_over: &[Overtaken], f: &mut Findings) {
        if l.config.matching != Matching::Fifo {
            return;
        }
        for Overtaken { user, passed } in passed_over {
            let users = [*user, passed.by, passed.with];
            f.blame(Property::FifoMatching, l.clock.now, &users, || {
                format!(
                    "{} was waiting when {} came, yet {} was matched with {} (room_{})",
                    name(*user),
                    name(passed.by),
                    name(passed.by),
                    name(passed.with),
                    passed.room.0,
                )
            });
        }
    }
}
