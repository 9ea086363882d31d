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
        "description": "What goes wrong, and when.",
        "type": "array",
        "items": refer("Fault")
    })
}

/// One fault.
pub(super) fn fault() -> Value {
    let truth = json!({ "type": "boolean" });
    let mut fault = closed(
        "One thing that goes wrong: `at` or `at_milestone`, and exactly one kind.",
        FAULT_KEYS,
        [
            described(
                refer("Duration"),
                "When, from the start; with `at_milestone`, from when on that counts, 0s by default.",
            ),
            milestone(),
            described(json!({ "const": "server" }), "The server dies."),
            described(
                json!({ "const": "server" }),
                "The server takes nothing new, finishes what it took, and stops.",
            ),
            described(
                refer("Duration"),
                "With `crash` and `stop`: how long it stays down.",
            ),
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
            described(
                refer("Config"),
                "From its next start on, the server is configured otherwise: these keys differ from `server`.",
            ),
            described(
                json!({ "const": "replies" }),
                "The next answers that the server sends get lost; at a milestone that is committed, all that its commit answers.",
            ),
            operator(),
            described(
                truth,
                "Whether a live run, which cannot do every fault, may leave it out.",
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
        "Strikes at the moment when the run reaches this.",
        MILESTONE_KEYS,
        [
            described(sometimes, "A `sometimes` point."),
            described(
                stick,
                "A move of a stick, when it is committed and before anybody hears of it.",
            ),
            described(
                timer,
                "A timer that fires, when that is committed and before anybody hears of it.",
            ),
            described(
                count(1, u64::from(MAX_COUNT)),
                "For the how many-th time; 1 by default.",
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

/// The users that a fault affects.
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
