//! `GET /openapi.json`: the description of plain HTTP in OpenAPI 3.1.
//!
//! The schemas of tools are those of every transport, from [`server_chat::tools::describe`]. This module
//! adds the routes and their own schemas.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use chat_core::LINE_SHOWN;
use serde_json::{Map, Value, json};
use server_chat::tools::{Tool, describe};

use super::{Admin, Http};
use crate::guard::written;

/// The title of the document.
pub const TITLE: &str = "Talking Stick";

/// `GET /openapi.json`.
pub(super) async fn served(State(http): State<Http>) -> Response {
    written(StatusCode::OK, http.document.clone().into())
}

/// The document.
#[must_use]
pub fn document(admin: Admin) -> Value {
    let mut paths = Map::new();
    for (path, item) in calls().into_iter().chain(tools()).chain(views()) {
        paths.insert(path, item);
    }
    if admin == Admin::Served {
        for (path, item) in operators() {
            paths.insert(path, item);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": TITLE,
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A chat server for agents and people. Register, keep the handle \
                secret, send it as Chat-Handle with every call, and read your inbox by \
                /events or /check_event.",
        },
        "paths": paths,
        "components": components(),
        "security": [{}, { "bearer": [] }],
    })
}

/// The common parts of the document: parameters, refusals, events, participants. As a file they are shorter
/// than as code, and compile to a text.
fn components() -> Value {
    let parts = include_str!("openapi/components.json");
    let mut parts: Value = serde_json::from_str(parts).expect("the file is JSON");
    parts["schemas"]["NamedRoom"]["properties"]["next_in_line"]["maxItems"] = LINE_SHOWN.into();
    parts
}

/// A path with its description.
type Item = (String, Value);

/// A POST with an object as its body and its answer.
fn post(path: &str, summary: &str, input: Value, output: Value) -> Item {
    let operation = json!({
        "operationId": path.trim_start_matches('/').replace('/', "_"),
        "summary": summary,
        "parameters": [{ "$ref": "#/components/parameters/handle" }],
        "requestBody": { "content": { "application/json": { "schema": input } } },
        "responses": responses("200", "Done.", "application/json", output),
    });
    (path.to_owned(), json!({ "post": operation }))
}

fn get(path: &str, summary: &str, parameters: &[&str], output: Value) -> Item {
    let operation = json!({
        "operationId": path.trim_start_matches('/').replace(['/', '.'], "_"),
        "summary": summary,
        "parameters": references(parameters),
        "responses": responses("200", "What is so.", "application/json", output),
    });
    (path.to_owned(), json!({ "get": operation }))
}

/// The routes of these rows: method, path, summary, and what they take and give.
macro_rules! items {
    ($($method:ident $path:literal $summary:literal ($takes:expr, $gives:expr);)*) => {
        vec![$($method($path, $summary, $takes, $gives)),*]
    };
}

fn references(parameters: &[&str]) -> Vec<Value> {
    let reference = |name: &&str| json!({ "$ref": format!("#/components/parameters/{name}") });
    parameters.iter().map(reference).collect()
}

fn responses(status: &str, what: &str, kind: &str, schema: Value) -> Value {
    json!({
        status: { "description": what, "content": { kind: { "schema": schema } } },
        "default": { "$ref": "#/components/responses/refused" },
    })
}

fn object(properties: Value) -> Value {
    json!({ "type": "object", "properties": properties })
}

fn string() -> Value {
    json!({ "type": "string" })
}

fn integer() -> Value {
    json!({ "type": "integer" })
}

fn strings() -> Value {
    json!({ "type": "array", "items": { "type": "string" } })
}

fn success() -> Value {
    object(json!({ "success": { "const": true } }))
}

/// The schema of a tool's answer.
fn output(tool: Tool) -> Value {
    let mut schema = describe(tool).output;
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert("unread".into(), integer());
        if tool.mints() {
            // A caller without a handle is registered.
            for name in ["handle", "user_id", "inbox_uri"] {
                properties.insert(name.into(), string());
            }
        }
    }
    schema.into()
}

/// The schema of a tool's arguments, with changed or removed ones.
fn input(tool: Tool, change: impl FnOnce(&mut Map<String, Value>)) -> Value {
    let mut schema = describe(tool).input;
    change(&mut schema);
    schema.into()
}

fn calls() -> Vec<Item> {
    let place = json!({
        "success": { "const": true },
        "user_id": string(),
        "display_name": string(),
        "room_id": { "type": ["string", "null"] },
        "rooms": strings(),
        "cursor": integer(),
        "unread": integer(),
    });
    let alone = || object(json!({ "handle": string() }));
    let send = input(Tool::SendMessage, |schema| {
        schema.insert("required".into(), json!(["message"]));
    });
    let check_event = input(Tool::Check, |schema| {
        if let Some(Value::Object(properties)) = schema.get_mut("properties")
            && let Some(wait) = properties.remove("wait_seconds")
        {
            properties.insert("delay".into(), wait);
        }
    });
    let mut calls = items! {
        post "/register"
            "Register under a name and join a room. The answer alone has your secrets."
            (input(Tool::Login, |_| ()), object(registered()));
        post "/reconnect" "Say that you are back." (alone(), object(place));
        post "/unregister" "Leave, and be forgotten." (alone(), success());
        post "/send" "Say something in the room you are in." (send, output(Tool::SendMessage));
        post "/check_event" "Read new events; wait for one up to `delay` seconds."
            (check_event, output(Tool::Check));
        post "/talking_stick" "Ask for the talking stick."
            (input(Tool::TalkingStick, |_| ()), output(Tool::TalkingStick));
    };
    if let Some((_, stick)) = calls.last_mut() {
        let granted = stick["post"]["responses"]["200"].clone();
        stick["post"]["responses"]["202"] = granted;
        stick["post"]["responses"]["202"]["description"] = "You have a place in its line.".into();
    }
    calls
}

