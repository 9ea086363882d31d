//! Measures times, allocations and retained bytes; and counts instructions inside valgrind, which its control
//! program switches on and off.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use benches::commands::Kind;
use benches::journalled::Journalled;
use benches::mixed::Mix;
use benches::population::{Pace, Population, a_break, by_newcomer, enter, newcomer, secret};
use benches::{commands, median};
use chat_core::config::Matching;
use chat_core::{Call, Entry, Reader};
use cpu_time::ThreadTime;
use serde_json::{Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

/// Counts allocated and freed bytes.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// The number of bytes in use.
pub(super) fn in_use() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// The measurements of one operation.
#[derive(Debug, Default)]
struct Samples {
    /// Nanoseconds per operation, of each round.
    ns: Vec<f64>,
    times: u64,
    allocations: usize,
}

/// The measurements of all operations.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// Whether it runs inside valgrind.
    is_counting: bool,
    samples: BTreeMap<&'static str, Samples>,
    stays: BTreeMap<&'static str, f64>,
}

impl Meter {
    pub(super) fn new(is_counting: bool) -> Self {
        Self {
            is_counting,
            ..Self::default()
        }
    }

    /// The number of rounds, from which a median is taken. Each round has the same instructions.
    pub(super) const fn rounds(&self) -> usize {
        if self.is_counting { 1 } else { 21 }
    }

    /// Measures `work`, which performs an operation `times` times.
    pub(super) fn measure(&mut self, what: &'static str, times: u64, mut work: impl FnMut()) {
        self.control("--instr=on");
        let before = ALLOCATOR.stats();
        // Processor time of this thread: other processes do not count.
        let began = ThreadTime::now();
        work();
        let took = began.elapsed();
        let after = ALLOCATOR.stats();
        self.control(&format!("--dump={what}"));
        self.control("--instr=off");
        let samples = self.samples.entry(what).or_default();
        samples.ns.push(took.as_nanos() as f64 / times as f64);
        samples.times += times;
        let count = |stats: &stats_alloc::Stats| stats.allocations + stats.reallocations;
        samples.allocations += count(&after) - count(&before);
    }

    /// Records the retained bytes of `things` new objects. Before them, `before` bytes were in use.
    pub(super) fn stay(&mut self, what: &'static str, things: u64, before: usize) {
        let more = in_use().saturating_sub(before);
        self.stays.insert(what, more as f64 / things as f64);
    }

    /// The results. The instructions are in the files that valgrind writes.
    pub(super) fn found(&self) -> Value {
        let each = |measure: &dyn Fn(&Samples) -> f64| -> Value {
            let samples = self.samples.iter();
            let measured = samples.map(|(what, found)| (*what, measure(found)));
            measured.collect()
        };
        json!({
            "times": each(&|found| found.times as f64),
            "ns": each(&|found| median(found.ns.clone())),
            "allocations": each(&|found| found.allocations as f64 / found.times as f64),
            "bytes": self.stays,
        })
    }

    /// Sends a command to valgrind for this process, if it runs in it.
    ///
    /// # Panics
    /// If valgrind does not react: nothing would be counted.
    fn control(&self, word: &str) {
        if !self.is_counting {
            return;
        }
        let told = Command::new("callgrind_control")
            .args([word, &std::process::id().to_string()])
            .stdin(Stdio::null())
            .output();
        let told = told.expect("valgrind brings its control program along");
        let said = String::from_utf8_lossy(&told.stdout);
        let is_heard = told.status.success() && said.contains("OK");
        assert!(is_heard, "{word}: {said}");
    }
}

/// Of a sequence of arrivals, the number at its end that is measured.
const LAST: usize = 10_000;

/// The number of commands drawn from the mix for each round.
const DRAWN: usize = 1_000;

/// Measures all operations with `size` participants: commands, participants, rooms, idle streams,
/// journalled calls.
pub(super) fn measure_all(size: usize, meter: &mut Meter) {
    for matching in [Matching::Fifo, Matching::Interests] {
        let mut population = Population::new(size, matching, Pace::Still);
        for kind in commands::ALL
            .iter()
            .filter(|kind| kind.matching == matching)
        {
            command(kind, &mut population, meter);
        }
    }
    mixed(size, meter);
    journalled(size, meter);
    one_by_one(size, meter);
}

fn command(kind: &Kind, population: &mut Population, meter: &mut Meter) {
    // The first round is not measured: memory that grows at first use grows in it.
    for round in 0..=meter.rounds() {
        let entries = kind.prepare(population);
        let mut tally = None;
        let mut work = || tally = Some(population.handle(&entries));
        if round == 0 {
            work();
        } else {
            meter.measure(kind.name, entries.len() as u64, work);
        }
        kind.restore(population, tally.unwrap_or_default());
    }
}

fn mixed(size: usize, meter: &mut Meter) {
    let mut population = Population::new(size, Matching::Fifo, Pace::Lively);
    let mut mix = Mix::default();
    mix.settle(&mut population);
    for _ in 0..meter.rounds().max(8) {
        let entries = mix.draw(&population, DRAWN);
        meter.measure("mixed", entries.len() as u64, || {
            population.handle(&entries);
        });
    }
}

fn journalled(size: usize, meter: &mut Meter) {
    let (mut journalled, calls) = Journalled::new(size, LAST);
    for _ in 0..meter.rounds().min(5) {
        let mut again = calls.clone();
        meter.measure("journalled", calls.len() as u64, || {
            journalled.make(std::mem::take(&mut again));
        });
    }
}

/// Participants arrive, are matched, and open a stream each.
fn one_by_one(size: usize, meter: &mut Meter) {
    let numbers = || 0..size as u64;
    let mut population = Population::empty(size, Matching::Fifo, Pace::Still);
    let arrivals: Vec<Entry> = numbers().map(|n| newcomer(5, n, a_break())).collect();
    handle(&mut population, "participant", &arrivals, 1, meter);
    drop(arrivals);
    let pair = |n| by_newcomer(5, n, enter("anything"));
    let pairs: Vec<Entry> = numbers().map(pair).collect();
    handle(&mut population, "room", &pairs, 2, meter);
    drop(pairs);

    let mut journalled = Journalled::of(population);
    let open = |n| Call::OpenStream {
        reader: Reader::Handle(secret(5, n)),
        after: None,
    };
    let before = in_use();
    let first = size - LAST.min(size / 10);
    for n in 0..first as u64 {
        journalled.make(vec![open(n)]);
    }
    let mut last: Vec<Call> = (first as u64..size as u64).map(open).collect();
    meter.measure("stream", last.len() as u64, || {
        journalled.make(std::mem::take(&mut last));
    });
    drop(last);
    assert_eq!(journalled.node().load().streams, size, "all are open");
    meter.stay("stream", size as u64, before);
}

/// Measures how a population handles these entries, of which `each` form one operation.
fn handle(
    population: &mut Population,
    what: &'static str,
    entries: &[Entry],
    each: u64,
    meter: &mut Meter,
) {
    let before = in_use();
    let (first, last) = entries.split_at(entries.len() - LAST.min(entries.len() / 10));
    let tally = population.handle(first);
    assert_eq!(tally.refused, 0, "{what}");
    meter.measure(what, last.len() as u64 / each, || {
        population.handle(last);
    });
    meter.stay(what, entries.len() as u64 / each, before);
}
