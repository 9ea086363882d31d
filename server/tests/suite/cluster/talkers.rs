//! Talkers: each says one message after another, at any door. Some insist on each, with the same key until it
//! is accepted. The others act as agents do: they wait long for an answer, and believe it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sim_judge::cluster::{text_of, write_of};

use crate::process::Connection;

/// The refusals after which a call is made again. They say that this attempt has no effect
/// (docs/protocol.md, 13.3).
pub(crate) const PASSING: [&str; 3] = ["storage_unavailable", "shutting_down", "overloaded"];

/// The pause before the next door, so that doors that refuse are not asked all the time.
const PAUSE: Duration = Duration::from_millis(20);

/// What a talker does about a message that was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Habit {
    /// It waits shortly at each door, and repeats the message with its key until it is accepted.
    Insists,
    /// It repeats a message only while an attempt may have had an effect. After a refusal that says
    /// that none has, it goes on to the next message.
    Believes,
    /// It has no keys, so it says each message once.
    SaysOnce,
}

/// How long talkers think before each message, if they do. An owner waits a second for its log. Then its
/// calls wait on, and its lease lasts for another second, in which it takes no new ones: those of talkers
/// that were thinking meanwhile.
pub(crate) const THINKING: Duration = Duration::from_millis(1_500);

impl Habit {
    /// How long it waits at one door. An agent waits longer than a member tries a call.
    const fn patience(self) -> Duration {
        Duration::from_secs(match self {
            Self::Insists => 1,
            Self::Believes | Self::SaysOnce => 20,
        })
    }
}

/// The end of one attempt to say a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    Accepted,
    /// Refused, and the attempt has no effect; nor has an earlier one with the key, if it has one.
    NotDone,
    /// It may have an effect.
    Unknown,
}

/// A message that its talker does not repeat any more.
#[derive(Clone, Copy, Debug)]
struct Said {
    write: u64,
    /// When its first attempt began, and when its last one ended.
    began: Instant,
    at: Instant,
    end: Attempt,
}

/// A talker, and what it has said.
pub(crate) struct Talker {
    habit: Habit,
    /// How long it thinks before each message.
    thinking: Duration,
    handle: String,
    said: Mutex<Vec<Said>>,
}

/// All talkers, who are in one room.
pub(crate) struct Talkers {
    pub(crate) all: Vec<Talker>,
    doors: Vec<SocketAddr>,
    /// The number of the next message.
    next: AtomicU64,
    stop: AtomicBool,
    /// Whether the test has failed, so that nobody may be served any more.
    given_up: AtomicBool,
}

impl Talkers {
    /// Registers talkers with these habits, each with the time that it thinks before each message.
    pub(crate) fn register(habits: &[(Habit, Duration)], doors: Vec<SocketAddr>) -> Self {
        let register = |(number, (habit, thinking)): (usize, &(Habit, Duration))| {
            let door = doors[number % doors.len()];
            let name = format!("talker {number}");
            let handle = Connection::open(door).register(&name, "lobby");
            Talker {
                habit: *habit,
                thinking: *thinking,
                handle,
                said: Mutex::default(),
            }
        };
        Self {
            all: habits.iter().enumerate().map(register).collect(),
            doors,
            next: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            given_up: AtomicBool::new(false),
        }
    }

    /// Lets a talker talk until all are stopped.
    fn talk(&self, number: usize) {
        let talker = &self.all[number];
        let (mut door, mut connection) = (number, None);
        while !self.stop.load(Ordering::Relaxed) {
            thread::park_timeout(talker.thinking);
            let write = self.next.fetch_add(1, Ordering::Relaxed);
            let began = Instant::now();
            let mut is_doubtful = false;
            let end = loop {
                let end = self.say(talker, write, (door, &mut connection));
                if end == Attempt::Accepted {
                    break end;
                }
                door += 1;
                connection = None;
                thread::park_timeout(PAUSE);
                if self.given_up.load(Ordering::Relaxed) {
                    return;
                }
                is_doubtful |= end == Attempt::Unknown;
                match talker.habit {
                    Habit::SaysOnce => break end,
                    // An attempt without an answer may still be on its way.
                    Habit::Believes if !is_doubtful => break end,
                    Habit::Believes | Habit::Insists => {}
                }
            };
            let said = Said {
                write,
                began,
                at: Instant::now(),
                end,
            };
            talker
                .said
                .lock()
                .expect("no test panics with it")
                .push(said);
        }
    }

