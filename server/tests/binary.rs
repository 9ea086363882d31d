//! The binary as operators run it: how it stops, and what its exit codes say.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The time limit of every wait in these tests. No test waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(60);

fn binary(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_talking-stick"));
    // The environment of the machine must not change the test.
    for (name, _) in std::env::vars() {
        if name.starts_with("TALKING_STICK_") {
            command.env_remove(name);
        }
    }
    command.args(words).stdin(Stdio::null());
    command
}

/// Runs the binary until it exits by itself; returns its exit code, standard output and standard
/// error.
fn ran(words: &[&str]) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = binary(words).output().expect("the binary starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it writes text");
    (status.code(), text(stdout), text(stderr))
}

/// A running server.
struct Server {
    child: Child,
    address: SocketAddr,
    log: Option<ChildStderr>,
}

impl Server {
    fn start(words: &[&str]) -> Self {
        let mut child = binary(&["--listen", "127.0.0.1:0"])
            .args(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let log = child.stderr.take();
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("text");
        let (_, address) = line.trim().split_once("http://").expect("where it is");
        Self {
            child,
            address: address.parse().expect("an address"),
            log,
        }
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args(["-s", name, &self.child.id().to_string()])
            .status();
        assert!(sent.expect("kill is on every Unix").success());
    }

    fn exit_code(mut self) -> Option<i32> {
        self.child.wait().expect("it was started").code()
    }

    fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    /// The value of the metric `name`.
    fn figure(&self, name: &str) -> usize {
        let mut connection = self.connect();
        assert!(
            connection
                .write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        );
        let mut text = String::new();
        connection.0.read_to_string(&mut text).expect("text");
        let wanted = format!("talking_stick_{name} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&wanted));
        line.and_then(|figure| figure.parse().ok())
            .unwrap_or_else(|| panic!("no {name} in {text}"))
    }

    /// Registers a participant in this room; returns its handle.
    fn register(&self, name: &str, room: &str) -> String {
        let body = json!({ "username": name, "room": room });
        let answer = self.connect().post("/register", "", &body);
        let (status, answer) = answer.expect("it is answered");
        assert_eq!(status, 200, "{answer}");
        answer["handle"].as_str().expect("a handle").into()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An HTTP/1.1 connection. Every read may be cut short, because the server stops during the test.
struct Connection(BufReader<TcpStream>);

impl Connection {
    fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        Self(BufReader::new(stream))
    }

    fn write(&mut self, bytes: &[u8]) -> bool {
        self.0.get_mut().write_all(bytes).is_ok()
    }

    /// Posts, and returns the status and body of the response; `None` when the connection ended
    /// first.
    fn post(&mut self, path: &str, handle: &str, body: &Value) -> Option<(u16, Value)> {
        let body = body.to_string();
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Chat-Handle: {handle}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        let request = if handle.is_empty() {
            request.replace("Chat-Handle: \r\n", "")
        } else {
            request
        };
        if !self.write(request.as_bytes()) {
            return None;
        }
        let head = self.head()?;
        let status = head[0].split(' ').nth(1)?.parse().ok()?;
        let length = head
            .iter()
            .find_map(|line| line.strip_prefix("content-length: "))?;
        let mut body = vec![0; length.parse().ok()?];
        self.0.read_exact(&mut body).ok()?;
        Some((status, serde_json::from_slice(&body).expect("JSON")))
    }

    fn head(&mut self) -> Option<Vec<String>> {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end() {
                "" => return Some(head),
                line => head.push(line.into()),
            }
        }
    }

    /// Opens an event stream. Returns the type and data of each event until the stream ends.
    fn events(mut self, handle: &str) -> (Receiver<()>, thread::JoinHandle<Vec<(String, Value)>>) {
        let (opened, open) = channel();
        let request =
            format!("GET /events HTTP/1.1\r\nHost: localhost\r\nChat-Handle: {handle}\r\n\r\n");
        assert!(self.write(request.as_bytes()));
        let reading = thread::spawn(move || {
            let head = self.head().expect("a head");
            assert!(head[0].contains("200"), "{head:?}");
            opened.send(()).expect("the test waits for it");
            let mut events = Vec::new();
            let mut kind = String::new();
            let mut line = String::new();
            while self.0.read_line(&mut line).is_ok_and(|read| read > 0) {
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
}

/// The message ids in these events.
fn messages(events: &[(String, Value)]) -> BTreeSet<String> {
    let messages = events.iter().filter(|(kind, _)| kind == "message.received");
    messages.map(|(_, data)| id(data)).collect()
}

fn id(message: &Value) -> String {
    message["message_id"].as_str().expect("an id").into()
}

/// Sends messages until one is refused or the connection ends, and returns the ids of the accepted
/// ones.
fn talk(mut connection: Connection, handle: &str, accepted: &AtomicUsize) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    while let Some((status, answer)) =
        connection.post("/send", handle, &json!({ "message": "hello" }))
    {
        if status != 200 {
            assert_eq!(answer["error"]["code"], "shutting_down");
            break;
        }
        assert!(ids.insert(id(&answer)), "an id was given twice");
        accepted.fetch_add(1, Ordering::Relaxed);
    }
    ids
}

/// So many messages that the stop arrives between two of them.
const ENOUGH: usize = 2_000;

/// The number of participants whose `check_event` waits.
const WAITERS: usize = 16;

const UNBOUND: [&str; 8] = [
    "--limit",
    "rate_limit=none",
    "--limit",
    "stick=optional",
    "--limit",
    "inbox_limit=65536",
    "--log-level",
    "warn",
];

#[test]
fn kill_under_load_loses_nothing_that_was_accepted() {
    let server = Server::start(&UNBOUND);
    let accepted = Arc::new(AtomicUsize::new(0));
    let readers: Vec<_> = (0..4)
        .map(|n| server.register(&format!("Reader {n}"), "lobby"))
        .map(|handle| server.connect().events(&handle))
        .collect();
    for (open, _) in &readers {
        open.recv_timeout(PATIENCE).expect("the stream opens");
    }
    let talkers: Vec<_> = (0..4)
        .map(|n| {
            let handle = server.register(&format!("Talker {n}"), "lobby");
            let connection = server.connect();
            let accepted = Arc::clone(&accepted);
            thread::spawn(move || talk(connection, &handle, &accepted))
        })
        .collect();
    let (waiters, go) = waiters(&server);
    while server.figure("waiting_checks") < WAITERS {
        thread::yield_now();
    }
    while accepted.load(Ordering::Relaxed) < ENOUGH {
        thread::yield_now();
    }
    // In each quiet room one participant speaks around the time of the signal: before it, after it,
    // or never.
    drop(go);
    server.signal("TERM");

    let said: BTreeSet<_> = talkers
        .into_iter()
        .flat_map(|one| one.join().unwrap())
        .collect();
    assert!(said.len() >= ENOUGH);
    for (_, reading) in readers {
        let events = reading.join().unwrap();
        let heard = messages(&events);
        let lost: Vec<_> = said.difference(&heard).collect();
        assert!(lost.is_empty(), "{} of {} lost", lost.len(), said.len());
        let (last, _) = events.last().expect("there was an end");
        assert_eq!(last, "server.closing");
    }
    for waiter in waiters {
        waiter.join().unwrap();
    }
    assert_eq!(server.exit_code(), Some(0));
}

/// Each waiter has a room of its own, with one participant who waits in a check and one who speaks
/// when `go` is dropped. An accepted message must be in the answer of the check.
fn waiters(server: &Server) -> (Vec<thread::JoinHandle<()>>, Sender<()>) {
    let (go, gone) = channel::<()>();
    let gone = Arc::new(std::sync::Mutex::new(gone));
    let waiters = (0..WAITERS).map(|n| {
        let room = format!("quiet-{n}");
        let waiter = server.register(&format!("Waiter {n}"), &room);
        let speaker = server.register(&format!("Speaker {n}"), &room);
        let (mut waits, mut speaks) = (server.connect(), server.connect());
        // This read empties the inbox, so that the next check waits.
        let answer = waits.post("/check_event", &waiter, &json!({ "delay": 0 }));
        let (_, before) = answer.expect("it is answered");
        let after = before["cursor"].clone();
        let gone = Arc::clone(&gone);
        thread::spawn(move || {
            let checks = thread::spawn(move || {
                let body = json!({ "wait_seconds": 50, "after": after });
                waits.post("/tools/check", &waiter, &body)
            });
            // Dropping `go` releases all speakers at once.
            let _ = gone.lock().expect("nobody panics with it").recv();
            let said = speaks.post("/send", &speaker, &json!({ "message": "the last word" }));
            let (status, checked) = checks
                .join()
                .expect("nobody panics")
                .expect("a waiting check is answered");
            match said {
                Some((200, said)) => {
                    assert_eq!(status, 200, "{checked}");
                    let events = checked["events"].as_array().expect("events");
                    assert!(
                        events
                            .iter()
                            .any(|event| event["message_id"] == said["message_id"]),
                        "accepted, and not in {checked}"
                    );
                }
                Some((status, refusal)) => assert_eq!(status, 503, "{refusal}"),
                None => {}
            }
        })
    });
    (waiters.collect(), go)
}

#[test]
fn an_interrupt_is_a_stop_too() {
    let server = Server::start(&["--log-level", "warn"]);
    server.signal("INT");
    assert_eq!(server.exit_code(), Some(0));
}

#[test]
fn a_second_signal_does_not_wait() {
    let mut server = Server::start(&["--grace", "10m"]);
    // The server waits for the rest of a request that has arrived in part.
    let mut half = server.connect();
    assert!(half.write(
        b"POST /register HTTP/1.1\r\nHost: localhost\r\n\
        Content-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"
    ));
    assert!(half.head().expect("it is asked to go on")[0].contains("100"));
    let log = BufReader::new(server.log.take().expect("a pipe"));
    server.signal("TERM");
    let mut lines = log.lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("stopping")));
    server.signal("TERM");
    assert_eq!(server.exit_code(), Some(130));
}

/// A line of a token file.
fn token_line(name: &str, token: &str) -> String {
    use sha2::{Digest as _, Sha256};
    let hash = Sha256::digest(token.as_bytes());
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{name} {hex}\n")
}

/// Posts with this token; returns the status of the response.
fn status(server: &Server, token: &str, line: &str, body: &str) -> u16 {
    let mut connection = server.connect();
    let length = body.len();
    let head = format!(
        "{line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    assert!(connection.write(head.as_bytes()));
    let head = connection.head().expect("it is answered");
    let status = head[0].split(' ').nth(1).expect("a status");
    status.parse().expect("a number")
}

/// A server whose guest Ann has the token `sesame` and whose operator Olga has `the-boss`.
struct Guarded {
    server: Server,
    guests: tempfile::NamedTempFile,
    log: std::io::Lines<BufReader<ChildStderr>>,
    _operators: tempfile::NamedTempFile,
}

impl Guarded {
    fn start() -> Self {
        let file = |text: &str| {
            let file = tempfile::NamedTempFile::new().expect("a file");
            std::fs::write(file.path(), text).expect("room on the disk");
            file
        };
        let guests = file(&token_line("ann", "sesame"));
        let operators = file(&token_line("olga", "the-boss"));
        let path = |file: &tempfile::NamedTempFile| file.path().to_str().expect("text").to_owned();
        let mut server = Server::start(&[
            "--auth-tokens",
            &path(&guests),
            "--operator-tokens",
            &path(&operators),
            "--log",
            "json",
        ]);
        let log = server.log.take().expect("a pipe");
        Self {
            server,
            guests,
            log: BufReader::new(log).lines(),
            _operators: operators,
        }
    }

    /// The lines of the log up to the one that contains `wanted`.
    fn until(&mut self, wanted: &str) -> Vec<String> {
        self.until_all(&[wanted])
    }

    fn until_all(&mut self, wanted: &[&str]) -> Vec<String> {
        let mut seen: Vec<String> = Vec::new();
        for line in self.log.by_ref().map_while(Result::ok) {
            seen.push(line);
            let has = |line: &String| wanted.iter().all(|word| line.contains(word));
            if seen.last().is_some_and(has) {
                return seen;
            }
        }
        panic!("no {wanted:?} in {seen:#?}");
    }

    /// Makes the server reload its token file with these lines, and returns the log line that
    /// contains `wanted`.
    fn read(&mut self, guests: &str, wanted: &str) -> String {
        std::fs::write(self.guests.path(), guests).expect("room on the disk");
        self.server.signal("HUP");
        let file = self.guests.path().to_str().expect("text").to_owned();
        self.until_all(&[&file, wanted]).pop().expect("a line")
    }
}

#[test]
fn a_hangup_reads_the_tokens_again_and_keeps_the_chats() {
    let mut guarded = Guarded::start();
    let body = "{\"username\": \"Ann\"}";
    let answered = |guarded: &Guarded, token: &str, line: &str, body: &str| {
        status(&guarded.server, token, line, body)
    };
    assert_eq!(answered(&guarded, "sesame", "POST /register", body), 200);
    let told = guarded.read("ann 12ab\n", "stay as they were");
    assert!(told.contains(":1: ") && told.contains("ERROR"), "{told}");
    assert_eq!(answered(&guarded, "sesame", "POST /reconnect", "{}"), 200);
    let both = token_line("ann", "sesame") + &token_line("ben", "simsim");
    guarded.read(&both, "read again");
    assert_eq!(answered(&guarded, "simsim", "GET /users", ""), 200);
    let told = guarded.read(&token_line("ann", "sesame"), "read again");
    assert!(told.contains("revoked") && told.contains("ben"), "{told}");
    assert_eq!(answered(&guarded, "simsim", "GET /users", ""), 401);
    assert_eq!(answered(&guarded, "sesame", "POST /reconnect", "{}"), 200);
    guarded.server.signal("TERM");
    assert_eq!(guarded.server.exit_code(), Some(0));
}

#[test]
fn the_log_tells_of_guesses_once_and_of_operators_each_time() {
    let mut guarded = Guarded::start();
    let body = "{\"username\": \"Ann\"}";
    assert_eq!(
        status(&guarded.server, "sesame", "POST /register", body),
        200
    );
    for _ in 0..50 {
        let refused = status(&guarded.server, "guess", "GET /users", "");
        assert!(matches!(refused, 401 | 429), "{refused}");
    }
    let mute = "{\"name\": \"Ann\", \"reason\": \"too loud\"}";
    let done = status(&guarded.server, "the-boss", "POST /admin/mute", mute);
    assert_eq!(done, 200);
    let seen = guarded.until("an operator acted");
    let told = seen.last().expect("a line");
    for wanted in [
        "talking_stick::operators",
        "INFO",
        "olga",
        "mute",
        "name Ann",
        "too loud",
        "200",
    ] {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    let door = |line: &&String| line.contains("talking_stick::door");
    let turned: Vec<_> = seen.iter().filter(door).collect();
    assert_eq!(turned.len(), 1, "{turned:#?}");
    assert!(turned[0].contains("wrong_token") && turned[0].contains("127.0.0.1"));
    guarded.server.signal("TERM");
    let rest = guarded.until("stopped");
    let all = seen.iter().chain(&rest);
    for line in all {
        assert!(
            !line.contains("guess") && !line.contains("the-boss"),
            "{line}"
        );
    }
    assert_eq!(guarded.server.exit_code(), Some(0));
}

#[test]
fn a_place_that_is_taken_is_told_with_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, _, said) = ran(&["--listen", &address]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains(&address) && said.contains("--listen"),
        "{said}"
    );
    assert!(!said.contains('\x1b'), "no colour in a pipe: {said}");
}

#[test]
fn a_setting_that_cannot_be_is_exit_2_and_says_what_could() {
    let wrong: [(&[&str], &str); 11] = [
        (&["--boss_alertness", "101"], "0..=100"),
        (&["--boss-alertness", "-1"], "0..=100"),
        (&["stdio", "--boss_alertness", "much"], "--boss-alertness"),
        (
            &["stdio", "--boss_alertness_cooldown", "-1"],
            "0..=31536000",
        ),
        (&["--boss-alertness-cooldown=99999999"], "0..=31536000"),
        (&["--limit", "boss_alertness=101"], "0 to 100"),
        (&["--limit", "max_members=1"], "2 to 65536"),
        (&["--listen", "0.0.0.0:0"], "--allow-hosts"),
        (&["--grace", "soon"], "1.5s"),
        (&["--no-such-flag"], "--help"),
        (&["--config", "no-such-file.yaml"], "no-such-file.yaml"),
    ];
    for (words, wanted) in wrong {
        let (code, out, said) = ran(words);
        assert_eq!(code, Some(2), "{words:?}: {said}");
        assert!(said.contains(wanted), "{words:?}: {said}");
        assert_eq!(out, "", "{words:?}");
    }
}

#[test]
fn help_fits_a_terminal_of_eighty_columns() {
    for words in [&["--help"][..], &["stdio", "--help"], &["demo", "--help"]] {
        let (code, help, _) = ran(words);
        assert_eq!(code, Some(0));
        assert!(help.contains("Options:"), "{help}");
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{words:?}: {line}");
        }
    }
    let (_, help, _) = ran(&["--help"]);
    insta::assert_snapshot!(help);
}

#[test]
fn the_demonstration_plays_once_and_ends() {
    let (code, out, said) = ran(&["demo", "--once", "--pace", "1ms", "--listen", "127.0.0.1:0"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(out.contains("listens on http://127.0.0.1:"), "{out}");
}
