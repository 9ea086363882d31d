//! The common parts of the document: parameters, refusals, events, participants.

use chat_core::LINE_SHOWN;
use serde_json::{Value, json};

use super::{integer, object, string};

/// `components` of the document.
pub(super) fn components() -> Value {
    json!({
        "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
        "parameters": parameters(),
        "responses": {
            "refused": {
                "description": "Refused: the code says why, the message what to do.",
                "content": {
                    "application/json": { "schema": { "$ref": "#/components/schemas/Refused" } },
                },
            },
        },
        "schemas": {
            "Refused": {
                "type": "object",
                "required": ["error"],
                "properties": {
                    "error": {
                        "type": "object",
                        "required": ["code", "message"],
                        "properties": {
                            "code": string(),
                            "message": string(),
                            "retry_after_ms": integer(),
                            "earlier_attempt": { "enum": ["none", "unknown"] },
                        },
                    },
                },
            },
            "User": {
                "type": "object",
                "required": ["user_id", "display_name"],
                "properties": { "user_id": string(), "display_name": string() },
            },
            "Visitor": object(json!({
                "user_id": string(),
                "display_name": string(),
                "presence": { "enum": ["present", "reconnecting", "away"] },
                "waiting_seconds": { "type": ["integer", "null"] },
                "stress_level": { "type": ["integer", "null"] },
                "boss_alert_level": { "type": ["integer", "null"] },
            })),
            "NamedRoom": object(json!({
                "room_id": string(),
                "name": string(),
                "members": integer(),
                "holder": { "anyOf": [{ "$ref": "#/components/schemas/User" }, { "type": "null" }] },
                "epoch": { "type": ["integer", "null"] },
                "lease_expires_in_seconds": { "type": ["integer", "null"] },
                "stick_line": integer(),
                "next_in_line": {
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/User" },
                    "maxItems": LINE_SHOWN,
                },
            })),
            "Event": {
                "type": "object",
                "required": ["type"],
                "properties": {
                    "seq": integer(),
                    "type": string(),
                    "timestamp": string(),
                    "room_id": string(),
                    "room_seq": integer(),
                },
            },
            "Gap": gap(),
            "GapRoom": gap_room(),
        },
    })
}

fn gap() -> Value {
    json!({
        "description": "The event of type `gap`: these places of your inbox are gone. `rooms` \
                        names a room where the last of something in it is gone: each loss is \
                        told once, in the gap where it happened.",
        "type": "object",
        "required": ["seq", "type", "from_seq", "to_seq", "lost", "rooms", "rooms_omitted"],
        "properties": {
            "seq": integer(),
            "type": { "const": "gap" },
            "from_seq": integer(),
            "to_seq": integer(),
            "lost": integer(),
            "rooms": { "type": "array", "items": { "$ref": "#/components/schemas/GapRoom" } },
            "rooms_omitted": { "type": "boolean" },
        },
    })
}

fn gap_room() -> Value {
    json!({
        "description": "What is gone of one room. Both `room_seq` and `messages` count all that \
                        is gone of it; `messages` is 0 unless the last of them is in this gap. \
                        `you` and `stick` are your own last change, absent if that is not in \
                        this gap.",
        "type": "object",
        "required": [
            "room_id", "from_room_seq", "to_room_seq", "messages", "members_changed",
            "stick_changed",
        ],
        "properties": {
            "room_id": string(),
            "from_room_seq": integer(),
            "to_room_seq": integer(),
            "messages": integer(),
            "you": { "enum": ["matched", "joined", "left", "kicked"] },
            "members_changed": { "type": "boolean" },
            "stick": { "enum": ["granted", "released", "expired"] },
            "epoch": integer(),
            "stick_changed": { "type": "boolean" },
            "ended": { "enum": ["left", "timeout", "blocked", "turn_limit", "closed"] },
        },
    })
}

fn parameters() -> Value {
    let parameter = |name: &str, place: &str, what: &str, schema: Value| json!({ "name": name, "in": place, "description": what, "schema": schema });
    json!({
        "handle": parameter("Chat-Handle", "header", "Your handle.", string()),
        "reader": parameter("reader", "query", "Your reader id, instead of the handle.", string()),
        "after": parameter("after", "query", "The last event you have.", integer()),
        "last_event_id": parameter("Last-Event-ID", "header", "As `after`, and before it.", integer()),
        "about": parameter("user_id", "query", "The participant.", string()),
        "behind": parameter("after", "query", "From behind this name.", string()),
        "limit": parameter("limit", "query", "At most so many.", json!({ "type": "integer", "minimum": 1 })),
    })
}
