//! `GET /openapi.json`: the description of plain HTTP in OpenAPI 3.1.
//!
//! Its file has all that is no tool's. The schemas of tools are those of every transport, from
//! [`server_chat::tools::Tool`].

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use chat_core::LINE_SHOWN;
use serde_json::{Value, json};
use server_chat::tools::Tool;

use super::Http;
use crate::guard::written;

/// The title of the document.
pub const TITLE: &str = "Talking Stick";

/// The routes beside `/tools/` that take the arguments of a tool.
const SHORT: [(&str, Tool); 4] = [
    ("/register", Tool::Login),
    ("/send", Tool::SendMessage),
    ("/check_event", Tool::Check),
    ("/talking_stick", Tool::TalkingStick),
];

/// `GET /openapi.json`.
pub(super) async fn served(State(http): State<Http>) -> Response {
    written(StatusCode::OK, http.document.clone().into())
}

/// The document, with the routes of operators if there are any.
///
/// # Panics
/// Its file is no JSON object with paths.
#[must_use]
pub fn document(operators: bool) -> Value {
    let file = include_str!("openapi/document.json");
    let mut document: Value = serde_json::from_str(file).expect("the file is JSON");
    document["info"]["title"] = TITLE.into();
    document["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    let room = &mut document["components"]["schemas"]["NamedRoom"]["properties"];
    room["next_in_line"]["maxItems"] = LINE_SHOWN.into();
    let paths = document["paths"].as_object_mut().expect("it has paths");
    paths.retain(|path, _| operators || !path.starts_with("/admin/"));
    for tool in Tool::all() {
        paths.insert(format!("/tools/{tool}"), json!({ "post": operation(tool) }));
    }
    for (path, tool) in SHORT {
        let route = &mut paths[path]["post"];
        route["requestBody"] = content(route_input(tool));
        // The answer of a registration is its own.
        for (_, answer) in route["responses"].as_object_mut().into_iter().flatten() {
            if tool != Tool::Login && answer.get("description").is_some() {
                answer["content"] = content(output(tool))["content"].take();
            }
        }
    }
    document
}

/// The POST of a tool.
fn operation(tool: Tool) -> Value {
    let mut answer = content(output(tool));
    answer["description"] = "Done.".into();
    json!({
        "operationId": format!("tools_{tool}"),
        "summary": tool.text(),
        "parameters": [{ "$ref": "#/components/parameters/handle" }],
        "requestBody": content(tool.input().into()),
        "responses": { "200": answer, "default": { "$ref": "#/components/responses/refused" } },
    })
}

/// What has a JSON body of this schema.
fn content(schema: Value) -> Value {
    json!({ "content": { "application/json": { "schema": schema } } })
}

/// The schema of the answer of a tool.
fn output(tool: Tool) -> Value {
    let mut schema = Value::Object(tool.output());
    schema["properties"]["unread"] = json!({ "type": "integer" });
    if tool.mints() {
        // A caller without a handle is registered.
        for name in ["handle", "user_id", "inbox_uri"] {
            schema["properties"][name] = json!({ "type": "string" });
        }
    }
    schema
}

/// The schema of the arguments of a short route.
fn route_input(tool: Tool) -> Value {
    let mut schema = tool.input();
    if tool == Tool::SendMessage {
        schema.insert("required".into(), json!(["message"]));
    }
    if tool == Tool::Check
        && let Some(Value::Object(properties)) = schema.get_mut("properties")
        && let Some(wait) = properties.remove("wait_seconds")
    {
        properties.insert("delay".into(), wait);
    }
    schema.into()
}
