//! Rolling upgrades: each process in turn ends in the proper way and starts again, and no client has
//! to repeat more than one call for it.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::cluster::members::Members;
use crate::cluster::monitoring::whole;
use crate::cluster::talkers::PASSING;
use crate::process::Connection;

/// How long the client waits for an answer: longer than a member tries a call.
const PATIENCE: Duration = Duration::from_secs(20);

/// A call of the client that was accepted.
struct Visit {
    /// The attempts before the one that was accepted.
    repeated: usize,
    took: Duration,
}

/// A client that calls one member until its connection ends, and then the next one.
struct Visitor {
    round: usize,
    doors: Vec<SocketAddr>,
    visits: Mutex<Vec<Visit>>,
    stop: AtomicBool,
}

impl Visitor {
    fn new(members: &Members, round: usize) -> Self {
        Self {
            round,
            doors: (0..members.count())
                .map(|number| members.address(number))
                .collect(),
            visits: Mutex::default(),
            stop: AtomicBool::new(false),
        }
    }

    fn call_until_stopped(&self) {
        let (mut door, mut connection) = (0, None);
        for number in 0.. {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let (began, mut repeated) = (Instant::now(), 0);
            while !self.call(number, self.doors[door % self.doors.len()], &mut connection) {
                (door, connection, repeated) = (door + 1, None, repeated + 1);
            }
            let took = began.elapsed();
            let mut visits = self.visits.lock().expect("no test panics with it");
            visits.push(Visit { repeated, took });
        }
    }

    /// Calls once; whether it was accepted.
    fn call(&self, number: usize, door: SocketAddr, connection: &mut Option<Connection>) -> bool {
        if connection.is_none() {
            *connection = Connection::try_open(door, PATIENCE);
        }
        let Some(open) = connection else {
            return false;
        };
        // A registration is a call that every cluster takes, whatever its limits are.
        let name = format!("visitor {} {number}", self.round);
        let key = format!("the request key of {name}");
        // A room has place for some.
        let room = format!("hall {} {}", self.round, number / 100);
        let body = json!({ "username": name, "room": room, "request_key": key });
        match open.post("/register", "", &body) {
            Some((200, _)) => true,
            Some((_, answer)) => {
                let code = answer["error"]["code"].as_str().unwrap_or_default();
                assert!(PASSING.contains(&code), "{answer}");
                false
            }
            None => false,
        }
    }

    /// Takes the calls since the last time. The next call has begun after them.
    fn take(&self) -> Vec<Visit> {
        std::mem::take(&mut *self.visits.lock().expect("no test panics with it"))
    }

    /// Waits until a call was accepted that began after this one.
    fn passes(&self) {
        let count = || self.visits.lock().expect("no test panics with it").len();
        let wanted = count() + 2;
        let until = Instant::now() + 2 * PATIENCE;
        while count() < wanted {
            assert!(Instant::now() < until, "the client is not served");
            thread::park_timeout(Duration::from_millis(5));
        }
    }
}

/// Replaces the processes in turn, while a client calls. Returns a line for people.
pub(crate) fn roll(
    members: &mut Members,
    round: usize,
    mut replace: impl FnMut(&mut Members, usize),
) -> String {
    let visitor = Visitor::new(members, round);
    let mut longest = Duration::ZERO;
    let (mut all, mut unsure) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| visitor.call_until_stopped());
        let stopper = Stopper(&visitor.stop);
        for number in 0..members.count() {
            whole(&members.servers);
            members.owner();
            let pauses = members.pauses();
            replace(members, number);
            visitor.passes();
            let visits = visitor.take();
            let repeated: Vec<_> = visits.iter().map(|visit| visit.repeated).collect();
            let repeated: usize = repeated.iter().sum();
            // A machine that gives a member no processor makes a fault of its own.
            let is_sure = members.pauses() == pauses;
            assert!(
                repeated <= 1 || !is_sure,
                "{repeated} attempts failed in step {number}"
            );
            unsure += usize::from(!is_sure);
            longest = visits
                .iter()
                .map(|visit| visit.took)
                .max()
                .max(Some(longest))
                .expect("it is some");
            all += visits.len();
        }
        drop(stopper);
    });
    format!(
        "{all} calls of a client, the longest took {longest:.1?}, at most one was repeated in a step; \
         {unsure} steps in which a member was paused"
    )
}

/// Stops the client, also when the test fails.
struct Stopper<'a>(&'a AtomicBool);

impl Drop for Stopper<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
