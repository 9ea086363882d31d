//! The JSON Schema of a scenario, for editors: the same keys and names that the parser accepts.
//!
//! Objects are written by hand over the parser's own lists of keys, so that both always have the
//! same keys; the server's part comes from the core's `Config`.

mod fault;
mod forms;
mod steps;
mod verdict;
mod workload;

use chat_types::Config;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::KEYS;
use super::surroundings::{
    CAPACITY_KEYS, CLIENT_KEYS, MAX_DEPTH, NETWORK_KEYS, RACE_KEYS, SCHEDULES,
};
use forms::{closed, count, described, named, one_of, refer};

/// The schema in draft 2020-12.
#[must_use]
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let server = generator.subschema_for::<Config>().to_value();
    let mut definitions: Map<String, Value> = generator.take_definitions(true);
    for (name, schema) in definitions_by_hand() {
        definitions.insert(name.to_owned(), schema);
    }
    let mut root = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Talking Stick scenario",
        "description": "Users, their actions, faults, and expected results.",
    });
    merge(&mut root, &closed("", KEYS, top_level(&server), &[]));
    merge(
        &mut root,
        &json!({
            "oneOf": [
                {
                    "required": ["phases", "scenarios"],
                    "properties": { "users": false, "steps": false }
                },
                {
                    "required": ["users", "steps"],
                    "properties": { "phases": false, "scenarios": false }
                }
            ],
            "$defs": definitions
        }),
    );
    root
}

fn merge(into: &mut Value, from: &Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        for (key, value) in from {
            into.insert(key.clone(), value.clone());
        }
    }
}

/// In the order of `KEYS`.
fn top_level(server: &Value) -> [Value; 20] {
    [
        described(named(), "The scenario's name; by default the file's."),
        json!({
            "description": "The scenario's purpose, and the races it looks for.",
            "type": "string",
            "maxLength": super::MAX_ABOUT
        }),
        json!({
            "description": "The default seed of a run; 1 by default.",
            "type": "integer",
            "minimum": 0,
            "maximum": u64::MAX
        }),
        described(
            refer("Duration"),
            "The safety phase: arrivals and faults. By default 30s, or longer if the phases, faults or steps need longer.",
        ),
        described(
            refer("Duration"),
            "The liveness phase lasts at most this long: faults are healed, users finish their flows without pauses or further rounds of loops, all inboxes are read. 60s by default.",
        ),
        described(
            server.clone(),
            "The server's configuration; every limit has a default.",
        ),
        capacity(),
        client(),
        workload::phases(),
        workload::personas(),
        workload::users(),
        workload::script(),
        network(),
        schedule(),
        recipe(),
        fault::faults(),
        verdict::properties(),
        verdict::expect_sometimes(),
        verdict::thresholds(),
        described(
            refer("Ratio"),
            "The share of each seed's users that may be stuck when the run ends: an `await` timed out, or they did not finish within `liveness`. 0 by default: one stuck user fails the run. Users that left permanently are not stuck, nor is a last user without a partner in the queue.",
        ),
    ]
}

fn definitions_by_hand() -> [(&'static str, Value); 12] {
    [
        ("Ratio", forms::ratio()),
        ("DrawnDuration", forms::drawn_duration()),
        ("DrawnLength", forms::drawn_length()),
        ("Phase", workload::phase()),
        ("Persona", workload::persona()),
        ("Habits", workload::habits()),
        ("Step", steps::step()),
        ("Call", steps::call()),
        ("ScriptStep", workload::script_step()),
        ("Delivery", workload::delivery()),
        ("Fault", fault::fault()),
        ("Victims", fault::victims()),
    ]
}

fn capacity() -> Value {
    closed(
        "The times of the server's work, so that load causes latency.",
        CAPACITY_KEYS,
        [
            described(
                refer("DrawnDuration"),
                "For each command, one at a time; { p50: 20us, p99: 200us } by default.",
            ),
            described(
                refer("DrawnDuration"),
                "For each journal batch; { p50: 300us, p99: 2ms } by default.",
            ),
            described(
                count(1, 10_000_000),
                "Requests that may wait for service; beyond it `overloaded`. 4096 by default.",
            ),
            described(
                count(1, 10_000_000),
                "The number of journal entries after which a snapshot replaces them; 20000 by default.",
            ),
        ],
        &[],
    )
}

fn client() -> Value {
    closed(
        "How virtual clients retry.",
        CLIENT_KEYS,
        [
            described(
                refer("Duration"),
                "How long the first attempt waits for its answer; a check's adds its wait. 500ms by default.",
            ),
            described(
                count(1, 100),
                "The factor by which the pause grows from attempt to attempt; 2 by default.",
            ),
            described(refer("Duration"), "The longest pause; 8s by default."),
            described(
                count(1, 1_000),
                "The total number of attempts; 8 by default.",
            ),
        ],
        &[],
    )
}

fn network() -> Value {
    closed(
        "The network's random faults, until the scenario's duration is over.",
        NETWORK_KEYS,
        [
            described(
                refer("DrawnDuration"),
                "Each way, for each packet; 1ms by default.",
            ),
            described(
                refer("Ratio"),
                "Requests and replies that never arrive; 0 by default.",
            ),
            described(refer("Ratio"), "Requests that arrive twice; 0 by default."),
            described(
                refer("Ratio"),
                "Pushes at which the stream breaks instead; 0 by default.",
            ),
            described(
                count(1, 1_000_000),
                "The number of addresses that the clients share, in turn; without it, each has its own.",
            ),
        ],
        &[],
    )
}

fn recipe() -> Value {
    json!({
        "description": "The steps after which a run continues with the random numbers of a branch. Written by explore --guided.",
        "type": "string",
        "pattern": "^(s[0-9]+:[1-9][0-9]*(,s[0-9]+:[1-9][0-9]*)*)?$"
    })
}

fn schedule() -> Value {
    let race = closed(
        "Perturbed on purpose: by clients' priorities, and by deliveries close to deadlines.",
        RACE_KEYS,
        [
            described(
                count(1, u64::from(MAX_DEPTH)),
                "At one moment fewer than this, the next client to send becomes the slowest; 3 by default.",
            ),
            described(
                refer("Ratio"),
                "How often a delivery is moved close to a deadline or to another delivery; 1/6 by default.",
            ),
        ],
        &[],
    );
    json!({
        "description": "In which order concurrent packets are delivered, until the scenario's duration is over; plain by default.",
        "anyOf": [
            one_of(&SCHEDULES),
            closed("", ["race"], [race], &["race"])
        ]
    })
}
