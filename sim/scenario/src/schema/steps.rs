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
        "One verb: a word, or a key with what it takes.",
    )
}

/// A step of the steps form.
pub(super) fn call() -> Value {
    let verbs: Vec<&str> = calls().chain(["disconnect"]).collect();
    described(
        verbs_as_steps(&verbs),
        "One call, or a disconnection: a word, or a key with what it takes.",
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
        "send" => words("Say something."),
        "append" => words("Add to the draft."),
        "check" => check(),
        "report" => closed(
            "Report the partner, or whoever spoke last.",
            REPORT_KEYS,
            [described(
                json!({ "type": "string" }),
                "Why; `spam` by default.",
            )],
            &[],
        ),
        "break" => closed(
            "Take a break; in a flow, now and then with a look at one's stress meanwhile.",
            BREAK_KEYS,
            [
                described(
                    one_of(&break_kinds()),
                    "Which; any by default. `check_stress_status` is none, but a look alone.",
                ),
                described(
                    json!({ "type": "string" }),
                    "What to say of it; the server's own words by default.",
                ),
            ],
            &[],
        ),
        "history" => history(),
        "talking_stick" => naming("Claim the stick, or ask for one's place."),
        "undo" => naming("Take the last append back."),
        "reset" => naming("Clear the draft, and give the stick or the claim up."),
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
        "Stand in the line.",
        ENTER_QUEUE_KEYS,
        [
            described(
                json!({ "type": "array", "items": named() }),
                "What one would talk about.",
            ),
            described(json!({ "type": "string" }), DISPLAY_NAME),
            described(
                json!({ "type": "string" }),
                "The public id to be known by; `user_7` and the like by default. Only a registration may carry one.",
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
                "How long to wait for something to come; 0s by default, at most server.max_wait.",
            ),
            described(
                one_of(&READ_BY.map(|(word, _)| word)),
                "By which secret: the handle, or the reader id, which can do nothing else.",
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
            "Which grant of the stick the call names: none by default, or the latest that the user heard of, which may be over.",
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
                "Only messages before this place of the room; the newest by default.",
            ),
            described(
                count(1, u64::from(MOST_HISTORY)),
                "At most so many; 50 by default.",
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
                        described(refer("Duration"), "At most so long; 60s by default."),
                    ],
                    &["event"],
                )
            ]
        }),
        "think" => described(refer("DrawnDuration"), "Do nothing for a while."),
        "loop" => closed(
            "Do these steps so many times.",
            LOOP_KEYS,
            [count(1, 1_000_000), steps()],
            &LOOP_KEYS,
        ),
        "choose" => described(
            some(&closed("", CHOICE_KEYS, [weight(), steps()], &["steps"])),
            "Do one of these, drawn by weight.",
        ),
        _ => closed(
            "Drop all connections without a word.",
            DISCONNECT_KEYS,
            [described(
                refer("Duration"),
                "For so long; without it, for good.",
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
            described(json!({ "type": "string" }), "These words."),
            described(refer("DrawnLength"), "So many characters."),
            described(
                one_of(&ALPHABETS.map(|(word, _)| word)),
                "What they are drawn from; ascii by default.",
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
        "How often it is drawn, against the others; 1 by default.",
    )
}
