//! What servers answer with. Each field may be left out, or null. An answer with a field of another type is
//! not valid as a whole: taken for absent, such a field could hide what the judge looks for.

use std::sync::Arc;

use chat_types::{Epoch, RoomSeq, Seq};
use serde::Deserialize;

/// A result of any tool, which has some of these fields.
#[derive(Debug, Deserialize)]
pub(super) struct ReplyJson {
    pub(super) error: Option<ErrorJson>,
    pub(super) handle: Option<Arc<str>>,
    pub(super) inbox_uri: Option<Arc<str>>,
    pub(super) status: Option<String>,
    pub(super) user_id: Option<String>,
    pub(super) room_id: Option<String>,
    pub(super) partner: Option<WhoJson>,
    pub(super) position: Option<u32>,
    pub(super) estimated_wait_seconds: Option<u64>,
    pub(super) left: Option<bool>,
    pub(super) room_seq: Option<RoomSeq>,
    pub(super) timestamp: Option<String>,
    pub(super) turns_left: Option<u32>,
    pub(super) place: Option<u32>,
    pub(super) epoch: Option<Epoch>,
    pub(super) holder: Option<WhoJson>,
    pub(super) lease_expires_in_seconds: Option<u64>,
    pub(super) draft_length: Option<u32>,
    pub(super) truncated: Option<u32>,
    pub(super) draft_suffix: Option<Box<str>>,
    pub(super) message: Option<String>,
    pub(super) stress_level: Option<u8>,
    pub(super) boss_alert_level: Option<u8>,
    pub(super) events: Option<Vec<EventJson>>,
    pub(super) notices: Option<Vec<EventJson>>,
    pub(super) cursor: Option<Seq>,
    pub(super) more: Option<bool>,
    pub(super) unread: Option<u64>,
    pub(super) messages: Option<Vec<EventJson>>,
    pub(super) users: Option<Vec<MemberJson>>,
}

/// A refusal.
#[derive(Debug, Deserialize)]
pub(super) struct ErrorJson {
    pub(super) code: Option<String>,
    pub(super) retry_after_ms: Option<u64>,
    pub(super) earlier_attempt: Option<String>,
    /// With a flattened field, a list is none.
    #[serde(flatten)]
    _object: (),
}

/// A participant.
#[derive(Debug, Deserialize)]
pub(super) struct WhoJson {
    pub(super) user_id: Option<String>,
    pub(super) display_name: Option<String>,
    /// With a flattened field, a list is none.
    #[serde(flatten)]
    _object: (),
}

/// An event of an inbox, a gap, a notice, or a message of a history, which has some of these fields.
#[derive(Debug, Deserialize)]
pub(super) struct EventJson {
    pub(super) seq: Option<u64>,
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) timestamp: Option<String>,
    pub(super) room_id: Option<String>,
    pub(super) room_seq: Option<RoomSeq>,
    pub(super) partner: Option<WhoJson>,
    pub(super) sender: Option<WhoJson>,
    pub(super) user: Option<WhoJson>,
    pub(super) message: Option<String>,
    pub(super) to: Option<Vec<WhoJson>>,
    pub(super) epoch: Option<Epoch>,
    pub(super) reason: Option<String>,
    pub(super) place: Option<u32>,
    pub(super) lease_seconds: Option<u64>,
    pub(super) waited_seconds: Option<u64>,
    pub(super) from_seq: Option<Seq>,
    pub(super) to_seq: Option<Seq>,
    pub(super) rooms: Option<Vec<LostJson>>,
}

/// What a gap lost of one room.
#[derive(Debug, Deserialize)]
pub(super) struct LostJson {
    pub(super) room_id: Option<String>,
    pub(super) from_room_seq: Option<RoomSeq>,
    pub(super) to_room_seq: Option<RoomSeq>,
    pub(super) messages: Option<u64>,
    pub(super) you: Option<String>,
    pub(super) members_changed: Option<bool>,
    pub(super) stick: Option<String>,
    pub(super) epoch: Option<Epoch>,
    pub(super) stick_changed: Option<bool>,
    pub(super) ended: Option<String>,
}

/// A member of a room.
#[derive(Debug, Deserialize)]
pub(super) struct MemberJson {
    #[serde(flatten)]
    pub(super) who: WhoJson,
    pub(super) presence: Option<String>,
    pub(super) since: Option<String>,
    pub(super) read_to: Option<RoomSeq>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_may_be_unknown_or_left_out_but_not_of_another_type() {
        for good in [
            json!({}),
            json!({ "handle": null, "tea": ["served"] }),
            json!({ "stress_level": 255, "events": [{ "seq": 1, "rooms": [{ "messages": 2 }] }] }),
        ] {
            assert!(ReplyJson::deserialize(&good).is_ok(), "{good}");
        }
        for wrong in [
            json!([]),
            json!({ "stress_level": 256 }),
            json!({ "turns_left": "3" }),
            json!({ "error": "muted" }),
            json!({ "partner": ["user_1", "Ann"] }),
            json!({ "messages": [{ "epoch": -1 }] }),
            json!({ "events": { "seq": 1 } }),
            json!({ "events": [{ "seq": 1, "room_seq": "1" }] }),
            json!({ "events": [{ "seq": 1, "rooms": [{ "members_changed": 1 }] }] }),
        ] {
            assert!(ReplyJson::deserialize(&wrong).is_err(), "{wrong}");
        }
        let user = json!({ "seq": 1, "user": "user_1" });
        assert!(EventJson::deserialize(&user).is_err());
    }
}
