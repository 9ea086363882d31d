//! The closed lists of names that scenarios and results use: properties, metrics, event types, and
//! the core's codes, timers and transitions of sticks. A test in `sim-world`, which depends on the
//! core, compares the last three with the core's own lists.

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
