//! The relay of a client on stdio that adds to the queue of Codex.

use std::fs::{self, File, Permissions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::json;

use super::Pair;
use crate::process::binary;
use crate::stdio::client::Client;

#[test]
fn the_queue_of_codex_gets_one_message_until_codex_calls_a_tool() {
    let pair = Pair::start();
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let made = Command::new("mkfifo").arg(path("queued")).status();
    assert!(made.expect("every Unix has it").success());
    let mut both_ends = File::options();
    let queued = both_ends.read(true).write(true).open(path("queued"));
    let mut queued = BufReader::new(queued.expect("a pipe"));
    let script = format!("#!/bin/sh\necho \"$@\" > {}\n", path("queued").display());
    fs::write(path("codex"), script).expect("room on the disk");
    fs::set_permissions(path("codex"), Permissions::from_mode(0o700)).expect("it is ours");
    let mut command = binary();
    let words = ["stdio", "--wake-codex", "--idle-after", "0s", "--connect"];
    command.args(words).arg(pair.server.url());
    command.env("XDG_STATE_HOME", folder.path());
    let usual = std::env::var("PATH").expect("a path");
    command.env("PATH", format!("{}:{usual}", folder.path().display()));
    let mut codex = Client::declared_by(&mut command, &json!({}));
    let call = |codex: &mut Client, tool: &str, arguments: &serde_json::Value| {
        let meta = json!({ "threadId": "t-1" });
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        codex.ask("tools/call", &params)["result"]["structuredContent"].clone()
    };
    call(
        &mut codex,
        "login",
        &json!({ "username": "Cleo", "room": "lobby" }),
    );
    let mut hears = || {
        let mut line = String::new();
        queued.read_line(&mut line).expect("a line");
        line
    };
    let message = |count: u64| {
        format!("queue --resume --thread t-1 --message Talking Stick: {count} new (seq ")
    };
    pair.ben_says("one");
    let first = hears();
    assert!(first.starts_with(&message(1)), "{first}");
    // Codex starts a turn with it. What comes before it calls a tool needs no further one.
    pair.ben_says("two");
    pair.ben_says("three");
    call(&mut codex, "list_users", &json!({}));
    let second = hears();
    assert!(second.starts_with(&message(3)), "{second}");
    // What Codex reads by itself is not queued.
    call(&mut codex, "check", &json!({ "wait_seconds": 0 }));
    pair.ben_says("four");
    let third = hears();
    assert!(third.starts_with(&message(1)), "{third}");
    codex.close();
}
