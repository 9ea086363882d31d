//! Members of a cluster as processes, each behind a port of its own.

use std::io::{BufRead as _, Read as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Output};
use std::thread;
use std::time::Instant;

use serde_json::Value;
use tempfile::TempDir;

use crate::process::{Connection, PATIENCE, Process, binary};
use crate::servers::{Servers, free_ports, signal};

/// Limits that the load of a test does not reach.
const LIMITS: &str = "stick=optional,rate_limit={per_second: 100000, burst: 100000},\
                      history_limit=1000000,inbox_limit=1000000";

/// A cluster: the NATS servers, and our members.
pub(crate) struct Members {
    /// Where members keep journals, and what they are started with beside.
    pub(crate) kept: Option<Kept>,
    pub(crate) servers: Servers,
    members: Vec<Option<Child>>,
    addresses: Vec<SocketAddr>,
    /// More settings of the members.
    settings: Vec<String>,
}

/// Where members keep journals, and what they are started with beside.
pub(crate) struct Kept {
    pub(crate) folder: TempDir,
    pub(crate) limits: &'static str,
    /// Further words of the command line.
    pub(crate) words: Vec<String>,
}

impl Kept {
    /// In a new folder, with these limits.
    pub(crate) fn with_limits(limits: &'static str) -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            limits,
            words: Vec::new(),
        }
    }

    /// The folder of this member.
    pub(crate) fn data(&self, number: usize) -> PathBuf {
        self.folder.path().join(name(number))
    }

    fn words(&self, number: usize) -> Vec<String> {
        let data = self.data(number).display().to_string();
        let mut words = vec!["--data".into(), data];
        words.extend_from_slice(&self.words);
        words
    }
}

/// An open stream of events.
pub(crate) struct Stream(Connection);

impl Stream {
    /// Reads until this text comes.
    pub(crate) fn read_to(&mut self, text: &str) {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            let read = self.0.stream.read_line(&mut line).expect("it is open");
            assert!(read > 0, "the stream ended");
        }
    }
}

impl Members {
    /// Starts three NATS servers, and three members. All listen.
    pub(crate) fn start() -> Self {
        Self::start_on(3, 3)
    }

    /// Starts this many NATS servers, three or one, and this many members.
    pub(crate) fn start_on(servers: usize, count: usize) -> Self {
        Self::start_keeping(servers, count, None)
    }

    /// The same, with journals of their own.
    pub(crate) fn start_keeping(servers: usize, count: usize, kept: Option<Kept>) -> Self {
        Self::start_all(Servers::start(servers), count, kept, Vec::new())
    }

    /// Starts this many members with these settings on these servers.
    pub(crate) fn start_with(servers: Servers, count: usize, settings: &[&str]) -> Self {
        let settings = settings.iter().copied().map(str::to_owned).collect();
        Self::start_all(servers, count, None, settings)
    }

    fn start_all(
        servers: Servers,
        count: usize,
        kept: Option<Kept>,
        settings: Vec<String>,
    ) -> Self {
        let mut members = Self {
            kept,
            servers,
            members: Vec::new(),
            addresses: Vec::new(),
            settings,
        };
        members.add(count);
        members
    }

    /// Starts this many members more.
    pub(crate) fn add(&mut self, count: usize) {
        let first = self.count();
        let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
        self.addresses
            .extend(free_ports(count).into_iter().map(address));
        let children: Vec<_> = thread::scope(|scope| {
            let members = &*self;
            let starts: Vec<_> = (first..first + count)
                .map(|number| scope.spawn(move || members.spawn(number)))
                .collect();
            let child = |start: thread::ScopedJoinHandle<'_, Child>| start.join().expect("started");
            starts.into_iter().map(child).collect()
        });
        self.members.extend(children.into_iter().map(Some));
    }

    pub(crate) fn count(&self) -> usize {
        self.members.len()
    }

