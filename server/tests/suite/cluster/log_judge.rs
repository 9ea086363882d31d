//! The simulator's judge of clusters, on the log of real NATS servers: it reads every record by its
//! own parser.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;
use server_nats::{Log, Report};
use server_settings::{ClusterSettings, realm};
use sim_judge::cluster::{ClusterFact, ClusterJudge};
use tokio::runtime::Runtime;

use crate::cluster::servers::Servers;
use crate::cluster::talkers::Talkers;

/// How long a record may be missing.
const PATIENCE: Duration = Duration::from_secs(60);

/// The pause before a missing record is looked for elsewhere.
const AGAIN: Duration = Duration::from_secs(2);

/// How many violations are shown: one leads to many.
const SHOWN: usize = 8;

/// Reads the log as it grows.
pub(crate) struct LogJudge {
    reader: JoinHandle<ClusterJudge>,
    stop: Arc<AtomicBool>,
    read: Arc<AtomicU64>,
    /// Whether what was read breaks a rule.
    accuses: Arc<AtomicBool>,
    /// What members said of their states.
    states: Mutex<Vec<ClusterFact>>,
}

/// What clients saw at the end of a run that came to its end.
pub(crate) struct Seen {
    /// The last record of the log.
    pub(crate) last: u64,
    /// The writes that each member shows.
    pub(crate) shown: Vec<Vec<u64>>,
}

impl LogJudge {
    /// Begins to read, over connections that no fault concerns.
    pub(crate) fn start(servers: &Servers) -> Self {
        let options = ClusterSettings {
            servers: servers.addresses(),
            realm: realm::FIRST.into(),
            trust_servers: true,
            ..ClusterSettings::default()
        };
        let [stop, accuses] = [false, false].map(|is| Arc::new(AtomicBool::new(is)));
        let read = Arc::new(AtomicU64::new(0));
        let reader = thread::spawn({
            let (stop, read) = (Arc::clone(&stop), Arc::clone(&read));
            let accuses = Arc::clone(&accuses);
            move || {
                let runtime = Runtime::new().expect("threads");
                let _inside = runtime.enter();
                let mut log = runtime.block_on(Log::open(&options)).expect("it is open");
                let (tell, reports) = channel();
                log.attach(move |report| {
                    // The reader may have stopped.
                    let _ = tell.send(report);
                });
                read_all(&mut log, &reports, (&stop, &read, &accuses))
            }
        });
        Self {
            reader,
            stop,
            read,
            accuses,
            states: Mutex::default(),
        }
    }

    /// Takes what members say of their states.
    pub(crate) fn compare(&self, states: &[Value]) {
        let fact = |state: &Value| {
            let text = |key: &str| state[key].as_str().expect("a text");
            let member = text("member").trim_start_matches('m');
            ClusterFact::State {
                member: member.parse().expect("a number"),
                position: state["position"].as_u64().expect("a number"),
                digest: u64::from_str_radix(text("digest"), 16).expect("a number"),
            }
        };
        let mut said = self.states.lock().expect("no test panics with it");
        said.extend(states.iter().map(fact));
    }

    /// Whether what was read so far breaks a rule.
    pub(crate) fn accuses(&self) -> bool {
        self.accuses.load(Ordering::Relaxed)
    }

    /// Judges the run: what was read of the log, what members said, what was refused as not done.
    /// If the run came to its end, all of the log is read, and what was accepted and shown is
    /// judged, too. Returns a line for people.
    ///
    /// # Errors
    /// The broken rules, a line each.
    pub(crate) fn finish(
        self,
        talkers: &Talkers,
        stranded: &[usize],
        seen: Option<&Seen>,
    ) -> Result<String, String> {
        if let Some(Seen { last, .. }) = seen {
            self.read_to(*last);
        }
        self.stop.store(true, Ordering::Relaxed);
        let mut judge = self.reader.join().expect("it does not panic");
        let said = self.states.into_inner().expect("no test panics with it");
        said.iter().for_each(|fact| judge.observe(fact));
        for member in stranded {
            judge.observe(&ClusterFact::Stranded(*member as u64));
        }
        let (accepted, not_done) = (talkers.accepted(), talkers.not_done());
        for write in &not_done {
            judge.observe(&ClusterFact::NotDone(*write));
        }
        if let Some(Seen { shown, .. }) = seen {
            for write in &accepted {
                judge.observe(&ClusterFact::Accepted(*write));
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
        }
        let broken = judge.violations.iter().take(SHOWN);
        let broken: Vec<_> = broken.map(ToString::to_string).collect();
        if !broken.is_empty() {
            return Err(broken.join("\n"));
        }
        Ok(format!(
            "{} messages, each once and in order at each member, {} refused, and not done; \
             {} records, {} epochs with one owner each",
            accepted.len(),
            not_done.len(),
            self.read.load(Ordering::Relaxed),
            judge.epoch
        ))
    }

    /// Waits until all up to this sequence is read.
    fn read_to(&self, last: u64) {
        let until = Instant::now() + PATIENCE;
        while self.read.load(Ordering::Relaxed) < last {
            let (read, is_over) = (self.read.load(Ordering::Relaxed), Instant::now() > until);
            assert!(
                !is_over && !self.reader.is_finished(),
                "read to {read} of {last}"
            );
            thread::park_timeout(Duration::from_millis(10));
        }
    }
}

/// Reads in order. A record that a replica lacks is read from others; the judge skips none.
fn read_all(
    log: &mut Log,
    reports: &Receiver<Report>,
    (stop, read, accuses): (&AtomicBool, &AtomicU64, &AtomicBool),
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
                accuses.store(!judge.violations.is_empty(), Ordering::Relaxed);
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
