//! The binary with a journal folder.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use chat_core::Config;
use chat_journal::{Bundle, Loss, Recovered, recover};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::binary::program::ran_as;
#[cfg(feature = "postgres")]
use crate::process::wait_until;
use crate::process::{Server, binary};

/// The number of rounds of a test: `usual`, or as many times that as `DURABLE_TIMES` says.
pub(crate) fn rounds(usual: usize) -> usize {
    let times = std::env::var("DURABLE_TIMES");
    let times = times.map_or(1, |times| times.parse().expect("a number of times"));
    usual * times
}

/// A server that did not start.
pub(crate) struct Refused {
    pub(crate) code: Option<i32>,
    pub(crate) why: String,
}

/// The result of a command on a folder.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) why: String,
}

/// Runs a command on the folder of a journal.
pub(crate) fn run_on(folder: &Path, words: &[&dyn AsRef<OsStr>]) -> Ran {
    let (code, out, why) = ran_as(binary().args(words).arg("--data").arg(folder));
    Ran { code, out, why }
}

pub(crate) fn backup(folder: &Path, to: &Path) -> Ran {
    run_on(folder, &[&"backup", &to])
}

pub(crate) fn restore(from: &Path, folder: &Path) -> Ran {
    run_on(folder, &[&"restore", &from])
}

pub(crate) fn export(folder: &Path) -> Ran {
    run_on(folder, &[&"export"])
}

/// Inspects a folder; returns the exit code, and the report.
pub(crate) fn inspect(folder: &Path) -> (Option<i32>, Value) {
    let ran = run_on(folder, &[&"inspect", &"--json"]);
    let report = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}", ran.why));
    (ran.code, report)
}

/// What `talking-stick records` writes.
pub(crate) fn records(folder: &Path) -> Vec<u8> {
    let mut command = binary();
    let output = command.args(["records", "--data"]).arg(folder).output();
    let output = output.expect("the binary starts");
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{why}");
    output.stdout
}

/// Recovers the state from records; also returns the number of their checkpoints.
pub(crate) fn recovered(records: &[u8]) -> (Recovered, usize) {
    let mut bundle = Bundle::read(records).expect("a bundle");
    let (origin, config) = (bundle.origin, Config::default());
    let look = &mut |_: &_, _, _: &_, _: &_| {};
    let state = recover(&mut bundle.files, &origin, &config, Loss::Refused, look);
    (state.expect("it is whole"), bundle.checkpoints.len())
}

/// The texts in a page of messages.
pub(crate) fn texts_of(page: &Value) -> Vec<String> {
    let messages = page["messages"].as_array().expect("a page");
    messages.iter().map(text_of).collect()
}

/// The database for the history of this folder, if a PostgreSQL server is named.
pub(crate) fn history_of(folder: &Path) -> Option<String> {
    let server = std::env::var("TALKING_STICK_TEST_POSTGRES").ok()?;
    let name = folder.file_name().expect("a folder of its own");
    let name = name
        .to_string_lossy()
        .trim_start_matches('.')
        .to_lowercase();
    let made = sql(
        &format!("{server}/postgres"),
        &format!("CREATE DATABASE \"{name}\""),
    );
    // One that is there is that of the start before.
    assert!(made.is_ok() || sql(&format!("{server}/{name}"), "SELECT 1").is_ok());
    Some(format!("{server}/{name}"))
}

/// Runs a statement in the database; returns its values, or the error.
pub(crate) fn sql(database: &str, statement: &str) -> Result<String, String> {
    let mut psql = Command::new("psql");
    psql.args(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only"]);
    psql.args(["--command", statement, database]);
    let output = psql.output().expect("psql is there");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text").trim().to_owned();
    match output.status.success() {
        true => Ok(text(output.stdout)),
        false => Err(text(output.stderr)),
    }
}

/// Waits until the statement has this value.
#[cfg(feature = "postgres")]
pub(crate) fn wait_for(database: &str, statement: &str, value: &str) {
    let wanted = format!("{statement}: {value}");
    wait_until(&wanted, || sql(database, statement).as_deref() == Ok(value));
}

fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = binary();
    command
        .args(["--listen", "127.0.0.1:0", "--limit"])
        .arg("stick=optional,rate_limit={per_second: 100000, burst: 100000}")
        .arg("--data")
        .arg(folder)
        .args(words);
    command
}

/// The command with the folder's own copy of the history, if a PostgreSQL server is named.
fn copied(folder: &Path, words: &[&str]) -> Command {
    let mut command = command(folder, words);
    if let Some(history) = history_of(folder) {
        command.args(["--history", &history]);
    }
    command
}

