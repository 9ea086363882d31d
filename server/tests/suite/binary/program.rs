//! The binary as a process, and connections to it.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, Output};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::Value;

use crate::process::{self, Connection, Process};

pub(crate) fn binary(words: &[&str]) -> Command {
    let mut command = process::binary();
    if !words.contains(&"--data") {
        command.env("TALKING_STICK_IN_MEMORY", "true");
    }
    command.args(words);
    command
}

/// The binary in a process with this limit, as `ulimit` takes it.
pub(crate) fn limited(limit: &str, words: &[&str]) -> Command {
    let binary = binary(words);
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
    ran_as(&mut binary(words))
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

/// Any free port.
pub(crate) const LISTEN: &[&str] = &["--listen", "127.0.0.1:0"];

/// A running server.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) log: Option<BufReader<ChildStderr>>,
}

impl Server {
    pub(crate) fn start(words: &[&str]) -> Self {
        Self::start_as(&mut binary(&[LISTEN, words].concat()))
    }

    /// Starts the server by this command.
    pub(crate) fn start_as(command: &mut Command) -> Self {
        let started = Process::start(command);
        Self {
            child: started.child,
            address: started.address,
            log: Some(started.log),
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args(["-s", name, &self.id().to_string()])
            .status();
        assert!(sent.expect("kill is on every Unix").success());
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("it was started").is_none()
    }

    pub(crate) fn exit_code(mut self) -> Option<i32> {
        self.child.wait().expect("it was started").code()
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    /// The value of the metric `name`.
    pub(crate) fn figure(&self, name: &str) -> usize {
        let answer = self.connect().exchange("GET /metrics", &[], "");
        let text = answer.expect("it is answered").body;
        let wanted = format!("talking_stick_{name} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&wanted));
        line.and_then(|figure| figure.parse().ok())
            .unwrap_or_else(|| panic!("no {name} in {text}"))
    }

    /// Registers a participant in this room; returns its handle.
    pub(crate) fn register(&self, name: &str, room: &str) -> String {
        self.connect().register(name, room)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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
