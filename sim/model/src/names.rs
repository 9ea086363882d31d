//! The closed lists of names that scenarios and results use: properties, metrics, event types, and
//! the core's codes, timers and transitions of sticks. A test in `sim-world`, which depends on the
//! core, compares the last three with the core's own lists.

use serde::Serialize;

/// Whether a property is judged in the safety or in the liveness phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Nothing bad happens.
    Safety,
    /// Something good happens in time, once the faults are healed.
    Liveness,
    /// A metric meets its threshold.
    Threshold,
}

chat_types::listed! {
    /// A property, in the order of the table in ARCHITECTURE.md.
    #[expect(missing_docs, reason = "each is the property of that name")]
    Property {
        NoLostMessages "no_lost_messages",
        NoDuplicates "no_duplicates",
        RoomOrder "room_order",
        NoPhantoms "no_phantoms",
        SingleMatch "single_match",
        FifoMatching "fifo_matching",
        StickExclusion "stick_exclusion",
        StickOrder "stick_order",
        RoomLifecycle "room_lifecycle",
        Presence "presence",
        Moderation "moderation",
        IdempotentRequests "idempotent_requests",
        Admission "admission",
        Durability "durability",
        Bounded "bounded",
        BreaksRules "breaks_rules",
        StreamContinuity "stream_continuity",
        Outcomes "outcomes",
        OneOwner "one_owner",
        NodesAgree "nodes_agree",
        LogProgress "log_progress",
        QueueProgress "queue_progress",
        StickProgress "stick_progress",
        DeliveryProgress "delivery_progress",
        Fairness "fairness",
        Latency "latency",
    }
}

impl Class {
    /// The class of the property of this name. A panic, which is no property, is as grave as a safety
    /// violation.
    #[must_use]
    pub fn of(property: &str) -> Self {
        let known = Property::ALL.iter().find(|known| known.name() == property);
        known.map_or(Self::Safety, |known| known.class())
    }
}

impl Property {
    /// The class of the property.
    #[must_use]
    pub const fn class(self) -> Class {
        if matches!(
            self,
            Self::LogProgress | Self::QueueProgress | Self::StickProgress | Self::DeliveryProgress
        ) {
            Class::Liveness
        } else if matches!(self, Self::Fairness | Self::Latency) {
            Class::Threshold
        } else {
            Class::Safety
        }
    }
}

/// The names of the properties that a scenario with so many servers is judged by: on one server,
/// three are about nothing.
#[must_use]
pub fn properties_of(servers: u32) -> Vec<&'static str> {
    let is_judged = |property: &&Property| {
        let is_of_several = matches!(
            property,
            Property::OneOwner | Property::NodesAgree | Property::LogProgress
        );
        servers > 1 || !is_of_several
    };
    let judged = Property::ALL.iter().filter(is_judged);
    judged.map(|property| property.name()).collect()
}

/// The names of all properties.
pub const PROPERTIES: [&str; Property::ALL.len()] = {
    let mut names = [""; Property::ALL.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = Property::ALL[index].name();
        index += 1;
    }
    names
};

/// Every metric that a threshold may name.
pub const METRICS: [&str; 18] = [
    "message_latency",
    "queue_wait",
    "stick_wait",
    "request_latency",
    "commit_latency",
    "stick_turns",
    "matches",
    "bytes_per_message",
    "lost",
    "duplicated",
    "reordered",
    "phantom",
    "gapped",
    "refused",
    "unanswered",
    "retries",
    "stuck",
    "left_out",
];

/// Every code of a refusal.
pub const REJECTS: [&str; 31] = [
    "room_not_found",
    "chat_ended",
    "not_in_room",
    "room_ambiguous",
    "stick_required",
    "no_stick",
    "already_waiting",
    "already_chatting",
    "user_id_taken",
    "name_taken",
    "name_not_allowed",
    "user_not_found",
    "handle_required",
    "unknown_handle",
    "invalid_arguments",
    "invalid_cursor",
    "request_key_reused",
    "message_empty",
    "message_too_long",
    "draft_empty",
    "draft_full",
    "muted",
    "blocked",
    "rate_limited",
    "queue_full",
    "room_full",
    "address_full",
    "server_full",
    "overloaded",
    "storage_unavailable",
    "shutting_down",
];

/// Every kind of timer of the server.
pub const TIMERS: [&str; 3] = ["presence", "lease", "patience"];

/// Every transition of a stick or of a claim on it.
pub const STICK_MOVES: [&str; 15] = [
    "granted_at_once",
    "queued",
    "granted_from_line",
    "expired",
    "released_by_push",
    "released_by_reset",
    "released_by_leave",
    "released_by_away",
    "released_by_mute",
    "released_by_kick",
    "withdrawn_by_reset",
    "withdrawn_by_leave",
    "withdrawn_by_away",
    "withdrawn_by_mute",
    "withdrawn_by_kick",
];
