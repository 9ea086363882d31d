//! Phases and personas, users and their steps.

use serde_json::{Value, json};

use super::forms::{closed, count, described, named, one_of, refer, some};
use super::steps::weight;
use crate::script::{ARGUMENTS, NET_KEYS, OPENING_KEYS, RETRY_KEYS, STEP_KEYS, USER_KEYS};
use crate::workload::{
    HABIT_KEYS, MAX_USERS, MODES, NAMINGS, PERSONA_KEYS, PHASE_KEYS, READS, STREAMS,
};

/// `phases`.
pub(super) fn phases() -> Value {
    described(
        some(&refer("Phase")),
        "Periods in which users arrive, one after another, within `duration`.",
    )
}

/// `scenarios`.
pub(super) fn personas() -> Value {
    described(
        some(&refer("Persona")),
        "The kinds of users, drawn by weight.",
    )
}

/// `users`.
pub(super) fn users() -> Value {
    let streams = STREAMS.map(|(name, _)| name);
    let opening = closed(
        "",
        OPENING_KEYS,
        [
            described(refer("Delivery"), "The delivery of the request."),
            described(
                refer("Duration"),
                "The delivery of the reply that it is open.",
            ),
        ],
        &[],
    );
    let user = closed(
        "A user: its name, and the stream that it opens.",
        USER_KEYS,
        [
            described(named(), "Its name."),
            described(
                one_of(&streams),
                "The event stream that it opens: none, one by its handle (events), or one by its reader id; events by default.",
            ),
            described(
                json!({ "type": "array", "items": opening }),
                "The network's effects on each opening of its stream, in turn.",
            ),
        ],
        &["name"],
    );
    let user = json!({ "anyOf": [named(), user] });
    let mut list = described(some(&user), "The steps form: the users' names.");
    list["uniqueItems"] = json!(true);
    list
}

/// `steps`.
pub(super) fn script() -> Value {
    described(
        some(&refer("ScriptStep")),
        "The steps form: what each user does, and when.",
    )
}

/// One phase.
pub(super) fn phase() -> Value {
    let rate = json!({ "type": "number", "minimum": 0, "maximum": 1_000_000 });
    let modes = MODES.map(|(name, _)| name);
    let mut phase = closed(
        "Users arriving at a rate, a number of users, or a pause.",
        PHASE_KEYS,
        [
            described(named(), "Its name, for reports."),
            described(refer("Duration"), "How long it lasts."),
            described(rate.clone(), "Users per second."),
            described(
                rate,
                "Users per second at the end; the rate changes evenly.",
            ),
            described(
                one_of(&modes),
                "Evenly spaced, or independent of one another; uniform by default.",
            ),
            described(
                count(1, MAX_USERS),
                "The number of users, spread evenly over the phase.",
            ),
            described(count(1, MAX_USERS), "The most users of the phase."),
            described(refer("Duration"), "A time in which no user arrives."),
        ],
        &[],
    );
    phase["oneOf"] = json!([
        { "required": ["pause"], "properties": {
            "duration": false, "arrival_rate": false, "ramp_to": false,
            "mode": false, "arrival_count": false, "max_users": false
        } },
        { "required": ["duration", "arrival_rate"], "properties": {
            "pause": false, "arrival_count": false
        } },
        { "required": ["duration", "arrival_count"], "properties": {
            "pause": false, "arrival_rate": false, "ramp_to": false, "mode": false
        } }
    ]);
    phase
}

/// One persona.
pub(super) fn persona() -> Value {
    let streams = STREAMS.map(|(name, _)| name);
    closed(
        "A kind of user.",
        PERSONA_KEYS,
        [
            named(),
            weight(),
            refer("Habits"),
            described(
                one_of(&streams),
                "The event stream that it opens: none, one by its handle (events), or one by its reader id; events by default.",
            ),
            described(
                one_of(&READS.map(|(word, _)| word)),
                "How it reads its inbox: by the stream and by checks that fill its gaps (exactly), or only by the stream; exactly by default.",
            ),
            described(
                one_of(&NAMINGS.map(|(word, _)| word)),
                "The name it registers with: its given name, one after a word of some script, one of few that look alike, or an odd one; given by default.",
            ),
            described(some(&refer("Step")), "Its steps, in order."),
        ],
        &["name", "flow"],
    )
}

/// The habits.
pub(super) fn habits() -> Value {
    closed(
        "Mistakes of real clients.",
        HABIT_KEYS,
        [
            described(
                refer("Ratio"),
                "Never passes `after` to check; drawn once for each user.",
            ),
            described(
                refer("Ratio"),
                "Forgets its handle and registers again; drawn before each step.",
            ),
            described(refer("Ratio"), "Cancels a call early; drawn for each call."),
            described(
                refer("Ratio"),
                "Sends the next call without waiting for this one's answer; drawn for each call.",
            ),
            described(
                refer("Ratio"),
                "Retries without a request key; drawn once for each user.",
            ),
            described(
                refer("Ratio"),
                "Opens a second stream beside one that just opened, and closes the first within 4s.",
            ),
            described(
                refer("Ratio"),
                "Makes a call that its flow does not have, in any room it knows of; drawn before each step.",
            ),
        ],
        &[],
    )
}

/// One step of the steps form.
pub(super) fn script_step() -> Value {
    let pushes = json!({
        "type": "object",
        "additionalProperties": refer("Delivery"),
        "description": "The delivery of the pushes that it causes, by user."
    });
    let request = || described(refer("Delivery"), "The delivery of the request.");
    let copy = || {
        described(
            refer("Delivery"),
            "The delivery of a second copy of the request.",
        )
    };
    let reply = || described(refer("Delivery"), "The delivery of its reply.");
    let retry = closed("", RETRY_KEYS, [request(), copy(), reply()], &[]);
    let retries = described(
        json!({ "type": "array", "items": retry }),
        "The delivery of later attempts of the call.",
    );
    let net = closed(
        "The network's effects on this call.",
        NET_KEYS,
        [request(), copy(), reply(), pushes, retries],
        &[],
    );
    let arguments = ARGUMENTS.map(|(name, _)| name);
    let leave_out = described(
        json!({ "type": "array", "items": one_of(&arguments) }),
        "The arguments that the call omits.",
    );
    let mut step = closed(
        "",
        STEP_KEYS,
        [
            described(refer("Duration"), "The time from the start."),
            described(named(), "A name from `users`."),
            refer("Call"),
            leave_out,
            net,
        ],
        &["at", "user", "do"],
    );
    // A disconnection sends no packet that the network could delay.
    step["if"] = json!({
        "properties": {
            "do": { "anyOf": [{ "const": "disconnect" }, { "required": ["disconnect"], "type": "object" }] }
        }
    });
    step["then"] = json!({ "properties": { "leave_out": false, "net": false } });
    step
}

/// The delivery of one packet.
pub(super) fn delivery() -> Value {
    json!({
        "description": "How long a packet takes, or `lost`.",
        "anyOf": [refer("Duration"), { "const": "lost" }]
    })
}
