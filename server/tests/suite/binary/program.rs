//! The binary as a process, and connections to it.

use std::io::BufRead as _;
use std::process::{Command, Output};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::Value;

use crate::process::{Connection, binary_with};

/// The binary in a process with this limit, as `ulimit` takes it.
pub(crate) fn limited(limit: &str, words: &[&str]) -> Command {
    let binary = binary_with(words);
    let mut command = Command::new("sh");
    let limited = format!("ulimit {limit} && exec \"$0\" \"$@\"");
    command.arg("-c").arg(limited).arg(binary.get_program());
    command.args(binary.get_args());
    for (name, value) in binary.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// Runs the binary until it exits by itself; returns its exit code, standard output and standard
/// error.
pub(crate) fn ran(words: &[&str]) -> (Option<i32>, String, String) {
    ran_as(&mut binary_with(words))
}

/// Runs the binary until it exits with this code; returns its standard error, which has these parts.
#[track_caller]
pub(crate) fn says(words: &[&str], code: i32, parts: &[&str]) -> String {
    let (ended, _, said) = ran(words);
    assert_eq!(ended, Some(code), "{words:?}: {said}");
    for part in parts {
        assert!(said.contains(part), "{words:?}: {said}");
    }
    assert!(!said.contains("os error"), "{words:?}: {said}");
    said
}

/// Runs this command in the same way.
pub(crate) fn ran_as(command: &mut Command) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("the binary starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it writes text");
    (status.code(), text(stdout), text(stderr))
}

/// Opens an event stream. Returns the type and data of each event until the stream ends.
pub(crate) fn events(
    mut connection: Connection,
    handle: &str,
) -> (Receiver<()>, thread::JoinHandle<Vec<(String, Value)>>) {
    let (opened, open) = channel();
    let request =
        format!("GET /events HTTP/1.1\r\nHost: localhost\r\nChat-Handle: {handle}\r\n\r\n");
    assert!(connection.write(request.as_bytes()));
    let reading = thread::spawn(move || {
        let head = connection.head().expect("a head");
        assert!(head[0].contains("200"), "{head:?}");
        opened.send(()).expect("the test waits for it");
        let mut events = Vec::new();
        let mut kind = String::new();
        let mut line = String::new();
        while connection
            .stream
            .read_line(&mut line)
            .is_ok_and(|read| read > 0)
        {
            if let Some(name) = line.strip_prefix("event: ") {
                kind = name.trim_end().into();
            } else if let Some(data) = line.strip_prefix("data: ") {
                let data = serde_json::from_str(data).expect("data is JSON");
                events.push((std::mem::take(&mut kind), data));
            }
            line.clear();
        }
        events
    });
    (open, reading)
}
