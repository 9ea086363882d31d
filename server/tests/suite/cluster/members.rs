//! Members of a cluster as processes, with a proxy on every edge between them, the NATS servers and
//! clients.

use std::io::BufRead as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cluster::logs::Logs;
use crate::cluster::network::Network;
use crate::cluster::servers::{PROPER, Servers, free_ports};
use crate::disk::Disk;
use crate::process::{Connection, PATIENCE, Server, binary};
use crate::stage::meta;

/// Limits that the load of a test does not reach.
const LIMITS: &str = "stick=optional,rate_limit={per_second: 100000, burst: 100000},\
                      history_limit=1000000,inbox_limit=1000000,\
                      registration_rate_limit=none,max_per_address=100000";

/// `LIMITS` with more remembered keys. Talkers send without a limit of the rate, so a member would forget
/// the key of a call before a talker repeats it at another door.
const FOR_TALKERS: &str = "stick=optional,rate_limit={per_second: 100000, burst: 100000},\
                           remembered_keys=65536,history_limit=1000000,inbox_limit=1000000,\
                           registration_rate_limit=none,max_per_address=100000";

/// Limits for the simulator, all of whose users come from one address.
const FOR_ONE_ADDRESS: &str = "rate_limit=none,registration_rate_limit=none,max_per_address=100000";

/// A cluster: the NATS servers, and our members.
pub(crate) struct Members {
    /// Where members keep journals, and what they are started with beside.
    pub(crate) kept: Option<Kept>,
    pub(crate) servers: Servers,
    pub(crate) network: Network,
    members: Vec<Option<Server>>,
    /// The port on which each member listens.
    ports: Vec<u16>,
    limits: &'static str,
    /// More settings of the members.
    settings: Vec<String>,
    /// The program of members that start from now on; this build, if there is none. The environment may
    /// name another build, such as one with a bug.
    pub(crate) program: Option<PathBuf>,
    pub(crate) logs: Logs,
}

/// Where members keep journals, and what they are started with beside.
pub(crate) struct Kept {
    pub(crate) folder: TempDir,
    pub(crate) limits: &'static str,
    /// Further words of the command line.
    pub(crate) words: Vec<String>,
    /// The disk of the first member, if that one alone keeps a journal.
    pub(crate) disk: Option<Disk>,
}

impl Kept {
    /// In a new folder, with these limits.
    pub(crate) fn with_limits(limits: &'static str) -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            limits,
            words: Vec::new(),
            disk: None,
        }
    }

    /// In a new folder, by the first member alone, on a disk that fails on command.
    fn by_first_member(limits: &'static str) -> Self {
        let mut kept = Self::with_limits(limits);
        kept.disk = Some(Disk::of(kept.data(0)));
        kept
    }

    /// Whether this member keeps a journal.
    pub(crate) const fn has(&self, number: usize) -> bool {
        self.disk.is_none() || number == 0
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

    /// Reads until the server ends the body. The connection stays.
    pub(crate) fn read_to_end(mut self) {
        let until = Instant::now() + PATIENCE;
        let mut line = String::new();
        // A chunk without bytes is the last one.
        while line.trim_end() != "0" {
            assert!(Instant::now() < until, "the stream goes on");
            line.clear();
            let read = self.0.stream.read_line(&mut line).expect("it is open");
            assert!(read > 0, "the stream was cut");
        }
    }
}

impl Members {
    /// Starts three NATS servers, and three members. All listen.
    pub(crate) fn start() -> Self {
        Self::start_on(3, 3)
    }

    /// Starts three NATS servers, and three members with limits for talkers. The first member keeps
    /// a journal.
    pub(crate) fn start_for_talkers() -> Self {
        let kept = Kept::by_first_member(FOR_TALKERS);
        Self::start_all((3, 3), FOR_TALKERS, Some(kept), &[])
    }

    /// Starts three NATS servers, and three members that are this program, with limits for talkers. Each
    /// member keeps a journal.
    pub(crate) fn start_for_talkers_by(program: PathBuf) -> Self {
        let kept = Some(Kept::with_limits(FOR_TALKERS));
        let mut members = Self::start_all((3, 0), FOR_TALKERS, kept, &[]);
        members.program = Some(program);
        members.add(3);
        members
    }

    /// Starts three NATS servers, and three members with limits for the users of the simulator.
    pub(crate) fn start_for_simulator() -> Self {
        let kept = Kept::by_first_member(FOR_ONE_ADDRESS);
        Self::start_all((3, 3), FOR_ONE_ADDRESS, Some(kept), &[])
    }

    /// Starts this many NATS servers, three or one, and this many members.
    pub(crate) fn start_on(servers: usize, count: usize) -> Self {
        Self::start_all((servers, count), LIMITS, None, &[])
    }

    /// Starts this many NATS servers, and this many members; with `kept`, each member keeps a journal.
    pub(crate) fn start_keeping(servers: usize, count: usize, kept: Option<Kept>) -> Self {
        Self::start_all((servers, count), LIMITS, kept, &[])
    }

    /// Starts this many NATS servers, and this many members with these command line options.
    pub(crate) fn start_with(servers: usize, count: usize, settings: &[&str]) -> Self {
        Self::start_all((servers, count), LIMITS, None, settings)
    }