impl Server {
    /// Starts a server on this folder.
    pub(crate) fn on(folder: &Path, words: &[&str]) -> Self {
        Self::start_as(&mut copied(folder, words))
    }

    /// Starts a server on a new folder.
    pub(crate) fn fresh(words: &[&str]) -> (TempDir, Self) {
        let folder = tempfile::tempdir().expect("a folder");
        let server = Self::on(folder.path(), words);
        (folder, server)
    }

    /// Starts a server without a copy of its history, unless the words name one.
    #[cfg(feature = "postgres")]
    pub(crate) fn start_alone(folder: &Path, words: &[&str]) -> Self {
        Self::start_as(&mut command(folder, words))
    }

    /// Starts a server in an environment with these variables besides.
    pub(crate) fn start_in(folder: &Path, variables: &[(&str, &Path)]) -> Self {
        let mut command = command(folder, &[]);
        Self::start_as(command.envs(variables.iter().copied()))
    }

    /// Starts a server that names no folder, for a user whose data is in `home`.
    pub(crate) fn at_home(home: &Path, words: &[&str]) -> Self {
        let mut command = binary();
        command
            .args(["--listen", "127.0.0.1:0"])
            .args(words)
            .env_remove("STATE_DIRECTORY")
            .env("XDG_DATA_HOME", home)
            .env("HOME", home);
        Self::start_as(&mut command)
    }

    /// Starts a server that must not start.
    pub(crate) fn refused(folder: &Path, words: &[&str]) -> Refused {
        let (code, _, why) = ran_as(&mut command(folder, words));
        Refused { code, why }
    }

    /// Calls a tool; returns the status and the answer.
    pub(crate) fn call(&self, tool: &str, handle: &str, arguments: &Value) -> (u16, Value) {
        let path = format!("/tools/{tool}");
        let answer = self.connect().post(&path, handle, arguments);
        answer.expect("it is answered")
    }

    /// Calls a tool that must succeed.
    pub(crate) fn done(&self, tool: &str, handle: &str, arguments: &Value) -> Value {
        let (status, answer) = self.call(tool, handle, arguments);
        assert_eq!(status, 200, "{tool} {arguments}: {answer}");
        answer
    }

    /// Asks for this path; returns the status and the answer.
    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        let answer = self.connect().exchange(&format!("GET {path}"), &[], "");
        let answer = answer.expect("it is answered");
        (answer.status, answer.json())
    }

    /// Says these texts in the caller's only room.
    pub(crate) fn say(&self, handle: &str, texts: impl IntoIterator<Item = String>) {
        let mut connection = self.connect();
        for text in texts {
            let body = json!({ "message": text });
            let (status, answer) = connection.post("/send", handle, &body).expect("an answer");
            assert_eq!(status, 200, "{answer}");
        }
    }

    /// Pages through the whole history of a room; returns its texts, the oldest first.
    pub(crate) fn history(&self, handle: &str, room: &str, limit: u64) -> Vec<String> {
        let mut texts = Vec::new();
        let mut before = Value::Null;
        loop {
            let arguments = json!({ "room_id": room, "before": before, "limit": limit });
            let page = self.done("history", handle, &arguments);
            let messages = page["messages"].as_array().expect("a page");
            assert!(messages.len() as u64 <= limit, "{page}");
            texts.extend(messages.iter().rev().map(text_of));
            if page["more"] == false {
                texts.reverse();
                return texts;
            }
            before = messages[0]["room_seq"].clone();
        }
    }

    /// Reads the inbox to its end. Returns the texts so far with those after `after`, and the
    /// position for the next read.
    pub(crate) fn inbox(
        &self,
        handle: &str,
        mut heard: Vec<String>,
        mut after: u64,
    ) -> (Vec<String>, u64) {
        let mut connection = self.connect();
        loop {
            let body = json!({ "after": after, "wait_seconds": 0 });
            let answer = connection.post("/tools/check", handle, &body);
            let (status, page) = answer.expect("it is answered");
            assert_eq!(status, 200, "{page}");
            let events = page["events"].as_array().expect("a page");
            for event in events {
                assert_ne!(event["type"], "gap", "{event}");
                if event["type"] == "message.received" {
                    heard.push(event["message"].as_str().expect("a text").into());
                }
                after = event["seq"].as_u64().expect("a seq");
            }
            if events.is_empty() {
                return (heard, after);
            }
        }
    }
}

/// The text of a message.
pub(crate) fn text_of(message: &Value) -> String {
    message["message"].as_str().expect("a text").into()
}
