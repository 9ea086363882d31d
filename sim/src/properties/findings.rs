//! What was found broken, and by whom: the one list that all properties write to.

use chat_core::Time;

use crate::names::PROPERTIES;
use crate::plan::Plan;
use crate::protocol::User;
use crate::result::{Class, Violation};

/// A property, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Property {
    NoLostMessages,
    NoDuplicates,
    RoomOrder,
    NoPhantoms,
    SingleMatch,
    FifoMatching,
    StickExclusion,
    StickOrder,
    RoomLifecycle,
    IdempotentRequests,
    Durability,
    Bounded,
    BreaksRules,
    QueueProgress,
    StickProgress,
    DeliveryProgress,
    Fairness,
    Latency,
}

impl Property {
    /// All of them, in the order of the table.
    pub(crate) const ALL: [Self; PROPERTIES.len()] = [
        Self::NoLostMessages,
        Self::NoDuplicates,
        Self::RoomOrder,
        Self::NoPhantoms,
        Self::SingleMatch,
        Self::FifoMatching,
        Self::StickExclusion,
        Self::StickOrder,
        Self::RoomLifecycle,
        Self::IdempotentRequests,
        Self::Durability,
        Self::Bounded,
        Self::BreaksRules,
        Self::QueueProgress,
        Self::StickProgress,
        Self::DeliveryProgress,
        Self::Fairness,
        Self::Latency,
    ];

    /// The name that scenarios and reports write.
    pub(crate) const fn name(self) -> &'static str {
        PROPERTIES[self as usize]
    }

    /// When it is judged.
    pub(crate) const fn class(self) -> Class {
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
            | Self::IdempotentRequests
            | Self::Durability
            | Self::Bounded
            | Self::BreaksRules => Class::Safety,
        }
    }
}

/// Violations kept in full; those beyond are only counted, since one bug breaks a run many times.
const KEPT: usize = 100;

/// The violations of one run.
#[derive(Clone, Debug)]
pub(crate) struct Findings {
    judged: [bool; PROPERTIES.len()],
    broken: [u64; PROPERTIES.len()],
    kept: Vec<Violation>,
    safety_broken: bool,
}

impl Findings {
    /// Nothing found yet. Only the plan's properties are ever blamed.
    pub(crate) fn new(plan: &Plan) -> Self {
        let judged = Property::ALL.map(|property| plan.properties.contains(&property.name()));
        Self {
            judged,
            broken: [0; PROPERTIES.len()],
            kept: Vec::new(),
            safety_broken: false,
        }
    }

    /// The property is broken. `detail` is only written down if there is room for it.
    pub(crate) fn blame(
        &mut self,
        property: Property,
        at: Time,
        users: &[User],
        detail: impl FnOnce() -> String,
    ) {
        let index = property as usize;
        if !self.judged[index] {
            return;
        }
        self.broken[index] += 1;
        self.safety_broken |= property.class() == Class::Safety;
        if self.kept.len() < KEPT {
            self.kept.push(Violation {
                property: property.name().to_owned(),
                at_ms: at.0 as f64 / 1_000.0,
                users: users.iter().map(|user| name(*user)).collect(),
                detail: detail(),
                seed: 0,
            });
        }
    }

    /// Whether the run is judged by this property.
    pub(crate) const fn judges(&self, property: Property) -> bool {
        self.judged[property as usize]
    }

    /// Whether the property was broken at least once.
    pub(crate) const fn is_broken(&self, property: Property) -> bool {
        self.broken[property as usize] > 0
    }

    /// Whether any safety property was broken.
    pub(crate) const fn safety_is_broken(&self) -> bool {
        self.safety_broken
    }

    /// The violations, the first first.
    pub(crate) fn into_violations(mut self) -> Vec<Violation> {
        self.kept.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
        self.kept
    }
}

/// A user as the protocol writes it.
pub(crate) fn name(user: User) -> String {
    format!("user_{}", user.0)
}
