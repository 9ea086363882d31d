//! The simulator's judge of clusters, on the log of real NATS servers: it reads every record by its
//! own parser.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;
use server_nats::{Log, LogOptions, Report, Vouching};
use sim_judge::cluster::{ClusterFact, ClusterJudge};
use tokio::runtime::Runtime;

use crate::servers::Servers;
use crate::talkers::Talkers;

/// How long a record may be missing.
const PATIENCE: Duration = Duration::from_secs(60);

/// The pause before a missing record is looked for elsewhere.
const AGAIN: Duration = Duration::from_secs(2);

/// Reads the log as it grows.
pub(crate) struct LogJudge {
    reader: JoinHandle<ClusterJudge>,
    stop: Arc<AtomicBool>,
    read: Arc<AtomicU64>,
    /// The digest at each position that a member has told.
    states: Mutex<BTreeMap<u64, (String, String)>>,
}

impl LogJudge {
    /// Begins to read, over connections that no fault concerns.
    pub(crate) fn start(servers: &Servers) -> Self {
        let options = LogOptions {
            servers: servers.addresses(),
            vouching: Vouching::Operator,
            ..LogOptions::default()
        };
        let (stop, read) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let reader = thread::spawn({
            let (stop, read) = (Arc::clone(&stop), Arc::clone(&read));
            move || {
                let runtime = Runtime::new().expect("threads");
                let _inside = runtime.enter();
                let mut log = runtime.block_on(Log::open(&options)).expect("it is open");
                let (tell, reports) = channel();
                log.attach(move |report| {
                    // The reader may have stopped.
                    let _ = tell.send(report);
                });
                read_all(&mut log, &reports, (&stop, &read))
            }
        });
        Self {
            reader,
            stop,
            read,
            states: Mutex::default(),
        }
    }

    /// Compares what members say of their states with what any said before.
    pub(crate) fn compare(&self, states: &[Value]) {
        let mut known = self.states.lock().expect("no test panics with it");
        for state in states {
            let text = |key: &str| state[key].to_string();
            let position = state["position"].as_u64().expect("a number");
            let said = (text("member"), text("digest"));
            let (member, digest) = known.entry(position).or_insert_with(|| said.clone());
            assert_eq!(*digest, said.1, "at {position}: {member} and {}", said.0);
        }
    }

    /// Reads up to this sequence, and judges what clients saw: the accepted writes, those that were
    /// refused as not done, and those that each member shows. Returns a line for people.
    pub(crate) fn finish(self, last: u64, talkers: &Talkers, shown: &[Vec<u64>]) -> String {
        let until = Instant::now() + PATIENCE;
        while self.read.load(Ordering::Relaxed) < last {
            let (read, is_over) = (self.read.load(Ordering::Relaxed), Instant::now() > until);
            assert!(
                !is_over && !self.reader.is_finished(),
                "read to {read} of {last}"
            );
            thread::park_timeout(Duration::from_millis(10));
        }
        self.stop.store(true, Ordering::Relaxed);
        let mut judge = self.reader.join().expect("it does not panic");
        let (accepted, not_done) = (talkers.accepted(), talkers.not_done());
        for write in &accepted {
            judge.observe(&ClusterFact::Accepted(*write));
        }
        for write in &not_done {
            judge.observe(&ClusterFact::NotDone(*write));
        }
        for (member, shown) in (0..).zip(shown) {
            judge.observe(&ClusterFact::ReadBegan(member));
            judge.observe(&ClusterFact::Read {
                read: member,
                member,
                shown: shown.clone(),
                more: false,
            });
        }
        let violations = judge.violations().iter().map(ToString::to_string);
        let violations: Vec<_> = violations.collect();
        assert!(violations.is_empty(), "{}", violations.join("\n"));
        let epochs = judge.epochs();
        format!(
            "{} messages, each once and in order at each member, {} refused, and not done; \
             {last} records, {epochs} epochs with one owner each",
            accepted.len(),
            not_done.len()
        )
    }
}

/// Reads in order. A record that a replica lacks is read from others; the judge skips none.
fn read_all(
    log: &mut Log,
    reports: &Receiver<Report>,
    (stop, read): (&AtomicBool, &AtomicU64),
) -> ClusterJudge {
    let mut judge = ClusterJudge::default();
    let (mut attempt, mut missing) = (0, None::<Instant>);
    log.follow(1, attempt);
    while !stop.load(Ordering::Relaxed) {
        let next = read.load(Ordering::Relaxed) + 1;
        if let Ok(Report::Record {
            sequence, bytes, ..
        }) = reports.recv_timeout(Duration::from_millis(100))
        {
            if sequence == next {
                judge.observe(&ClusterFact::Appended { sequence, bytes });
                read.store(sequence, Ordering::Relaxed);
                missing = None;
                attempt = 0;
            } else if sequence > next && missing.is_none() {
                missing = Some(Instant::now());
            }
        }
        if missing.is_some_and(|since| since.elapsed() > AGAIN) {
            attempt += 1;
            assert!(attempt < 30, "record {next} is missing everywhere");
            missing = Some(Instant::now());
            log.follow(next, attempt);
        }
    }
    judge
}
