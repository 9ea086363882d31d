//! Faults.

use serde_json::{Map, Value, json};

use super::forms::{closed, count, described, named, one_of, refer, some};
use crate::fault::{
    ACT_KEYS, ACTS, FAIL_DISK_KEYS, FAULT_KEYS, KINDS, MAX_COUNT, MILESTONE_KEYS, MILESTONES,
    SLOW_DISK_KEYS, VICTIM_KEYS, milestone_names,
};

/// `faults`.
pub(super) fn faults() -> Value {
    json!({
        "description": "Faults, and their times.",
        "type": "array",
        "items": refer("Fault")
    })
}

/// One fault.
pub(super) fn fault() -> Value {
    let truth = json!({ "type": "boolean" });
    let mut fault = closed(
        "One fault: `at` or `at_milestone`, and exactly one kind.",
        FAULT_KEYS,
        [
            described(
                refer("Duration"),
                "The time from the start; with `at_milestone`, the time from which milestones count, 0s by default.",
            ),
            milestone(),
            described(json!({ "const": "server" }), "The server crashes."),
            described(
                json!({ "const": "server" }),
                "The server shuts down: it accepts no new calls, finishes the accepted ones, and stops.",
            ),
            described(
                refer("Duration"),
                "With `crash` and `stop`: how long it stays down.",
            ),
            described(
                truth.clone(),
                "With `crash`: whether uncommitted journal entries are lost; false by default.",
            ),
            described(
                refer("Victims"),
                "No packet passes between these users and the server.",
            ),
            described(
                refer("Victims"),
                "These users read nothing from their streams.",
            ),
            described(refer("Victims"), "These users' processes stop."),
            slow_disk(),
            fail_disk(),
            described(refer("Duration"), "The server's clock jumps ahead."),
            described(
                refer("Config"),
                "Changes these keys of `server` from the server's next start on.",
            ),
            described(
                json!({ "const": "replies" }),
                "The next replies of the server are lost; at a milestone that is committed, all replies of its commit.",
            ),
            operator(),
            described(
                truth,
                "Whether a live run, where not every fault is possible, may leave it out.",
            ),
        ],
        &[],
    );
    fault["anyOf"] = json!([{ "required": ["at"] }, { "required": ["at_milestone"] }]);
    fault["oneOf"] = KINDS
        .iter()
        .map(|kind| json!({ "required": [kind] }))
        .collect();
    fault["dependentRequired"] = json!({
        "crash": ["down_for"],
        "stop": ["down_for"],
        "lose_unsynced": ["crash"]
    });
    let goes_down = ["crash", "stop"].map(|kind| json!({ "required": [kind] }));
    fault["dependentSchemas"] = json!({ "down_for": { "anyOf": goes_down } });
    fault
}

fn milestone() -> Value {
    let words = MILESTONES.map(|group| one_of(&milestone_names(group)));
    let [sometimes, stick, timer] = words;
    let mut milestone = closed(
        "The fault starts when the run reaches this.",
        MILESTONE_KEYS,
        [
            described(sometimes, "A `sometimes` point."),
            described(
                stick,
                "A change of a stick, when it is committed and before any client learns of it.",
            ),
            described(
                timer,
                "A timer that fires, when that is committed and before any client learns of it.",
            ),
            described(
                count(1, u64::from(MAX_COUNT)),
                "The fault starts when the milestone is reached for this time; 1 by default.",
            ),
        ],
        &[],
    );
    let groups = MILESTONES.iter();
    milestone["oneOf"] = groups.map(|group| json!({ "required": [group] })).collect();
    milestone
}

fn slow_disk() -> Value {
    closed(
        "Each commit takes longer.",
        SLOW_DISK_KEYS,
        [
            described(count(2, 1_000_000), "The factor."),
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
                "Whether the outcome of the appends is known only when the fault ends; false by default.",
            ),
        ],
        &["for"],
    )
}

/// The users that a fault affects.
pub(super) fn victims() -> Value {
    let mut users = described(some(&named()), "In the steps form: these users.");
    users["uniqueItems"] = json!(true);
    let mut victims = closed(
        "The affected users, and for how long.",
        VICTIM_KEYS,
        [
            described(
                refer("Ratio"),
                "The probability with which the fault affects each present user.",
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
            "In the steps form: this user. Otherwise one of the present users is drawn.",
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