    fn start_all(
        (servers, count): (usize, usize),
        limits: &'static str,
        kept: Option<Kept>,
        settings: &[&str],
    ) -> Self {
        let mut network = Network::new();
        let link = |from, to, port| network.add_route(from, to, port);
        let servers = Servers::start_linked(servers, PROPER, link);
        let logs = Logs::in_folder(servers.folder());
        let mut members = Self {
            kept,
            servers,
            network,
            members: Vec::new(),
            ports: Vec::new(),
            limits,
            settings: settings.iter().copied().map(str::to_owned).collect(),
            program: std::env::var_os("CLUSTER_SERVER").map(PathBuf::from),
            logs,
        };
        members.add(count);
        members
    }

    /// Starts this many members more.
    pub(crate) fn add(&mut self, count: usize) {
        let first = self.count();
        let ports = free_ports(count);
        for port in &ports {
            self.network.add_member(*port, &self.servers.ports());
        }
        self.ports.extend(ports);
        let started: Vec<_> = thread::scope(|scope| {
            let members = &*self;
            let starts: Vec<_> = (first..first + count)
                .map(|number| scope.spawn(move || members.spawn(number)))
                .collect();
            starts.into_iter().map(|start| start.join().ok()).collect()
        });
        let are_all_there = started.iter().all(Option::is_some);
        // Those that run end with this, also if one does not.
        self.members.extend(started);
        assert!(are_all_there, "a member did not start");
    }

    pub(crate) fn count(&self) -> usize {
        self.members.len()
    }

    fn spawn(&self, number: usize) -> Server {
        let mut command = self.program.as_ref().map_or_else(binary, Command::new);
        let kept = self.kept.as_ref().filter(|kept| kept.has(number));
        let disk = kept.and_then(|kept| kept.disk.as_ref());
        command
            .stdin(Stdio::null())
            .envs(disk.iter().flat_map(|disk| disk.variables()))
            .args(kept.map_or_else(Vec::new, |kept| kept.words(number)))
            .args(["--listen", &format!("127.0.0.1:{}", self.ports[number])])
            .args(["--limit", kept.map_or(self.limits, |kept| kept.limits)])
            .args(["--cluster-member", &name(number)])
            .args(self.flags_by(self.network.links(number)))
            .args(&self.settings);
        let mut member = Server::start_as(&mut command);
        // A full pipe would block the member.
        let log = member.log.take().expect("a pipe");
        self.logs.follow(&name(number), &member.before, log);
        member
    }

    /// How often members found damage in the log, so far.
    pub(crate) fn alarms(&self) -> usize {
        let names = (0..self.count()).map(name);
        names.map(|name| self.logs.alarms(&name)).sum()
    }

    /// How often members found that they had been paused, so far.
    pub(crate) fn pauses(&self) -> usize {
        let names = (0..self.count()).map(name);
        names.map(|name| self.logs.pauses(&name)).sum()
    }

    /// The members that could not apply the log.
    pub(crate) fn stranded(&self) -> Vec<usize> {
        let all = 0..self.count();
        all.filter(|number| self.logs.is_stranded(&name(*number)))
            .collect()
    }

    /// The settings of the cluster.
    pub(crate) fn flags(&self) -> Vec<String> {
        self.flags_by(self.servers.ports())
    }

    /// The settings of a cluster whose NATS servers are reached by these ports.
    fn flags_by(&self, ports: Vec<u16>) -> Vec<String> {
        let addresses: Vec<_> = ports
            .into_iter()
            .map(|port| format!("nats://127.0.0.1:{port}"))
            .collect();
        vec![
            "--cluster".into(),
            addresses.join(","),
            "--cluster-monitor".into(),
            self.servers.monitors().join(","),
        ]
    }

    /// Where clients reach a member.
    pub(crate) fn address(&self, number: usize) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.network.door(number)))
    }

    pub(crate) fn connect(&self, number: usize) -> Connection {
        Connection::open(self.address(number))
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

    /// Opens a subscription of MCP to this inbox at this door.
    pub(crate) fn subscription(&self, number: usize, handle: &str, inbox: &str) -> Stream {
        let mut connection = self.connect(number);
        let protocol = "2026-07-28";
        let notifications = json!({ "resourceSubscriptions": [inbox] });
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
            "params": { "notifications": notifications, "_meta": meta() },
        });
        let headers = [
            ("Accept", "application/json, text/event-stream"),
            ("Mcp-Protocol-Version", protocol),
            ("Mcp-Method", "subscriptions/listen"),
            ("Chat-Handle", handle),
        ];
        assert!(connection.send("POST /mcp", &headers, &body.to_string()));
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

    /// The folder in which a member keeps its journal.
    pub(crate) fn data(&self, number: usize) -> PathBuf {
        let kept = self.kept.as_ref().expect("they keep journals");
        kept.data(number)
    }

    fn member(&self, number: usize) -> &Server {
        self.members[number].as_ref().expect("it runs")
    }

    /// Sends a signal to a member, as in `STOP` and `CONT`.
    pub(crate) fn signal(&self, number: usize, name: &str) {
        self.member(number).signal(name);
    }

    /// Kills a member.
    pub(crate) fn kill(&mut self, number: usize) {
        self.members[number] = None;
    }

    /// Shuts a member down, and waits until it has ended.
    pub(crate) fn stop(&mut self, number: usize) {
        assert_eq!(self.member(number).stop(), Some(0));
        self.members[number] = None;
    }

    /// Starts a member that was killed or stopped.
    pub(crate) fn start_again(&mut self, number: usize) {
        self.members[number] = Some(self.spawn(number));
    }
}

fn name(number: usize) -> String {
    format!("m{number}")
}
