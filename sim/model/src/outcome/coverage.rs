//! Coverage of the core's behaviour: every code of a refusal, every type of event, every kind of
//! timer, every transition of a stick; 0 for what a run never reached.

use std::borrow::Cow;
use std::collections::BTreeMap;

use chat_types::Code;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::{STICK_MOVES, TIMERS};
use crate::protocol::EVENTS;

/// Codes that no scenario can reach. They are not counted. The core's own tests reach all but the first.
pub const OUT_OF_REACH: [&str; 3] = [
    // A call without a handle is refused before it becomes one of the core's calls.
    "handle_required",
    // Operators ban addresses where scenarios are drawn alone.
    "blocked",
    // No scenario stops a server in good order but those that are drawn.
    "shutting_down",
];

/// The counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// Refusals by code, including those that clients retry without a record.
    pub rejects: BTreeMap<Cow<'static, str>, u64>,
    /// Events by type, counted at clients.
    pub events: BTreeMap<Cow<'static, str>, u64>,
    /// Timers that fired, by kind.
    pub timers: BTreeMap<Cow<'static, str>, u64>,
    /// Transitions of sticks and of claims on them.
    pub stick: BTreeMap<Cow<'static, str>, u64>,
}

impl Default for Coverage {
    fn default() -> Self {
        let none = |names: &[&'static str]| {
            let names = names.iter().map(|name| (Cow::Borrowed(*name), 0));
            names.collect::<BTreeMap<_, _>>()
        };
        let mut rejects = none(Code::NAMES);
        rejects.retain(|code, _| !OUT_OF_REACH.contains(&&**code));
        Self {
            rejects,
            events: none(&EVENTS),
            timers: none(&TIMERS),
            stick: none(&STICK_MOVES),
        }
    }
}

impl Coverage {
    /// Counts a refusal.
    pub fn record_refusal(&mut self, code: &'static str) {
        *self.rejects.entry(code.into()).or_default() += 1;
    }

    /// Counts received events of this type.
    pub fn record_event(&mut self, event: &'static str, times: u64) {
        *self.events.entry(event.into()).or_default() += times;
    }

    /// Adds the coverage of another run.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in [
            (&mut self.rejects, &other.rejects),
            (&mut self.events, &other.events),
            (&mut self.timers, &other.timers),
            (&mut self.stick, &other.stick),
        ] {
            for (name, n) in theirs {
                *mine.entry(name.clone()).or_default() += n;
            }
        }
    }

    /// Each group by its name, with its counts.
    #[must_use]
    pub fn groups(&self) -> [(&'static str, &BTreeMap<Cow<'static, str>, u64>); 4] {
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
    fn coverage_counts_reached_codes_and_lists_the_others() {
        let mut one = Coverage::default();
        one.record_refusal("chat_ended");
        one.record_event("gap", 1);
        let mut all = Coverage::default();
        all.add(&one);
        all.add(&one);
        assert_eq!((all.rejects["chat_ended"], all.events["gap"]), (2, 2));
        assert_eq!((all.rejects["muted"], all.timers["lease"]), (0, 0));
        assert_eq!(
            all.groups().map(|(_, group)| group.len()),
            [
                Code::NAMES.len() - OUT_OF_REACH.len(),
                EVENTS.len(),
                TIMERS.len(),
                STICK_MOVES.len(),
            ]
        );
    }

    #[test]
    fn unreachable_codes_exist() {
        for code in OUT_OF_REACH {
            assert!(Code::NAMES.contains(&code), "{code}");
            assert!(!Coverage::default().rejects.contains_key(code));
        }
    }
}
