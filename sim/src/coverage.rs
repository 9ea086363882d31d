//! What of the core's behaviour a run reached: every way to refuse, every type of event, every kind
//! of timer, every way in which a stick changes hands. The core gives the lists, so that what is
//! new there is counted here, from 0.

use std::collections::BTreeMap;

use chat_core::{Figures, Reject, StickMove, TimerKind};
use serde::Serialize;

use crate::names::EVENTS;

/// Codes that no scenario can reach, and why. They are not counted; the core's own tests give each
/// but the first.
pub const OUT_OF_REACH: [(&str, &str); 3] = [
    (
        "handle_required",
        "a call without a handle is refused before it becomes one of the core's calls",
    ),
    (
        "blocked",
        "operators ban addresses where scenarios are drawn alone",
    ),
    (
        "shutting_down",
        "no scenario stops a server in good order but those that are drawn",
    ),
];

/// How often each was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Refusals by code, those that clients retry without a word among them.
    pub rejects: BTreeMap<&'static str, u64>,
    /// Events by type, as clients received them.
    pub events: BTreeMap<&'static str, u64>,
    /// Timers that fired, by kind.
    pub timers: BTreeMap<&'static str, u64>,
    /// Moves of sticks and of claims on them.
    pub stick: BTreeMap<&'static str, u64>,
}

impl Default for Coverage {
    fn default() -> Self {
        let in_reach = |code: &&&str| !OUT_OF_REACH.iter().any(|(far, _)| far == *code);
        let none = |name: &'static str| (name, 0);
        Self {
            rejects: Reject::CODES
                .iter()
                .filter(in_reach)
                .map(|code| none(code))
                .collect(),
            events: EVENTS.iter().map(|event| none(event)).collect(),
            timers: TimerKind::ALL
                .iter()
                .map(|kind| none(kind.name()))
                .collect(),
            stick: StickMove::ALL.iter().map(|how| none(how.name())).collect(),
        }
    }
}

impl Coverage {
    /// The server refused something.
    pub(crate) fn refused(&mut self, code: &'static str) {
        *self.rejects.entry(code).or_default() += 1;
    }

    /// Clients received events of this type.
    pub(crate) fn received(&mut self, event: &'static str, times: u64) {
        *self.events.entry(event).or_default() += times;
    }

    /// What the server did since it was looked at last: mostly nothing that is counted here, and
    /// then nothing is looked up.
    pub(crate) fn worked(&mut self, before: &Figures, now: &Figures) {
        for kind in TimerKind::ALL {
            let fired = now.fired(*kind).saturating_sub(before.fired(*kind));
            if fired > 0 {
                *self.timers.entry(kind.name()).or_default() += fired;
            }
        }
        for how in StickMove::ALL {
            let moved = now.moved(*how).saturating_sub(before.moved(*how));
            if moved > 0 {
                *self.stick.entry(how.name()).or_default() += moved;
            }
        }
    }

    /// Adds what another run reached.
    pub(crate) fn add(&mut self, other: &Self) {
        for (mine, theirs) in [
            (&mut self.rejects, &other.rejects),
            (&mut self.events, &other.events),
            (&mut self.timers, &other.timers),
            (&mut self.stick, &other.stick),
        ] {
            for (name, n) in theirs {
                *mine.entry(name).or_default() += n;
            }
        }
    }

    /// Each group by its name, and what was reached in it.
    #[must_use]
    pub fn groups(&self) -> [(&'static str, &BTreeMap<&'static str, u64>); 4] {
        [
            ("rejects", &self.rejects),
            ("events", &self.events),
            ("timers", &self.timers),
            ("stick", &self.stick),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reached_is_counted_and_what_is_not_shows_as_none() {
        let mut one = Coverage::default();
        one.refused("chat_ended");
        one.received("gap", 1);
        let mut all = Coverage::default();
        all.add(&one);
        all.add(&one);
        assert_eq!((all.rejects["chat_ended"], all.events["gap"]), (2, 2));
        assert_eq!((all.rejects["muted"], all.timers["lease"]), (0, 0));
        assert_eq!(
            all.groups().map(|(_, group)| group.len()),
            [
                Reject::CODES.len() - OUT_OF_REACH.len(),
                EVENTS.len(),
                TimerKind::ALL.len(),
                StickMove::ALL.len(),
            ]
        );
    }

    #[test]
    fn codes_out_of_reach_are_codes() {
        for (code, _) in OUT_OF_REACH {
            assert!(Reject::CODES.contains(&code), "{code}");
            assert!(!Coverage::default().rejects.contains_key(code));
        }
    }
}
