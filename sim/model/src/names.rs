//! The closed lists of names that scenarios may use: properties, metrics and event types.

/// Every property, in the order of the table in ARCHITECTURE.md.
pub const PROPERTIES: [&str; 23] = [
    "no_lost_messages",
    "no_duplicates",
    "room_order",
    "no_phantoms",
    "single_match",
    "fifo_matching",
    "stick_exclusion",
    "stick_order",
    "room_lifecycle",
    "presence",
    "moderation",
    "idempotent_requests",
    "admission",
    "durability",
    "bounded",
    "breaks_rules",
    "stream_continuity",
    "outcomes",
    "queue_progress",
    "stick_progress",
    "delivery_progress",
    "fairness",
    "latency",
];

/// Every metric that a threshold may name.
pub const METRICS: [&str; 16] = [
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
    "retries",
    "stuck",
];

/// Every event type that an `await` may name.
pub const EVENTS: [&str; 17] = [
    "chatroom.found",
    "message.received",
    "partner.disconnected",
    "partner.away",
    "partner.reconnected",
    "user.joined",
    "user.left",
    "user.away",
    "user.back",
    "stick.claimed",
    "stick.granted",
    "stick.released",
    "stick.expired",
    "moderation.muted",
    "moderation.kicked",
    "moderation.closed",
    "gap",
];
