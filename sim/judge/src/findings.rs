//! The judge's findings: differences between two facts, each a violation of one property.

use chat_types::Time;
use sim_model::names::PROPERTIES;
use sim_model::outcome::{Class, Violation};
use sim_model::plan::Plan;
use sim_model::protocol::User;

use crate::difference::Difference;

/// A property, in the order of the table in ARCHITECTURE.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is the property of that name")]
pub enum Property {
    NoLostMessages,
    NoDuplicates,
    RoomOrder,
    NoPhantoms,
    SingleMatch,
    FifoMatching,
    StickExclusion,
    StickOrder,
    RoomLifecycle,
    Presence,
    Moderation,
    IdempotentRequests,
    Admission,
    Durability,
    Bounded,
    BreaksRules,
    StreamContinuity,
    Outcomes,
    QueueProgress,
    StickProgress,
    DeliveryProgress,
    Fairness,
    Latency,
}

impl Property {
    /// All properties, in the order of the table.
    pub const ALL: [Self; PROPERTIES.len()] = [
        Self::NoLostMessages,
        Self::NoDuplicates,
        Self::RoomOrder,
        Self::NoPhantoms,
        Self::SingleMatch,
        Self::FifoMatching,
        Self::StickExclusion,
        Self::StickOrder,
        Self::RoomLifecycle,
        Self::Presence,
        Self::Moderation,
        Self::IdempotentRequests,
        Self::Admission,
        Self::Durability,
        Self::Bounded,
        Self::BreaksRules,
        Self::StreamContinuity,
        Self::Outcomes,
        Self::QueueProgress,
        Self::StickProgress,
        Self::DeliveryProgress,
        Self::Fairness,
        Self::Latency,
    ];

    /// The name in scenarios and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        PROPERTIES[self as usize]
    }

    /// The class of the property.
    #[must_use]
    pub const fn class(self) -> Class {
        match self {
            Self::QueueProgress | Self::StickProgress | Self::DeliveryProgress => Class::Liveness,
            Self::Fairness | Self::Latency => Class::Threshold,
            Self::NoLostMessages
            | Self::NoDuplicates
            | Self::RoomOrder
            | Self::NoPhantoms
            | Self::SingleMatch
            | Self::FifoMatching
            | Self::StickExclusion
            | Self::StickOrder
            | Self::RoomLifecycle
            | Self::Presence
            | Self::Moderation
            | Self::IdempotentRequests
            | Self::Admission
            | Self::Durability
            | Self::Bounded
            | Self::BreaksRules
            | Self::StreamContinuity
            | Self::Outcomes => Class::Safety,
        }
    }
}

/// One violation: the property, the time, and the two facts that differ.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The property whose rule is broken.
    pub property: Property,
    /// When it was found, by the server's clock.
    pub at: Time,
    /// The affected participants.
    pub users: Vec<User>,
    /// The expected and the observed fact.
    pub difference: Difference,
}

/// The number of findings kept in full; further ones are only counted.
const KEPT: usize = 100;

/// The findings and the checks of one run.
#[derive(Clone, Debug)]
pub struct Findings {
    judged: [bool; PROPERTIES.len()],
    checks: [u64; PROPERTIES.len()],
    unjudged: [u64; PROPERTIES.len()],
    broken: [u64; PROPERTIES.len()],
    kept: Vec<Finding>,
    is_closed: bool,
}

impl Findings {
    /// No findings yet. Only the plan's properties are judged.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let judged = Property::ALL.map(|property| plan.properties.contains(&property.name()));
        Self {
            judged,
            checks: [0; PROPERTIES.len()],
            unjudged: [0; PROPERTIES.len()],
            broken: [0; PROPERTIES.len()],
            kept: Vec::new(),
            is_closed: false,
        }
    }

    /// Counts comparisons in which the property could have been violated.
    pub fn exercise(&mut self, property: Property, times: u64) {
        self.checks[property as usize] += times;
    }

    /// Counts comparisons that were impossible because a deciding fact is unknown.
    pub fn leave_unjudged(&mut self, property: Property, times: u64) {
        self.unjudged[property as usize] += times;
    }

    /// Records a violation.
    pub fn add(&mut self, finding: Finding) {
        self.is_closed = true;
        let index = finding.property as usize;
        if !self.judged[index] {
            return;
        }
        self.checks[index] += 1;
        self.broken[index] += 1;
        if self.kept.len() < KEPT {
            self.kept.push(finding);
        }
    }

    /// Whether the plan names the property.
    #[must_use]
    pub const fn judges(&self, property: Property) -> bool {
        self.judged[property as usize]
    }

    /// The number of comparisons in which the property could have been violated.
    #[must_use]
    pub const fn checks(&self, property: Property) -> u64 {
        self.checks[property as usize]
    }

    /// The number of comparisons that were impossible.
    #[must_use]
    pub const fn unjudged(&self, property: Property) -> u64 {
        self.unjudged[property as usize]
    }

    /// The number of violations of the property.
    #[must_use]
    pub const fn broken(&self, property: Property) -> u64 {
        self.broken[property as usize]
    }

    /// Whether a difference was found: its consequences are not judged.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// The violations for reports, in the order of time.
    #[must_use]
    pub fn into_violations(mut self) -> Vec<Violation> {
        self.kept.sort_by_key(|finding| finding.at);
        let violation = |finding: Finding| Violation {
            property: finding.property.name().to_owned(),
            at_ms: finding.at.0 as f64 / 1_000.0,
            users: finding.users.iter().map(ToString::to_string).collect(),
            detail: finding.difference.to_string(),
            seed: 0,
        };
        self.kept.into_iter().map(violation).collect()
    }
}
