//! `sim cluster`: histories of a cluster, judged.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde_json::{Value, json};
use sim_cluster::{Ended, run_seed};
use sim_judge::cluster::{ClusterFact, ClusterRule};
use sim_model::outcome::{INTERRUPTED, PANIC};
use sim_search::panics::catch_panic;

use super::{Console, WRONG, is_stdout, prepare_files};
use crate::cli::ClusterArgs;
use crate::output;

/// The default number of seeds.
const SEEDS: u64 = 50;

/// The first violation of a history, or its panic.
struct Failure {
    property: String,
    detail: String,
}

/// Runs the histories, and returns the exit code.
pub(super) fn run(arguments: &ClusterArgs, console: &mut Console<'_>) -> u8 {
    if let Some(depth) = arguments.exhaust {
        return search(depth, console);
    }
    if !prepare_files(&[&arguments.json], console) {
        return WRONG;
    }
    let count = arguments.seeds.map_or(SEEDS, |seeds| seeds.get());
    let seeds: Vec<u64> = (0..count).map(|index| arguments.seed + index).collect();
    let jobs = arguments.jobs.unwrap_or(console.cores).get();
    let mut sums = Sums::default();
    let mut failure = None;
    for batch in seeds.chunks(jobs * 8) {
        if console.interrupt.is_requested() {
            console.complain("interrupted: not every seed was run\n");
            return INTERRUPTED;
        }
        for (seed, result) in run_all(batch, jobs) {
            sums.seeds += 1;
            let found = sums.add(seed, result);
            if let Some(found) = found {
                failure = Some((seed, found));
                break;
            }
        }
        if failure.is_some() {
            break;
        }
    }
    if arguments.trace {
        console.say(&sums.trace());
    }
    let page = sums.page(failure.as_ref());
    match arguments.json.as_deref() {
        Some(path) if is_stdout(Some(path)) => {
            console.complain(&page);
            console.say(&format!("{:#}\n", sums.json(failure.as_ref())));
        }
        Some(path) => {
            console.say(&page);
            let text = format!("{:#}\n", sums.json(failure.as_ref()));
            if let Err(problem) = output::write(path, &text) {
                let path = path.display();
                console.complain(&format!("error: cannot write {path}: {problem}\n"));
                return WRONG;
            }
        }
        None => console.say(&page),
    }
    u8::from(failure.is_some())
}

/// Tries every interleaving, and returns the exit code.
fn search(depth: u32, console: &mut Console<'_>) -> u8 {
    let (text, code) = match catch_panic(|| sim_cluster::exhaust(depth)) {
        Ok(found) => {
            let counts = format!("{} states, {} steps\n", found.states, found.steps);
            match found.broken {
                Some((path, broken)) => (format!("{counts}FAIL {path:?}: {broken}\n"), 1),
                None => (counts + "pass\n", 0),
            }
        }
        Err(panic) => (format!("FAIL {PANIC}: {panic}\n"), 1),
    };
    console.say(&text);
    code
}

/// Runs these seeds on this number of threads. The results are in the order of the seeds.
fn run_all(seeds: &[u64], jobs: usize) -> BTreeMap<u64, Result<Ended, String>> {
    let next = AtomicU64::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = usize::try_from(next.fetch_add(1, Ordering::Relaxed)).unwrap_or(usize::MAX);
            let Some(seed) = seeds.get(index) else {
                return done;
            };
            done.push((*seed, catch_panic(|| run_seed(*seed))));
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (1..jobs).map(|_| scope.spawn(work)).collect();
        let mut all: BTreeMap<_, _> = work().into_iter().collect();
        for worker in workers {
            all.extend(worker.join().expect("a worker catches what panics in it"));
        }
        all
    })
}

/// What all histories came to.
#[derive(Default)]
struct Sums {
    seeds: u64,
    accepted: usize,
    epochs: u64,
    checks: BTreeMap<&'static str, u64>,
    counts: BTreeMap<&'static str, u64>,
    last: Option<(u64, Ended)>,
}

impl Sums {
    /// Adds a history. Returns its violation.
    fn add(&mut self, seed: u64, result: Result<Ended, String>) -> Option<Failure> {
        let ended = match result {
            Ok(ended) => ended,
            Err(detail) => {
                return Some(Failure {
                    property: PANIC.into(),
                    detail,
                });
            }
        };
        self.accepted += ended.judge.accepted();
        self.epochs += ended.judge.epochs();
        for rule in ClusterRule::ALL {
            *self.checks.entry(rule.name()).or_default() += ended.judge.checks(rule);
        }
        for (what, count) in &ended.counts {
            *self.counts.entry(what).or_default() += count;
        }
        let failure = ended.judge.violations().first().map(|violation| Failure {
            property: violation.rule.name().into(),
            detail: violation.detail.clone(),
        });
        self.last = Some((seed, ended));
        failure
    }

    fn page(&self, failure: Option<&(u64, Failure)>) -> String {
        let mut page = format!(
            "{} seeds: {} writes accepted, {} claims\n",
            self.seeds, self.accepted, self.epochs
        );
        for (rule, checks) in &self.checks {
            let _ = writeln!(page, "  {rule:<22} {checks} checks");
        }
        let counts = self.counts.iter();
        let counts: Vec<_> = counts.map(|(what, n)| format!("{n} {what}")).collect();
        let _ = writeln!(page, "  {}", counts.join(", "));
        match failure {
            Some((seed, failure)) => {
                let Failure { property, detail } = failure;
                let _ = writeln!(page, "FAIL seed {seed}: {property}: {detail}");
                let _ = writeln!(page, "again: sim cluster --seed {seed} --seeds 1 --trace");
            }
            None => page.push_str("pass\n"),
        }
        page
    }

    fn json(&self, failure: Option<&(u64, Failure)>) -> Value {
        let failures = failure.map(|(seed, failure)| {
            json!({
                "property": failure.property,
                "detail": failure.detail,
                "scenario": "cluster",
                "seed": seed,
                "index": self.seeds,
            })
        });
        json!({
            "seeds": self.seeds,
            "accepted": self.accepted,
            "claims": self.epochs,
            "checks": self.checks,
            "counts": self.counts,
            "failures": failures.into_iter().collect::<Vec<_>>(),
        })
    }

    fn trace(&self) -> String {
        let mut text = String::new();
        let Some((seed, ended)) = &self.last else {
            return text;
        };
        let _ = writeln!(text, "seed {seed}, hash {:016x}", ended.hash);
        for (at, fact) in &ended.facts {
            let micros = at.0;
            let _ = write!(text, "{:>3}.{:06} ", micros / 1_000_000, micros % 1_000_000);
            let _ = if let ClusterFact::Appended { sequence, bytes } = fact {
                writeln!(text, "Appended {sequence}: {} bytes", bytes.len())
            } else {
                writeln!(text, "{fact:?}")
            };
        }
        text
    }
}
