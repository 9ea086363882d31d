//! Pipes whose readers stopped: no part of the program waits for them.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::{Value, json};
use tokio::net::unix::pipe;

use crate::binary::program::limited;
use crate::process::{Connection, PATIENCE, Started, binary_with};
use crate::stage::hello;

/// A full pipe.
struct FullPipe {
    folder: tempfile::TempDir,
    _reader: File,
    /// An end that does not wait for the reader.
    impatient: File,
}

impl FullPipe {
    fn make() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pipe");
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo is on every Unix").success());
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_io().build().expect("a runtime");
        let (reader, mut writer) = runtime.block_on(async {
            let options = pipe::OpenOptions::new();
            let reader = options.open_receiver(&path).expect("a pipe");
            let writer = options.open_sender(&path).expect("a pipe with a reader");
            let file = |end: std::io::Result<_>| File::from(end.expect("a descriptor"));
            (
                file(reader.into_nonblocking_fd()),
                file(writer.into_nonblocking_fd()),
            )
        });
        for size in [4_096, 1] {
            let bytes = vec![b'\n'; size];
            let full = loop {
                if let Err(error) = writer.write(&bytes) {
                    break error.kind();
                }
            };
            assert_eq!(full, ErrorKind::WouldBlock);
        }
        Self {
            folder,
            _reader: reader,
            impatient: writer,
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("pipe")
    }

    /// The end that is written, for a child.
    fn end(&self) -> Stdio {
        let end = OpenOptions::new().write(true).open(self.path());
        end.expect("a pipe with a reader").into()
    }

    /// The end that is written, for a child, as one that does not wait.
    fn impatient_end(&self) -> Stdio {
        self.impatient.try_clone().expect("a descriptor").into()
    }

    /// Reads on.
    fn lines(&self) -> impl Iterator<Item = String> {
        let pipe = File::open(self.path()).expect("a pipe with a writer");
        BufReader::new(pipe).lines().map_while(Result::ok)
    }
}

/// A server whose standard output and standard error are these.
struct Served {
    process: Started,
    address: SocketAddr,
}

impl Served {
    fn start(words: &[&str], out: Stdio, log: Stdio) -> Self {
        Self::start_as(binary_with, words, (out, log))
    }

    fn start_as(
        program: impl Fn(&[&str]) -> Command,
        words: &[&str],
        (out, log): (Stdio, Stdio),
    ) -> Self {
        // A port that nobody listens on: it was free a moment ago. The server cannot say its own.
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = free.local_addr().expect("bound");
        drop(free);
        let listen = address.to_string();
        let words = [words, &["--listen", &listen]].concat();
        let process = Started::start(program(&words).stdout(out).stderr(log));
        let served = Self { process, address };
        while Connection::try_open(address, PATIENCE).is_none() {
            thread::yield_now();
        }
        served
    }

    fn get(connection: &mut Connection, path: &str) -> String {
        let answer = connection.exchange(&format!("GET {path}"), &[], "");
        let answer = answer.expect("it is answered");
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body
    }

    /// The sum of the values of this metric.
    fn figure(connection: &mut Connection, name: &str) -> u64 {
        let text = Self::get(connection, "/metrics");
        let lines = text.lines().filter(|line| line.starts_with(name));
        let values = lines.map(|line| line.rsplit(' ').next().and_then(|value| value.parse().ok()));
        values
            .map(|value: Option<u64>| value.expect("a number"))
            .sum()
    }
}

const DROPPED: &str = "talking_stick_log_lines_dropped_total";

/// A server that logs each request.
const TALKATIVE: [&str; 5] = [
    "--access-log",
    "--limit",
    "rate_limit=none",
    "--log",
    "json",
];

#[test]
fn a_server_whose_log_nobody_reads_serves_and_says_later_what_is_lost() {
    for end in [FullPipe::end, FullPipe::impatient_end] {
        let pipe = FullPipe::make();
        let served = Served::start(&TALKATIVE, Stdio::null(), end(&pipe));
        let mut connection = Connection::open(served.address);
        while Served::figure(&mut connection, DROPPED) == 0 {
            for _ in 0..1_000 {
                Served::get(&mut connection, "/healthz");
            }
            let refused = connection.exchange("GET /users", &[("Origin", "http://x")], "");
            assert_eq!(refused.expect("it is answered").status, 403);
        }
        connection.register("Ann", "lobby");
        let mut lines = pipe.lines();
        assert!(lines.any(|line| line.contains("talking_stick::start")));
        assert!(lines.any(|line| line.contains("\"dropped\":")));
        served.process.signal("TERM");
        assert!(lines.any(|line| line.contains("\"stopped\"")));
        assert_eq!(served.process.exit_code(), Some(0));
    }
}

#[test]
fn lines_that_a_full_disk_loses_are_told_when_it_has_room() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    let log = OpenOptions::new().append(true).create(true).open(&path);
    let log = log.expect("a file");
    let end = log.try_clone().expect("a descriptor").into();
    let program = |words: &[&str]| limited("-f 16", words);
    let served = Served::start_as(program, &TALKATIVE, (Stdio::null(), end));
    let mut connection = Connection::open(served.address);
    while Served::figure(&mut connection, DROPPED) == 0 {
        Served::get(&mut connection, "/healthz");
    }
    log.set_len(0).expect("its own file");
    while !std::fs::read_to_string(&path)
        .expect("text")
        .contains("\"dropped\":")
    {
        Served::get(&mut connection, "/healthz");
    }
}

