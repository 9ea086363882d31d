//! The judge's findings: differences between two facts, each a violation of one property.

use std::collections::BTreeMap;

use chat_types::{Span, Time};
use sim_model::names::PROPERTIES;
pub(crate) use sim_model::names::Property;
use sim_model::outcome::{PropertyResult, Violation};
use sim_model::plan::Plan;

use crate::difference::{Difference, Fact};
use crate::sentence::Sentence;

/// One violation: the property, the time, and the two facts that differ.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// The property whose rule is broken.
    pub(crate) property: Property,
    /// When it was found, by the server's clock.
    pub(crate) at: Time,
    /// The expected and the observed fact.
    pub(crate) difference: Difference,
}

impl Finding {
    pub(crate) const fn of(property: Property, at: Time, difference: Difference) -> Self {
        Self {
            property,
            at,
            difference,
        }
    }
}

/// The number of findings kept in full; further ones are only counted.
const KEPT: usize = 100;

/// The findings and the checks of one run.
#[derive(Clone, Debug)]
pub(crate) struct Findings {
    counts: [Count; PROPERTIES.len()],
    kept: Vec<Finding>,
    /// Whether a difference was found: its consequences are not judged.
    pub(crate) is_closed: bool,
}

/// The counts of one property.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// Whether the plan names it.
    is_judged: bool,
    checks: u64,
    unjudged: u64,
    broken: u64,
}

impl Findings {
    /// No findings yet. Only the plan's properties are judged.
    pub(crate) fn new(plan: &Plan) -> Self {
        let count = |name| Count {
            is_judged: plan.properties.contains(&name),
            ..Count::default()
        };
        Self {
            counts: PROPERTIES.map(count),
            kept: Vec::new(),
            is_closed: false,
        }
    }

    /// Counts comparisons in which the property could have been violated.
    pub(crate) fn exercise(&mut self, property: Property, times: u64) {
        self.counts[property as usize].checks += times;
    }

    /// Counts comparisons that were impossible because a deciding fact is unknown.
    pub(crate) fn leave_unjudged(&mut self, property: Property, times: u64) {
        self.counts[property as usize].unjudged += times;
    }

    /// Records a violation.
    pub(crate) fn add(&mut self, finding: Finding) {
        self.is_closed = true;
        let count = &mut self.counts[finding.property as usize];
        if !count.is_judged {
            return;
        }
        count.checks += 1;
        count.broken += 1;
        if self.kept.len() < KEPT {
            self.kept.push(finding);
        }
    }

    /// Records a violation, if there is one.
    pub(crate) fn add_found(&mut self, found: Option<Box<Finding>>) {
        if let Some(finding) = found {
            self.add(*finding);
        }
    }

    /// Counts a comparison, and records that these facts contradict each other if it does not hold.
    pub(crate) fn compare(
        &mut self,
        property: Property,
        holds: bool,
        at: Time,
        facts: impl FnOnce() -> [Fact; 2],
    ) {
        self.exercise(property, 1);
        if !holds {
            self.contradict(property, at, facts());
        }
    }

    /// Records that two facts contradict each other.
    pub(crate) fn contradict(&mut self, property: Property, at: Time, facts: [Fact; 2]) {
        let difference = Difference::Witnessed(Box::new(facts));
        self.add(Finding::of(property, at, difference));
    }

    /// Adds the findings of a second judge of the same run. Comparisons that it left unjudged count
    /// only where no others were made. Its violations count only if there are no others: they may
    /// be consequences.
    pub(crate) fn join(&mut self, other: Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            if count.checks == 0 {
                count.unjudged += more.unjudged;
            }
            count.checks += more.checks - more.broken;
        }
        if !self.is_closed {
            other.kept.into_iter().for_each(|finding| self.add(finding));
        }
    }

    /// The number of violations of the property.
    pub(crate) const fn broken(&self, property: Property) -> u64 {
        self.counts[property as usize].broken
    }

    /// The result of each property of the plan.
    pub(crate) fn results(&self) -> BTreeMap<&'static str, PropertyResult> {
        let counted = Property::ALL.iter().zip(&self.counts);
        let judged = counted.filter(|(_, count)| count.is_judged);
        let result = |(property, count): (&Property, &Count)| {
            let result = PropertyResult {
                held: (count.checks > 0).then_some(count.broken == 0),
                checks: count.checks,
                unjudged: count.unjudged,
            };
            (property.name(), result)
        };
        judged.map(result).collect()
    }

    /// The violations for reports, in the order of time.
    pub(crate) fn into_violations(mut self) -> Vec<Violation> {
        self.kept.sort_by_key(|finding| finding.at);
        let violation = |finding: Finding| {
            let sentence = Sentence::of(&finding.difference);
            let users = finding.difference.users();
            let mut subject = sentence.subject(&users);
            finding.difference.add_facts(&mut subject);
            Violation {
                property: finding.property.name().to_owned(),
                at: Span(finding.at.0),
                detail: sentence.to_string(),
                seed: 0,
                subject,
                users,
            }
        };
        self.kept.into_iter().map(violation).collect()
    }
}
