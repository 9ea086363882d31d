//! Members with several realms: each realm is a log with an owner of its own.

use std::time::Instant;

use serde_json::{Value, json};

use crate::cluster::done;
use crate::cluster::members::Members;
use crate::cluster::talkers::texts_of;
use crate::process::PATIENCE;

/// The roles of the members of a realm, in order.
fn roles(members: &Members, realm: &str) -> Vec<String> {
    let output = members.command(&format!("status --json --cluster-realm {realm}"));
    let states: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let role = |state: &Value| state["role"].as_str().expect("a role").to_owned();
    let mut roles: Vec<_> = states.iter().map(role).collect();
    roles.sort();
    roles
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn each_realm_has_a_log_and_an_owner_and_outlives_a_member() {
    let mut members = Members::start_with(1, 2, &["--realms", "arena"]);
    let mut doors = [members.connect(0), members.connect(1)];
    // The names are free in each realm, and the handles are of one.
    let named = json!({ "username": "Ada", "room": "lobby" });
    let mut handles = Vec::new();
    for path in ["", "/r/arena"] {
        let answer = done(&mut doors[0], &format!("{path}/register"), "", &named);
        let handle = answer["handle"].as_str().expect("a handle").to_owned();
        let text = json!({ "message": format!("of {path}") });
        done(&mut doors[1], &format!("{path}/send"), &handle, &text);
        handles.push((path, handle));
    }
    for (path, handle) in &handles {
        assert_eq!(
            texts_of(&mut doors[0], path, handle),
            [format!("of {path}")]
        );
    }
    for realm in ["main", "arena"] {
        assert_eq!(roles(&members, realm), ["follower", "owner"], "{realm}");
    }
    members.kill(0);
    for (path, handle) in &handles {
        let until = Instant::now() + PATIENCE;
        let text = json!({ "message": "later", "request_key": "0123456789abcdefghijklmnop" });
        while doors[1]
            .post(&format!("{path}/send"), handle, &text)
            .expect("an answer")
            .0
            != 200
        {
            assert!(Instant::now() < until, "{path} is not served");
        }
        let told = texts_of(&mut doors[1], path, handle);
        assert_eq!(told, [format!("of {path}"), "later".to_owned()]);
    }
}
