//! Verbs, and the values of each.

use serde_json::{Map, Value, json};

use super::forms::{closed, count, described, named, one_of, refer, some};
use crate::flow::{
    ALPHABETS, AWAIT_KEYS, BREAK_KEYS, CHECK_KEYS, CHOICE_KEYS, DISCONNECT_KEYS, ENTER_QUEUE_KEYS,
    GRANT_KEYS, GRANTS, HISTORY_KEYS, LAST_PLACE, LOGIN_KEYS, LOOP_KEYS, MAX_ROOMS, MAX_WEIGHT,
    MOST_HISTORY, READ_BY, REPORT_KEYS, TEXT_KEYS, break_kinds,
};
use crate::written::{OTHERS, WITH_VALUE, calls, plain};
use sim_model::names::EVENTS;

const DISPLAY_NAME: &str = "The display name; by default the user's own.";

/// A step of a flow.
pub(super) fn step() -> Value {
    let verbs: Vec<&str> = calls().chain(OTHERS).collect();
    described(
        verbs_as_steps(&verbs),
        "One verb: a word, or a key with its arguments.",
    )
}

/// A step of the steps form.
pub(super) fn call() -> Value {
    let verbs: Vec<&str> = calls().chain(["disconnect"]).collect();
    described(
        verbs_as_steps(&verbs),
        "One call, or a disconnection: a word, or a key with its arguments.",
    )
}

fn verbs_as_steps(verbs: &[&str]) -> Value {
    let bare: Vec<_> = verbs.iter().filter(|it| !WITH_VALUE.contains(it)).collect();
    let properties: Map<String, Value> = verbs
        .iter()
        .map(|verb| ((*verb).to_owned(), taken_by(verb)))
        .collect();
    json!({
        "anyOf": [
            { "enum": bare },
            {
                "type": "object",
                "properties": properties,
                "additionalProperties": false,
                "minProperties": 1,
                "maxProperties": 1
            }
        ]
    })
}

/// The value of a verb.
fn taken_by(verb: &str) -> Value {
    if plain(verb).is_some() {
        return json!({ "type": "null" });
    }
    let value = match verb {
        "enter_queue" => enter_queue(),
        "login" => closed(
            "Register under a name and join a room; later, join another.",
            LOGIN_KEYS,
            [
                described(json!({ "type": "string" }), "The room; `lobby` by default."),
                described(
                    count(1, u64::from(MAX_ROOMS)),
                    "More than 1: the user draws one of so many rooms, from `<room>-0` on.",
                ),
                described(json!({ "type": "string" }), DISPLAY_NAME),
            ],
            &[],
        ),
        "send" => words("Send a message."),
        "append" => words("Add to the draft."),
        "check" => check(),
        "report" => closed(
            "Report the partner, or the last speaker.",
            REPORT_KEYS,
            [described(
                json!({ "type": "string" }),
                "The reason; `spam` by default.",
            )],
            &[],
        ),
        "break" => closed(
            "Take a break; in a flow sometimes with a `check_stress_status` at the same time.",
            BREAK_KEYS,
            [
                described(
                    one_of(&break_kinds()),
                    "The kind; any by default. `check_stress_status` is no break, and only shows the stress.",
                ),
                described(
                    json!({ "type": "string" }),
                    "The text of the answer; the server's own by default.",
                ),
            ],
            &[],
        ),
        "history" => history(),
        "talking_stick" => naming("Claim the stick, or ask for the place of the claim."),
        "undo" => naming("Remove the last append."),
        "reset" => naming("Clear the draft, and give up the stick or the claim."),
        other => taken_by_other(other),
    };
    if WITH_VALUE.contains(&verb) {
        value
    } else {
        json!({ "anyOf": [{ "type": "null" }, value] })
    }
}

fn enter_queue() -> Value {
    closed(
        "Enter the queue.",
        ENTER_QUEUE_KEYS,
        [
            described(
                json!({ "type": "array", "items": named() }),
                "The user's interests.",
            ),
            described(json!({ "type": "string" }), DISPLAY_NAME),
            described(
                json!({ "type": "string" }),
                "The public id; by default one like `user_7`. Only a registration may have one.",
            ),
        ],
        &[],
    )
}

fn check() -> Value {
    closed(
        "Read the inbox.",
        CHECK_KEYS,
        [
            described(
                refer("Duration"),
                "How long to wait for an event; 0s by default, at most server.max_wait.",
            ),
            described(
                one_of(&READ_BY.map(|(word, _)| word)),
                "The secret: the handle, or the reader id, which can only read.",
            ),
        ],
        &[],
    )
}

fn naming(about: &str) -> Value {
    closed(
        about,
        GRANT_KEYS,
        [described(
            one_of(&GRANTS.map(|(word, _)| word)),
            "The grant of the stick that the call names: none by default, or the latest that the user knows of, which may be over.",
        )],
        &[],
    )
}

fn history() -> Value {
    closed(
        "Read the room's past messages.",
        HISTORY_KEYS,
        [
            described(
                count(1, u64::from(LAST_PLACE)),
                "Only messages before this position of the room; the newest by default.",
            ),
            described(
                count(1, u64::from(MOST_HISTORY)),
                "The most messages; 50 by default.",
            ),
        ],
        &[],
    )
}

fn taken_by_other(verb: &str) -> Value {
    match verb {
        "await" => json!({
            "description": "Wait for an event that came since the last step that waited for one.",
            "anyOf": [
                one_of(&EVENTS),
                closed(
                    "",
                    AWAIT_KEYS,
                    [
                        described(one_of(&EVENTS), "The event's type."),
                        described(refer("Duration"), "The longest wait; 60s by default."),
                    ],
                    &["event"],
                )
            ]
        }),
        "think" => described(refer("DrawnDuration"), "Do nothing for this time."),
        "loop" => closed(
            "Repeat these steps `count` times.",
            LOOP_KEYS,
            [count(1, 1_000_000), steps()],
            &LOOP_KEYS,
        ),
        "choose" => described(
            some(&closed("", CHOICE_KEYS, [weight(), steps()], &["steps"])),
            "Do one of these, drawn by weight.",
        ),
        _ => closed(
            "Close all connections without leaving.",
            DISCONNECT_KEYS,
            [described(
                refer("Duration"),
                "How long; without it, permanently.",
            )],
            &[],
        ),
    }
}

fn words(about: &str) -> Value {
    let mut object = closed(
        about,
        TEXT_KEYS,
        [
            described(json!({ "type": "string" }), "The text."),
            described(refer("DrawnLength"), "The number of characters."),
            described(
                one_of(&ALPHABETS.map(|(word, _)| word)),
                "The alphabet of random texts; ascii by default.",
            ),
        ],
        &[],
    );
    object["oneOf"] = json!([
        { "required": ["text"], "properties": { "length": false, "alphabet": false } },
        { "required": ["length"], "properties": { "text": false } }
    ]);
    object
}

fn steps() -> Value {
    json!({ "type": "array", "items": refer("Step") })
}

/// A weight.
pub(super) fn weight() -> Value {
    described(
        count(1, u64::from(MAX_WEIGHT)),
        "How often it is drawn, relative to the others; 1 by default.",
    )
}
