//! Waiting for what is for a participant, and waking its agent.

mod codex;
mod crashes;
mod hook;

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::binary::program::{ran, says};
use crate::process::{Connection, Server, Started, binary};

/// Ann, whose inbox is watched, and Ben in her room.
struct Pair {
    server: Server,
    ann: String,
    inbox: String,
    ben: String,
}

impl Pair {
    fn start() -> Self {
        Self::on(Server::start(&[]))
    }

    fn on(server: Server) -> Self {
        let login = json!({ "username": "Ann", "room": "lobby" });
        let ann = post(&server, "", "/tools/login", &login);
        let text = |name: &str| ann[name].as_str().expect(name).to_owned();
        let (handle, inbox) = (text("handle"), text("inbox_uri"));
        let ben = server.register("Ben", "lobby");
        let pair = Self {
            server,
            ann: handle,
            inbox,
            ben,
        };
        // Nobody is woken by who comes and goes.
        pair.ann_checks();
        pair
    }

    fn ann_checks(&self) {
        let at_once = json!({ "wait_seconds": 0 });
        let page = post(&self.server, &self.ann, "/tools/check", &at_once);
        let after = json!({ "wait_seconds": 0, "after": page["cursor"] });
        post(&self.server, &self.ann, "/tools/check", &after);
    }

    fn ben_says(&self, text: &str) {
        let said = json!({ "message": text, "wait_seconds": 0 });
        let answer = post(&self.server, &self.ben, "/tools/speak", &said);
        assert_eq!(answer["status"], "sent", "{answer}");
    }

    fn words<'a>(&'a self, url: &'a str, command: &'a str) -> Vec<&'a str> {
        vec![command, &self.inbox, "--connect", url]
    }
}

fn post(server: &Server, handle: &str, path: &str, body: &Value) -> Value {
    let mut connection: Connection = server.connect();
    let (status, answer) = connection.post(path, handle, body).expect("it is answered");
    assert_eq!(status, 200, "{answer}");
    answer
}

#[test]
fn one_waits_until_something_is_for_it() {
    let pair = Pair::start();
    let url = pair.server.url();
    let mut command = binary();
    command
        .args(pair.words(&url, "wait"))
        .stdout(Stdio::piped());
    let mut waiting = Started::start(&mut command);
    let output = waiting.child_mut().stdout.take().expect("a pipe");
    // Ben comes and goes, and claims: none of it is for Ann.
    post(&pair.server, &pair.ben, "/tools/talking_stick", &json!({}));
    post(&pair.server, &pair.ben, "/tools/reset", &json!({}));
    assert!(waiting.is_running());
    pair.ben_says("hello");
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).expect("a line");
    assert!(line.starts_with("Talking Stick: 1 new (seq "), "{line}");
    assert!(line.ends_with("). Call check.\n"), "{line}");
    assert_eq!(waiting.exit_code(), Some(0));
    // What she has not read is said again, unless it is known.
    let (code, again, _) = ran(&pair.words(&url, "wait"));
    assert_eq!((code, &again), (Some(0), &line));
    let seq = line.split(['q', ')']).nth(1).expect("a place").trim();
    let known = [
        &pair.words(&url, "wait")[..],
        &["--after", seq, "--within", "300ms"],
    ]
    .concat();
    says(&known, 3, &["nothing came in time"]);
    pair.ann_checks();
    let read = [&pair.words(&url, "wait")[..], &["--within", "300ms"]].concat();
    says(&read, 3, &["nothing came in time"]);
}

