//! Measures times, allocations and retained bytes; and counts instructions inside valgrind, which its control
//! program switches on and off.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use benches::median;
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
