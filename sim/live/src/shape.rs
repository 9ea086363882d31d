//! The types of the fields that servers answer with. An answer with a field of another type is not
//! valid as a whole: taken for absent, such a field could hide what the judge looks for.

use serde_json::Value;

use Kind::{Flag, List, Map, Number, Text};

/// What a field may hold.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Flag,
    /// A whole number up to this one.
    Number(u64),
    Map(Fields),
    List(Fields),
}

/// The known fields of a map. Each may be left out, or null.
type Fields = &'static [(&'static str, Kind)];

const WHOLE: Kind = Number(u64::MAX);
const COUNT: Kind = Number(u32::MAX as u64);
const LEVEL: Kind = Number(u8::MAX as u64);

/// All tools' results, each of which has some of the fields.
const REPLY: Fields = &[
    ("error", Map(ERROR)),
    ("handle", Text),
    ("inbox_uri", Text),
    ("status", Text),
    ("user_id", Text),
    ("room_id", Text),
    ("partner", Map(WHO)),
    ("position", COUNT),
    ("estimated_wait_seconds", WHOLE),
    ("left", Flag),
    ("room_seq", WHOLE),
    ("timestamp", Text),
    ("turns_left", COUNT),
    ("place", COUNT),
    ("epoch", WHOLE),
    ("holder", Map(WHO)),
    ("lease_expires_in_seconds", WHOLE),
    ("draft_length", COUNT),
    ("truncated", COUNT),
    ("draft_suffix", Text),
    ("message", Text),
    ("stress_level", LEVEL),
    ("boss_alert_level", LEVEL),
    ("events", List(EVENT)),
    ("notices", List(NOTICE)),
    ("cursor", WHOLE),
    ("more", Flag),
    ("unread", WHOLE),
    ("messages", List(PAST)),
    ("users", List(MEMBER)),
];

const ERROR: Fields = &[
    ("code", Text),
    ("retry_after_ms", WHOLE),
    ("earlier_attempt", Text),
];

const WHO: Fields = &[("user_id", Text), ("display_name", Text)];

const EVENT: Fields = &[
    ("seq", WHOLE),
    ("type", Text),
    ("timestamp", Text),
    ("room_id", Text),
    ("room_seq", WHOLE),
    ("partner", Map(WHO)),
    ("sender", Map(WHO)),
    ("user", Map(WHO)),
    ("message", Text),
    ("epoch", WHOLE),
    ("reason", Text),
    ("place", COUNT),
    ("lease_seconds", WHOLE),
    ("from_seq", WHOLE),
    ("to_seq", WHOLE),
    ("rooms", List(LOST)),
];

const LOST: Fields = &[
    ("room_id", Text),
    ("from_room_seq", WHOLE),
    ("to_room_seq", WHOLE),
    ("messages", WHOLE),
    ("you", Text),
    ("members_changed", Flag),
    ("stick", Text),
    ("epoch", WHOLE),
    ("stick_changed", Flag),
    ("ended", Text),
];

const NOTICE: Fields = &[
    ("type", Text),
    ("timestamp", Text),
    ("room_id", Text),
    ("user", Map(WHO)),
    ("waited_seconds", WHOLE),
];

const PAST: Fields = &[
    ("room_seq", WHOLE),
    ("timestamp", Text),
    ("sender", Map(WHO)),
    ("message", Text),
    ("epoch", WHOLE),
];

const MEMBER: Fields = &[
    ("user_id", Text),
    ("display_name", Text),
    ("presence", Text),
    ("since", Text),
];

/// Whether all known fields of a result have their types.
pub(super) fn is_reply(json: &Value) -> bool {
    fits(json, REPLY)
}

/// Whether all known fields of an event have their types.
pub(super) fn is_event(json: &Value) -> bool {
    fits(json, EVENT)
}

fn fits(json: &Value, fields: Fields) -> bool {
    let Value::Object(map) = json else {
        return false;
    };
    fields.iter().all(|(key, kind)| match map.get(*key) {
        None | Some(Value::Null) => true,
        Some(value) => kind.takes(value),
    })
}

impl Kind {
    fn takes(self, value: &Value) -> bool {
        match self {
            Text => value.is_string(),
            Flag => value.is_boolean(),
            Number(most) => value.as_u64().is_some_and(|number| number <= most),
            Map(fields) => fits(value, fields),
            List(fields) => {
                let items = value.as_array();
                items.is_some_and(|items| items.iter().all(|item| fits(item, fields)))
            }
        }
    }
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
            assert!(is_reply(&good), "{good}");
        }
        for wrong in [
            json!([]),
            json!({ "stress_level": 256 }),
            json!({ "turns_left": "3" }),
            json!({ "error": "muted" }),
            json!({ "messages": [{ "epoch": -1 }] }),
            json!({ "events": { "seq": 1 } }),
            json!({ "events": [{ "seq": 1, "room_seq": "1" }] }),
            json!({ "events": [{ "seq": 1, "rooms": [{ "members_changed": 1 }] }] }),
        ] {
            assert!(!is_reply(&wrong), "{wrong}");
        }
        assert!(!is_event(&json!({ "seq": 1, "user": "user_1" })));
    }
}