    /// Says a message once.
    fn say(
        &self,
        talker: &Talker,
        write: u64,
        (door, connection): (usize, &mut Option<Connection>),
    ) -> Attempt {
        if connection.is_none() {
            let door = self.doors[door % self.doors.len()];
            *connection = Connection::try_open(door, talker.habit.patience());
        }
        let Some(open) = connection else {
            return Attempt::NotDone;
        };
        let mut body = json!({ "message": text_of(write) });
        if talker.habit != Habit::SaysOnce {
            body["request_key"] = format!("key {write}").into();
        }
        match open.post("/send", &talker.handle, &body) {
            Some((200, _)) => Attempt::Accepted,
            Some((status, answer)) => {
                let code = answer["error"]["code"].as_str().unwrap_or_default();
                assert!(PASSING.contains(&code), "{status} {answer}");
                match answer["error"]["earlier_attempt"].as_str() {
                    Some("none") => Attempt::NotDone,
                    // Without a key nothing is said of earlier attempts.
                    None if talker.habit == Habit::SaysOnce => Attempt::NotDone,
                    _ => Attempt::Unknown,
                }
            }
            None => Attempt::Unknown,
        }
    }

    /// Lets all end with their last message; at once, if the test fails.
    fn stop(&self) {
        self.given_up.store(thread::panicking(), Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Waits until each talker that insists had a message accepted that it began after `since`;
    /// returns when the last of these was accepted.
    pub(crate) fn heal(&self, since: Instant, patience: Duration) -> Option<Duration> {
        let healed = |talker: &Talker| {
            let list = talker.said.lock().expect("no test panics with it");
            let later = list.iter().find(|said| said.began >= since);
            later.map(|said| said.at)
        };
        let insisting = || {
            self.all
                .iter()
                .filter(|talker| talker.habit == Habit::Insists)
        };
        while since.elapsed() < patience {
            let all: Option<Vec<_>> = insisting().map(healed).collect();
            if let Some(last) = all.and_then(|all| all.into_iter().max()) {
                return Some(last - since);
            }
            thread::park_timeout(Duration::from_millis(5));
        }
        None
    }

    /// The messages with this end, of each talker.
    fn ended(&self, end: Attempt) -> Vec<Vec<u64>> {
        let of = |talker: &Talker| {
            let list = talker.said.lock().expect("no test panics with it");
            let ended = list.iter().filter(|said| said.end == end);
            ended.map(|said| said.write).collect()
        };
        self.all.iter().map(of).collect()
    }

    /// Lets all talk while this acts, also if it fails: they would talk for ever.
    pub(crate) fn talk_while<T>(&self, act: impl FnOnce() -> T) -> T {
        thread::scope(|scope| {
            for number in 0..self.all.len() {
                scope.spawn(move || self.talk(number));
            }
            let _stopper = Stopper(self);
            act()
        })
    }

    /// All accepted messages.
    pub(crate) fn accepted(&self) -> Vec<u64> {
        self.ended(Attempt::Accepted).concat()
    }

    /// All messages that were refused as not done, and never repeated.
    pub(crate) fn not_done(&self) -> Vec<u64> {
        self.ended(Attempt::NotDone).concat()
    }

    /// Checks what a member shows: every accepted message once, each talker's in its order, and
    /// beside them only messages of which nothing is known.
    pub(crate) fn check(&self, shown: &[u64]) {
        let accepted = self.ended(Attempt::Accepted);
        let unknown = self.ended(Attempt::Unknown).concat();
        let of = accepted.iter().enumerate();
        let of = of.flat_map(|(talker, list)| list.iter().map(move |write| (*write, talker)));
        let of: BTreeMap<u64, usize> = of.collect();
        let mut next = vec![0; self.all.len()];
        for write in shown.iter().filter(|write| !unknown.contains(write)) {
            let talker = *of
                .get(write)
                .unwrap_or_else(|| panic!("{write} was not accepted"));
            let wanted = accepted[talker].get(next[talker]);
            assert_eq!(Some(write), wanted, "lost, repeated or out of order");
            next[talker] += 1;
        }
        let counts: Vec<_> = accepted.iter().map(Vec::len).collect();
        assert_eq!(next, counts, "all that was accepted is there");
    }

    /// The messages that this door shows, the oldest first.
    pub(crate) fn history(&self, door: usize) -> Vec<u64> {
        let mut connection = Connection::open(self.doors[door]);
        let texts = texts(&mut connection, &self.all[0].handle);
        let write = |text: &String| write_of(text).expect("a talker's message");
        texts.iter().map(write).collect()
    }
}

/// Stops the talkers when it is dropped.
struct Stopper<'a>(&'a Talkers);

impl Drop for Stopper<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// The history of the caller's only room, the oldest message first.
pub(crate) fn texts(connection: &mut Connection, handle: &str) -> Vec<String> {
    texts_of(connection, "", handle)
}

/// Those in the realm of this path.
pub(crate) fn texts_of(connection: &mut Connection, realm: &str, handle: &str) -> Vec<String> {
    let until = Instant::now() + crate::process::PATIENCE;
    let mut texts = Vec::new();
    let mut before = Value::Null;
    loop {
        let body = json!({ "before": before, "limit": 100 });
        let answer = connection.post(&format!("{realm}/tools/history"), handle, &body);
        let (status, page) = answer.expect("an answer");
        if page["error"]["code"] == "overloaded" && Instant::now() < until {
            // A member with a journal of its own has not written the newest messages yet.
            thread::park_timeout(PAUSE);
            continue;
        }
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
