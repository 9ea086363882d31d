//! Faults.

use serde_json::{Map, Value, json};

use super::forms::{closed, count, described, named, one_of, refer, some};
use crate::scenario::fault::{
    ACT_KEYS, ACTS, FAIL_DISK_KEYS, FAULT_KEYS, KINDS, SLOW_DISK_KEYS, VICTIM_KEYS,
};

/// `faults`.
pub(super) fn faults() -> Value {
    json!({
        "description": "What goes wrong, and when.",
        "type": "array",
        "items": refer("Fault")
    })
}

/// One fault.
pub(super) fn fault() -> Value {
    let truth = json!({ "type": "boolean" });
    let mut fault = closed(
        "One thing that goes wrong: `at`, and exactly one kind.",
        FAULT_KEYS,
        [
            described(refer("Duration"), "When, from the start."),
            described(json!({ "const": "server" }), "The server dies."),
            described(refer("Duration"), "With `crash`: how long it stays down."),
            described(
                truth.clone(),
                "With `crash`: whether what was not yet committed is lost; false by default.",
            ),
            described(
                refer("Victims"),
                "Nothing passes between these users and the server.",
            ),
            described(
                refer("Victims"),
                "These users read nothing from their streams.",
            ),
            described(refer("Victims"), "These users' processes stop."),
            slow_disk(),
            fail_disk(),
            described(refer("Duration"), "The server's clock jumps ahead."),
            operator(),
            described(
                truth,
                "Whether a live run, which cannot do every fault, may leave it out.",
            ),
        ],
        &["at"],
    );
    fault["oneOf"] = KINDS
        .iter()
        .map(|kind| json!({ "required": [kind] }))
        .collect();
    fault["dependentRequired"] = json!({
        "crash": ["down_for"],
        "down_for": ["crash"],
        "lose_unsynced": ["crash"]
    });
    fault
}

fn slow_disk() -> Value {
    closed(
        "Each commit takes longer.",
        SLOW_DISK_KEYS,
        [
            described(count(2, 1_000_000), "So many times as long."),
            refer("Duration"),
        ],
        &SLOW_DISK_KEYS,
    )
}

fn fail_disk() -> Value {
    closed(
        "Each append to the journal fails.",
        FAIL_DISK_KEYS,
        [
            refer("Duration"),
            described(
                json!({ "type": "boolean" }),
                "Whether their fate is known only when the fault ends; false by default.",
            ),
        ],
        &["for"],
    )
}

/// Whom a fault strikes.
pub(super) fn victims() -> Value {
    let mut users = described(some(&named()), "In the steps form: these users.");
    users["uniqueItems"] = json!(true);
    let mut victims = closed(
        "Whom it strikes, and for how long.",
        VICTIM_KEYS,
        [
            described(
                refer("Ratio"),
                "Each user who is there, with this probability.",
            ),
            users,
            refer("Duration"),
        ],
        &["for"],
    );
    victims["oneOf"] = json!([{ "required": ["share"] }, { "required": ["users"] }]);
    victims
}

fn operator() -> Value {
    let whom = closed(
        "",
        ACT_KEYS,
        [described(
            named(),
            "In the steps form: this user. Otherwise one of those who are there is drawn.",
        )],
        &[],
    );
    let acts: Map<String, Value> = ACTS
        .iter()
        .map(|act| {
            (
                (*act).to_owned(),
                json!({ "anyOf": [{ "type": "null" }, whom] }),
            )
        })
        .collect();
    json!({
        "description": "An operator acts.",
        "anyOf": [
            one_of(&ACTS),
            {
                "type": "object",
                "properties": acts,
                "additionalProperties": false,
                "minProperties": 1,
                "maxProperties": 1
            }
        ]
    })
}
