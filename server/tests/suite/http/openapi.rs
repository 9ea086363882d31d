//! The OpenAPI document: complete, valid, and consistent with the server.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use server::http::document;

use crate::http::tokens::tokens;
use crate::http::world::{Setup, World};

#[test]
fn the_document_is_as_it_was() {
    let text = serde_json::to_string_pretty(&document(true)).unwrap();
    insta::assert_snapshot!("openapi", text);
}

/// Every operation: its path, its method, and its description.
fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let mut all = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("methods") {
            all.push((path.clone(), method.to_uppercase(), operation.clone()));
        }
    }
    all
}

/// Collects every value with this name anywhere in the document.
fn all_of<'a>(value: &'a Value, name: &str, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                if key == name {
                    found.push(inner);
                }
                all_of(inner, name, found);
            }
        }
        Value::Array(items) => {
            for item in items {
                all_of(item, name, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn references_lead_somewhere_ids_are_unique_and_schemas_are_schemas() {
    let document = document(true);
    let mut references = Vec::new();
    all_of(&document, "$ref", &mut references);
    assert!(references.len() > 10);
    for reference in references {
        let pointer = reference.as_str().unwrap().strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    let mut ids = BTreeSet::new();
    for (path, method, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap().to_owned();
        assert!(ids.insert(id), "{method} {path}");
        assert!(!operation["summary"].as_str().unwrap().is_empty());
        assert!(operation["responses"]["default"].is_object());
    }
    let mut schemas = Vec::new();
    all_of(&document, "schema", &mut schemas);
    for schema in schemas {
        assert!(jsonschema::meta::is_valid(schema), "{schema}");
    }
}

#[test]
fn without_operators_there_is_nothing_of_theirs() {
    let text = document(false).to_string();
    assert!(!text.contains("/admin"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_of_it_answers() {
    let mut setup = Setup::free();
    setup.guard.operators = Some(tokens(&["boss"]));
    setup.http.operators = true;
    let world = World::start(setup).await;
    let document = world.client().await.get("/openapi.json").await;
    assert_eq!(document.status, 200);
    for (number, (path, method, operation)) in operations(&document.json()).into_iter().enumerate()
    {
        // One participant for each operation, because some operations make it leave.
        let name = format!("caller {number}");
        let one = world.register(&name).await;
        let headers = [
            ("Authorization", "Bearer boss"),
            ("Chat-Handle", &*one.handle),
            ("Content-Type", "application/json"),
        ];
        let mut client = world.client().await;
        if path == "/events" {
            client
                .events(&path, &headers)
                .await
                .block()
                .await
                .expect("it streams");
            continue;
        }
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let body = example(schema, &one.room, &name);
        let body = if method == "GET" {
            String::new()
        } else {
            body.to_string()
        };
        let target = match &*path {
            "/admin/context" => format!("{path}?user_id={}", one.user),
            _ => path.clone(),
        };
        let answer = client
            .request(&method, &target, &headers, body.as_bytes())
            .await;
        // The request was understood, whatever the result: no route is missing, and no argument is
        // wrong.
        assert!(
            ![404, 405].contains(&answer.status)
                || answer.code() == "user_not_found"
                || answer.code() == "room_not_found",
            "{method} {path}: {}",
            answer.text()
        );
        assert_ne!(answer.status, 400, "{method} {path}: {}", answer.text());
        if answer.status < 300 {
            let expected = &operation["responses"][answer.status.to_string()];
            let schema = resolved(
                &document.json(),
                &expected["content"]["application/json"]["schema"],
            );
            let validator = jsonschema::validator_for(&schema).expect("a schema");
            let errors: Vec<_> = validator
                .iter_errors(&answer.json())
                .map(|e| e.to_string())
                .collect();
            assert!(
                errors.is_empty(),
                "{method} {path}: {errors:?} in {}",
                answer.text()
            );
        }
    }
}

/// The schema together with the schemas it refers to.
fn resolved(document: &Value, schema: &Value) -> Value {
    let mut schema = schema.clone();
    schema["components"] = document["components"].clone();
    schema
}

/// Arguments that the schema allows, without the arguments of older clients.
fn example(schema: &Value, room: &str, name: &str) -> Value {
    let mut body = json!({});
    let Some(properties) = schema["properties"].as_object() else {
        return body;
    };
    for key in properties.keys() {
        let value = match &**key {
            "username" => json!(name),
            "message" | "text" | "reason" | "excuse" | "query" => json!("hello"),
            "user_id" => json!("user_999"),
            "to" => json!([name]),
            "room_id" => json!(room),
            "delay" | "wait_seconds" => json!(0),
            "interests" => json!(["sea"]),
            "name" if !properties.contains_key("user_id") => json!("Nobody"),
            "display_name" | "name" | "handle" | "request_key" | "room" | "epoch" | "after"
            | "max" | "before" | "limit" | "address" => continue,
            other => panic!("{other} has no example"),
        };
        body[key] = value;
    }
    body
}
