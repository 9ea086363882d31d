//! Talkers: each says one message after another, at any door, with the same key until it is accepted.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sim_judge::cluster::{text_of, write_of};

use crate::process::Connection;

/// How long a talker waits at one door.
const PATIENCE: Duration = Duration::from_secs(1);

/// The refusals after which a call is made again.
pub(crate) const PASSING: [&str; 3] = ["storage_unavailable", "shutting_down", "overloaded"];

/// The pause before the next door, so that doors that refuse are not asked all the time.
const PAUSE: Duration = Duration::from_millis(20);

/// An accepted message: when its first attempt began, and when it was accepted.
#[derive(Clone, Copy, Debug)]
struct Accepted {
    began: Instant,
    at: Instant,
}

/// A talker, and what was accepted from it.
pub(crate) struct Talker {
    number: usize,
    handle: String,
    accepted: Mutex<Vec<Accepted>>,
}

/// All talkers, who are in one room.
pub(crate) struct Talkers {
    pub(crate) all: Vec<Talker>,
    doors: Vec<SocketAddr>,
    stop: AtomicBool,
}

impl Talkers {
    /// Registers this many.
    pub(crate) fn register(count: usize, doors: Vec<SocketAddr>) -> Self {
        let register = |number: usize| {
            let door = doors[number % doors.len()];
            let name = format!("talker {number}");
            let handle = Connection::open(door).register(&name, "lobby");
            Talker {
                number,
                handle,
                accepted: Mutex::default(),
            }
        };
        let all = (0..count).map(register).collect();
        let stop = AtomicBool::new(false);
        Self { all, doors, stop }
    }

    /// Lets a talker talk until all are stopped. Its last message is accepted, too.
    pub(crate) fn talk(&self, number: usize) {
        let talker = &self.all[number];
        let mut door = number;
        let mut connection = None;
        for message in 0.. {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let began = Instant::now();
            while !self.say(talker, message, (door, &mut connection)) {
                door += 1;
                connection = None;
                thread::park_timeout(PAUSE);
            }
            let at = Instant::now();
            let accepted = Accepted { began, at };
            let mut list = talker.accepted.lock().expect("no test panics with it");
            list.push(accepted);
        }
    }

    /// Says a message once; whether it was accepted.
    fn say(
        &self,
        talker: &Talker,
        message: usize,
        (door, connection): (usize, &mut Option<Connection>),
    ) -> bool {
        if connection.is_none() {
            *connection = Connection::try_open(self.doors[door % self.doors.len()], PATIENCE);
        }
        let Some(open) = connection else {
            return false;
        };
        let body = json!({
            "message": text_of(self.write(talker.number, message)),
            "request_key": format!("key {message}"),
        });
        match open.post("/send", &talker.handle, &body) {
            Some((200, _)) => true,
            Some((status, answer)) => {
                let code = answer["error"]["code"].as_str().unwrap_or_default();
                assert!(PASSING.contains(&code), "{status} {answer}");
                false
            }
            None => false,
        }
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Waits until each talker had a message accepted that it began after `since`; returns when the
    /// last of these was accepted.
    pub(crate) fn heal(&self, since: Instant, patience: Duration) -> Option<Duration> {
        let healed = |talker: &Talker| {
            let list = talker.accepted.lock().expect("no test panics with it");
            let later = list.iter().find(|accepted| accepted.began >= since);
            later.map(|accepted| accepted.at)
        };
        while since.elapsed() < patience {
            let all: Option<Vec<_>> = self.all.iter().map(healed).collect();
            if let Some(last) = all.and_then(|all| all.into_iter().max()) {
                return Some(last - since);
            }
            thread::park_timeout(Duration::from_millis(5));
        }
        None
    }

    /// The write that is a talker's message.
    fn write(&self, talker: usize, message: usize) -> u64 {
        (message * self.all.len() + talker) as u64
    }

    /// All accepted messages.
    pub(crate) fn accepted(&self) -> Vec<u64> {
        let counts = self.counts().into_iter().enumerate();
        counts
            .flat_map(|(talker, count)| (0..count).map(move |message| self.write(talker, message)))
            .collect()
    }

    fn counts(&self) -> Vec<usize> {
        let count = |talker: &Talker| {
            let list = talker.accepted.lock().expect("no test panics with it");
            list.len()
        };
        self.all.iter().map(count).collect()
    }

    /// Checks what a member shows: every accepted message once, each talker's in its order, and
    /// nothing else.
    pub(crate) fn check(&self, shown: &[u64]) {
        let mut next = vec![0; self.all.len()];
        for write in shown {
            let talker = usize::try_from(*write).expect("it is small") % self.all.len();
            let wanted = self.write(talker, next[talker]);
            assert_eq!(*write, wanted, "lost, repeated or out of order");
            next[talker] += 1;
        }
        assert_eq!(next, self.counts(), "all that was accepted is there");
    }

    /// The messages that this door shows, the oldest first.
    pub(crate) fn history(&self, door: usize) -> Vec<u64> {
        let mut connection = Connection::open(self.doors[door]);
        let texts = texts(&mut connection, &self.all[0].handle);
        let write = |text: &String| write_of(text).expect("a talker's message");
        texts.iter().map(write).collect()
    }
}

/// The history of the caller's only room, the oldest message first.
pub(crate) fn texts(connection: &mut Connection, handle: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut before = Value::Null;
    loop {
        let body = json!({ "before": before, "limit": 100 });
        let answer = connection.post("/tools/history", handle, &body);
        let (status, page) = answer.expect("an answer");
        assert_eq!(status, 200, "{page}");
        let messages = page["messages"].as_array().expect("a page");
        let text = |message: &Value| message["message"].as_str().expect("a text").to_owned();
        texts.extend(messages.iter().rev().map(text));
        if page["more"] == false {
            texts.reverse();
            return texts;
        }
        before = messages[0]["room_seq"].clone();
    }
}