    fn spawn(&self, number: usize) -> Child {
        let mut command = binary();
        let kept = self.kept.as_ref();
        command
            .args(kept.map_or_else(Vec::new, |kept| kept.words(number)))
            .args(["--listen", &self.addresses[number].to_string()])
            .args(["--limit", kept.map_or(LIMITS, |kept| kept.limits)])
            .args(["--cluster-member", &name(number)])
            .args(self.flags());
        let Process { child, mut log, .. } = Process::start(&mut command);
        // A full pipe would block the member.
        thread::spawn(move || {
            let mut rest = Vec::new();
            let _ = log.read_to_end(&mut rest);
        });
        child
    }

    pub(crate) fn flags(&self) -> Vec<String> {
        let mut flags = vec![
            "--cluster".into(),
            self.servers.addresses().join(","),
            "--cluster-monitor".into(),
            self.servers.monitors().join(","),
        ];
        flags.extend_from_slice(&self.settings);
        flags
    }

    pub(crate) fn address(&self, number: usize) -> SocketAddr {
        self.addresses[number]
    }

    pub(crate) fn connect(&self, number: usize) -> Connection {
        Connection::open(self.addresses[number])
    }

    /// Opens a stream of events at this door.
    pub(crate) fn stream(&self, number: usize, handle: &str) -> Stream {
        let mut connection = self.connect(number);
        let headers = [("Chat-Handle", handle)];
        assert!(connection.send("GET /events", &headers, ""));
        let head = connection.head().expect("an answer");
        assert!(head[0].contains("200"), "{head:?}");
        Stream(connection)
    }

    /// Runs this command on the cluster.
    pub(crate) fn command(&self, words: &str) -> Output {
        binary()
            .arg("cluster")
            .args(words.split(' '))
            .args(self.flags())
            .output()
            .expect("the binary starts")
    }

    /// What `cluster status` prints: the members that answer.
    pub(crate) fn states(&self) -> Vec<Value> {
        let output = self.command("status --json");
        let text = String::from_utf8(output.stdout).expect("text");
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Waits until all members answer, and have the same state; returns what they say.
    pub(crate) fn agreed(&self) -> Vec<Value> {
        let until = Instant::now() + PATIENCE;
        loop {
            let states = self.states();
            let state = |state: &Value| (state["position"].clone(), state["digest"].clone());
            let is_one = states
                .windows(2)
                .all(|two| state(&two[0]) == state(&two[1]));
            if states.len() == self.count() && is_one {
                return states;
            }
            assert!(Instant::now() < until, "the members differ: {states:?}");
        }
    }

    /// Waits until a member is the owner; returns its number.
    pub(crate) fn owner(&self) -> usize {
        let until = Instant::now() + PATIENCE;
        loop {
            let states = self.states();
            let owner = states.iter().find(|state| state["role"] == "owner");
            if let Some(owner) = owner {
                let is_it = |number: &usize| owner["member"] == name(*number);
                return (0..self.count()).find(is_it).expect("one of ours");
            }
            assert!(Instant::now() < until, "no owner: {states:?}");
        }
    }

    fn child(&self, number: usize) -> &Child {
        self.members[number].as_ref().expect("it runs")
    }

    /// Sends a signal to a member, as in `STOP` and `CONT`.
    pub(crate) fn signal(&self, number: usize, name: &str) {
        signal(self.child(number), name);
    }

    /// Kills a member.
    pub(crate) fn kill(&mut self, number: usize) {
        if let Some(mut child) = self.members[number].take() {
            child.kill().expect("it runs");
            child.wait().expect("it ends");
        }
    }

    /// Shuts a member down, and waits until it has ended.
    pub(crate) fn stop(&mut self, number: usize) {
        self.signal(number, "TERM");
        let child = self.members[number].take();
        let status = child.expect("it runs").wait().expect("it ends");
        assert_eq!(status.code(), Some(0));
    }

    /// Starts a member that was killed or stopped.
    pub(crate) fn start_again(&mut self, number: usize) {
        self.members[number] = Some(self.spawn(number));
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        for child in self.members.iter_mut().flatten() {
            // A test may have killed it.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn name(number: usize) -> String {
    format!("m{number}")
}
