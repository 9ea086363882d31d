//! No message stays without a knock, and no knock comes twice, whatever is killed between.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::json;
use tempfile::TempDir;

use super::{Pair, post};
use crate::process::{Server, Started, binary, wait_until};

/// What is killed while messages come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Killed {
    Nothing,
    Server,
    Waker,
    /// The command of the waker, before it tells the agent.
    Command,
}

/// Ben writes to Ann, who reads only after a knock.
struct Talk {
    pair: Pair,
    folder: TempDir,
    waker: Started,
    /// The lines of the knocks.
    lines: BufReader<File>,
    draws: u64,
    /// The number of the last message, and of the last one that Ann has read.
    written: u64,
    read: u64,
    /// Where Ann goes on to read.
    cursor: u64,
    /// The place of the last knock, and whether one may come again because a waker was killed.
    knocked: u64,
    may_repeat: bool,
}

impl Talk {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let pair = Pair::on(Server::start(
            &words(&folder).each_ref().map(|word| &**word),
        ));
        let told = folder.path().join("told");
        fs::write(&told, "").expect("a file");
        Self {
            waker: waker(&pair, &folder),
            lines: BufReader::new(File::open(told).expect("a file")),
            pair,
            folder,
            draws: 1,
            written: 0,
            read: 0,
            cursor: 0,
            knocked: 0,
            may_repeat: false,
        }
    }

    /// A number below `limit`.
    fn below(&mut self, limit: u64) -> u64 {
        self.draws = self
            .draws
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.draws >> 33) % limit
    }

    /// Up to eight messages, and a kill before one of them, behind the last, or between a knock and its mark.
    fn round(&mut self, killed: Killed) {
        let last = 1 + self.below(8);
        let mut at = Some(self.below(last + 2));
        let fails = self.fails();
        if killed == Killed::Command {
            fs::write(&fails, "").expect("a file");
        }
        for number in 0..last {
            if at.take_if(|at| *at == number).is_some() {
                self.kill(killed);
            }
            self.written += 1;
            self.pair.ben_says(&self.written.to_string());
        }
        if at.take_if(|at| *at == last).is_some() {
            self.kill(killed);
        }
        if killed == Killed::Command {
            wait_until("a command ends before it tells the agent", || {
                !fails.exists()
            });
        }
        while self.read < self.written && killed != Killed::Command {
            self.hear();
            if at.take().is_some() {
                self.kill(killed);
            }
            self.read();
        }
    }

    fn fails(&self) -> PathBuf {
        self.folder.path().join("fails")
    }

    fn kill(&mut self, killed: Killed) {
        match killed {
            Killed::Nothing | Killed::Command => {}
            Killed::Server => {
                let words = words(&self.folder);
                self.pair.server = self
                    .pair
                    .server
                    .again(&words.each_ref().map(|word| &**word));
            }
            Killed::Waker => {
                self.waker.kill();
                self.waker = waker(&self.pair, &self.folder);
                self.may_repeat = true;
            }
        }
    }

    /// Waits for a knock, which must be for something else than the one before.
    fn hear(&mut self) {
        let mut line = String::new();
        wait_until("a knock for what is unread", || {
            self.lines.read_line(&mut line).expect("text");
            line.ends_with('\n')
        });
        let seq = line.split(['q', ')']).nth(1).expect("a place").trim();
        let seq: u64 = seq.parse().expect("a number");
        assert!(
            seq > self.knocked || std::mem::take(&mut self.may_repeat),
            "again: {line}"
        );
        self.knocked = seq.max(self.knocked);
    }

    /// Reads what is there: each message once, in order.
    fn read(&mut self) {
        let check = json!({ "after": self.cursor, "wait_seconds": 0 });
        let page = post(&self.pair.server, &self.pair.ann, "/tools/check", &check);
        let events = page["events"].as_array().expect("events");
        for text in events.iter().filter_map(|event| event["message"].as_str()) {
            self.read += 1;
            assert_eq!(text, self.read.to_string(), "{page}");
        }
        self.cursor = page["cursor"].as_u64().expect("a cursor");
    }
}

/// The server's words.
fn words(folder: &TempDir) -> [String; 4] {
    let data = folder.path().join("data");
    let limit = "rate_limit={per_second: 100000, burst: 100000}";
    ["--data", data.to_str().expect("text"), "--limit", limit].map(Into::into)
}

/// A waker of Ann, whose command writes a line into a file, unless it is to fail.
fn waker(pair: &Pair, folder: &TempDir) -> Started {
    let [mark, told, fails] = ["mark", "told", "fails"].map(|name| folder.path().join(name));
    let (told, fails) = (told.display(), fails.display());
    let run = format!("test -e {fails} && rm {fails} && exit 1; echo '{{text}}' >> {told}");
    let url = pair.server.url();
    let mut command = binary();
    command.args(pair.words(&url, "wake")).stderr(Stdio::null());
    command
        .arg("--mark")
        .arg(mark)
        .args(["--run", &run, "--per-hour", "60000"]);
    Started::start(&mut command)
}

/// Writes at least so many messages, and kills something in one of three rounds.
fn talk(messages: u64) {
    use Killed::{Command, Nothing, Server, Waker};
    let mut talk = Talk::start();
    while talk.read < messages {
        for killed in [Server, Waker, Command] {
            // A waker waits for a server that has answered it once.
            talk.round(Nothing);
            talk.round(Nothing);
            talk.round(killed);
        }
    }
}

#[test]
fn what_is_unread_is_knocked_for_once_whatever_is_killed() {
    talk(80);
}

#[test]
#[ignore = "takes six minutes: `cargo test -p server --test suite -- --ignored ten_thousand`"]
fn ten_thousand_messages_are_knocked_for_once_whatever_is_killed() {
    talk(10_000);
}