#[test]
fn a_grant_for_words_that_waited_wakes_nobody_and_one_that_lasts_does() {
    let pair = Pair::start();
    let url = pair.server.url();
    let says_later = json!({ "message": "in turn", "wait_seconds": 0 });
    for (tool, body, within, expected) in [
        ("/tools/speak", &says_later, "300ms", Some(3)),
        ("/tools/talking_stick", &json!({}), "60s", Some(0)),
    ] {
        post(&pair.server, &pair.ben, "/tools/talking_stick", &json!({}));
        let claimed = post(&pair.server, &pair.ann, tool, body);
        assert_eq!(claimed["status"], "waiting", "{claimed}");
        post(&pair.server, &pair.ben, "/tools/reset", &json!({}));
        let within = [&pair.words(&url, "wait")[..], &["--within", within]].concat();
        let (code, said, why) = ran(&within);
        assert_eq!(code, expected, "{tool}: {said}{why}");
        pair.ann_checks();
    }
}

#[test]
fn what_cannot_be_waited_for_is_said() {
    let pair = Pair::start();
    let url = pair.server.url();
    says(
        &["wait", "r_unknown", "--connect", &url],
        1,
        &["no such inbox", "another inbox_uri"],
    );
    says(
        &["wait", "chat://room/1", "--connect", &url],
        2,
        &["chat://inbox/"],
    );
    says(
        &["wait", "r_x", "--connect", "localhost"],
        2,
        &["http://127.0.0.1:8894"],
    );
    assert_eq!(pair.server.stop(), Some(0));
    says(&["wait", "r_x", "--connect", &url], 1, &["does not answer"]);
}

/// A waker of Ann whose command writes into a pipe.
struct Waker {
    _process: Started,
    told: BufReader<File>,
}

impl Waker {
    fn start(pair: &Pair, folder: &TempDir) -> Self {
        let pipe = folder.path().join("told");
        let (mark, pipe) = (folder.path().join("mark"), pipe.to_str().expect("text"));
        let made = Command::new("mkfifo")
            .arg(pipe)
            .status()
            .expect("every Unix has it");
        assert!(made.success());
        // One writer keeps it open, so that the reader does not meet its end.
        let told = File::options()
            .read(true)
            .write(true)
            .open(pipe)
            .expect("a pipe");
        let url = pair.server.url();
        let run = format!("echo '{{text}}' > {pipe}");
        let mut command = binary();
        command.args(pair.words(&url, "wake")).stderr(Stdio::null());
        command.arg("--mark").arg(mark).args(["--run", &run]);
        Self {
            _process: Started::start(&mut command),
            told: BufReader::new(told),
        }
    }

    fn hears(&mut self) -> String {
        let mut line = String::new();
        self.told.read_line(&mut line).expect("a line");
        line
    }
}

#[test]
fn an_agent_is_woken_once_for_what_it_has_not_read() {
    let pair = Pair::start();
    let folder = tempfile::tempdir().expect("a folder");
    let mut waker = Waker::start(&pair, &folder);
    pair.ben_says("one");
    let first = waker.hears();
    assert!(first.starts_with("Talking Stick: 1 new (seq "), "{first}");
    pair.ben_says("two");
    assert!(waker.hears().starts_with("Talking Stick: 2 new (seq "));
    // The first mark was written before the second command.
    let mark = folder.path().join("mark");
    let seq = first.split(['q', ')']).nth(1).expect("a place").trim();
    let kept = fs::read_to_string(&mark).expect("a mark");
    let (kept, times) = kept.split_once(' ').expect("a place and how often");
    assert!(kept.parse::<u64>().expect("a place") >= seq.parse().expect("a place"));
    assert_eq!(times, "once\n");
    // Another one for the same agent would tell it twice.
    let url = pair.server.url();
    let mark = mark.to_str().expect("text");
    let again = [
        &pair.words(&url, "wake")[..],
        &["--mark", mark, "--run", "true"],
    ]
    .concat();
    says(&again, 1, &["another `wake` uses it"]);
    // One that starts later knows of what the agent was told.
    drop(waker);
    fs::remove_file(folder.path().join("told")).expect("a pipe");
    let mut waker = Waker::start(&pair, &folder);
    pair.ann_checks();
    pair.ben_says("three");
    assert!(waker.hears().starts_with("Talking Stick: 1 new (seq "));
}