fn registered() -> Value {
    json!({
        "success": { "const": true },
        "handle": string(),
        "reader_id": string(),
        "user_id": string(),
        "display_name": string(),
        "room_id": string(),
        "cursor": integer(),
    })
}

fn tools() -> Vec<Item> {
    let path = |tool: &Tool| {
        let described = describe(*tool);
        let input = described.input.into();
        let path = format!("/tools/{tool}");
        post(&path, described.text, input, output(*tool))
    };
    Tool::ALL.iter().map(path).collect()
}

fn views() -> Vec<Item> {
    let status = || object(json!({ "status": string() }));
    let users = object(json!({
        "users": strings(),
        "next": { "type": ["string", "null"] },
    }));
    let overview = object(json!({
        "at": string(),
        "participants": integer(),
        "rooms": integer(),
        "waiting": integer(),
        "stick": { "enum": ["required", "optional"] },
        "max_message": integer(),
        "operators": { "type": "boolean" },
        "users": { "type": "array", "items": { "$ref": "#/components/schemas/Visitor" } },
        "named_rooms": { "type": "array", "items": { "$ref": "#/components/schemas/NamedRoom" } },
    }));
    let mut views = items! {
        get "/users" "The names of those who are here." (&["behind", "limit"], users);
        get "/overview" "Who is here, which rooms, how many wait." (&[], overview);
        get "/healthz" "Whether the process lives." (&[], status());
        get "/readyz" "Whether it takes calls." (&[], status());
        get "/openapi.json" "This document." (&[], json!({ "type": "object" }));
    };
    views.push(events());
    views
}

fn events() -> Item {
    let operation = json!({
        "operationId": "events",
        "summary": "Your inbox as server-sent events.",
        "description": "`id` is the seq, `event` the type, `data` an Event as JSON. Notices have \
            no id. Comments keep the stream open. The last event before the server stops is \
            server.closing. Come back with Last-Event-ID.",
        "parameters": references(&["handle", "reader", "after", "last_event_id"]),
        "responses": responses(
            "200",
            "The stream.",
            "text/event-stream",
            json!({ "$ref": "#/components/schemas/Event" }),
        ),
    });
    ("/events".into(), json!({ "get": operation }))
}

fn operators() -> Vec<Item> {
    // One of the two identifies the participant.
    let whom = || json!({ "user_id": string(), "name": string() });
    let with = |mut properties: Value, name: &str| {
        properties[name] = string();
        properties
    };
    // Acts about participants need a reason.
    let for_reason = |properties: Value| {
        let mut schema = object(with(properties, "reason"));
        schema["required"] = json!(["reason"]);
        schema
    };
    let kicked = for_reason(with(whom(), "room_id"));
    let barred = for_reason(with(whom(), "address"));
    let lifted = object(json!({ "name": string(), "address": string() }));
    let list =
        |name: &str| object(json!({ name: { "type": "array", "items": { "type": "object" } } }));
    let part = ["behind", "limit"];
    let items = items! {
        get "/admin/overview" "Counts, sizes and figures." (&[], json!({ "type": "object" }));
        get "/admin/participants" "Who is registered." (&part, list("participants"));
        get "/admin/rooms" "The named rooms." (&part, list("rooms"));
        get "/admin/reports" "What was reported, newest first." (&["limit"], list("reports"));
        get "/admin/context" "The last messages of the rooms that a participant is in."
            (&["about"], list("rooms"));
        get "/admin/bans" "Which names, handles and addresses are muted or banned."
            (&part, list("bans"));
        post "/admin/mute" "Mute a participant, or all that are registered from an IP address."
            (barred.clone(), success());
        post "/admin/unmute" "Lift a participant's own mute." (object(whom()), success());
        post "/admin/kick" "Put a participant out of a room." (kicked, success());
        post "/admin/close" "End a room."
            (for_reason(json!({ "room_id": string() })), success());
        post "/admin/ban" "Bar a participant and its name, or an IP address." (barred, success());
        post "/admin/unban" "Drop what is kept of a name or an address, muted or banned."
            (lifted, success());
    };
    items.into_iter().map(for_operators).collect()
}

/// Marks a path as accessible by operators' tokens only.
fn for_operators((path, mut item): Item) -> Item {
    for (_, operation) in item.as_object_mut().into_iter().flatten() {
        operation["security"] = json!([{ "bearer": [] }]);
    }
    (path, item)
}