#[test]
fn an_export_waits_for_its_reader_also_where_the_pipe_does_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let data = data.to_str().expect("text");
    let served = Served::start(&["--data", data], Stdio::null(), Stdio::null());
    Connection::open(served.address).register("Ann", "lobby");
    served.process.signal("TERM");
    assert_eq!(served.process.exit_code(), Some(0));
    let pipe = FullPipe::make();
    let mut command = binary_with(&["export", "--data", data]);
    let exported = Started::start(command.stdout(pipe.impatient_end()));
    assert!(pipe.lines().any(|line| line.contains("\"Ann\"")));
    assert_eq!(exported.exit_code(), Some(0));
}

#[test]
fn a_server_whose_log_nobody_reads_obeys_each_signal() {
    let pipe = FullPipe::make();
    let served = Served::start(&TALKATIVE, Stdio::null(), pipe.end());
    served.process.signal("TERM");
    assert_eq!(served.process.exit_code(), Some(0));

    let words = [&TALKATIVE[..], &["--grace", "10m"]].concat();
    let served = Served::start(&words, Stdio::null(), pipe.end());
    let mut half = Connection::open(served.address);
    assert!(half.write(
        b"POST /register HTTP/1.1\r\nHost: localhost\r\n\
        Content-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"
    ));
    assert!(half.head().expect("it is asked to go on")[0].contains("100"));
    while served.process.is_running() {
        served.process.signal("TERM");
    }
    assert_eq!(served.process.exit_code(), Some(130));
}

#[test]
fn a_demonstration_that_nobody_reads_goes_on_and_stops() {
    let pipe = FullPipe::make();
    let words = ["demo", "--pace", "1ms"];
    let served = Served::start(&words, pipe.end(), Stdio::null());
    let mut connection = Connection::open(served.address);
    let pushes = "talking_stick_calls_total{tool=\"push\"}";
    while Served::figure(&mut connection, pushes) < 12 {
        thread::yield_now();
    }
    // Its terminal is closed.
    served.process.signal("HUP");
    assert_eq!(served.process.exit_code(), Some(0));
}

#[test]
fn an_error_that_nobody_reads_ends_the_program_all_the_same() {
    for words in [
        &["--listen", "nowhere"][..],
        &["--no-such-flag"],
        &["inspect", "--data", "/nonexistent"],
        &["healthcheck", "--listen", "127.0.0.1:1"],
    ] {
        let pipe = FullPipe::make();
        let started = Started::start(binary_with(words).stderr(pipe.end()));
        let code = started.exit_code();
        assert!(matches!(code, Some(1 | 2)), "{words:?}: {code:?}");
    }
}

fn ping(stdin: &mut impl std::io::Write, id: u64) -> std::io::Result<()> {
    let ping = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    writeln!(stdin, "{ping}")
}

/// A client on stdio, which has introduced itself.
fn converse(log: Stdio) -> Started {
    let mut command = binary_with(&["stdio", "--connect", "never"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut started = Started::start(command.stderr(log));
    let stdin = started.child_mut().stdin.as_mut().expect("a pipe");
    let hello = hello("2024-11-05", &json!({}));
    let here = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    writeln!(stdin, "{hello}\n{here}").expect("it reads");
    ping(stdin, 1).expect("it reads");
    let stdout = started.child_mut().stdout.as_mut().expect("a pipe");
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    let answered = |line: String| {
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        answer["id"] == 1
    };
    assert!(lines.any(answered));
    started
}

#[test]
fn a_client_on_stdio_is_served_though_nobody_reads_the_log() {
    let pipe = FullPipe::make();
    let mut client = converse(pipe.end());
    drop(client.child_mut().stdin.take());
    assert_eq!(client.exit_code(), Some(0));
}

#[test]
fn a_client_on_stdio_that_reads_no_more_is_served_no_more() {
    let mut client = converse(Stdio::null());
    drop(client.child_mut().stdout.take());
    let mut stdin = client.child_mut().stdin.take().expect("a pipe");
    // Its standard input stays open.
    while client.is_running() {
        if ping(&mut stdin, 2).is_err() {
            break;
        }
    }
    assert_eq!(client.exit_code(), Some(0));
    drop(stdin);
}

#[test]
fn a_command_whose_output_nobody_reads_obeys_a_signal() {
    let pipe = FullPipe::make();
    let mut command = binary_with(&["stdio", "--connect", "never"]);
    command.stdin(Stdio::piped()).stdout(pipe.end());
    let mut client = Started::start(command.stderr(Stdio::null()));
    let stdin = client.child_mut().stdin.as_mut().expect("a pipe");
    for id in 0..100 {
        ping(stdin, id).expect("it reads");
    }
    client.signal("TERM");
    assert_ne!(client.exit_code(), Some(0));
}
