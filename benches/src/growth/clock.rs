//! Measures times, allocations, and retained bytes.

use std::collections::BTreeMap;

use cpu_time::ThreadTime;
use serde_json::{Value, json};

use crate::{ALLOCATOR, Meter, in_use};

/// The measurements of one operation, a value for each round.
#[derive(Debug, Default)]
struct Samples {
    /// Nanoseconds per operation.
    ns: Vec<f64>,
    times: u64,
    allocations: usize,
}

/// Measures times.
#[derive(Debug, Default)]
pub(super) struct Clock {
    samples: BTreeMap<&'static str, Samples>,
    stays: BTreeMap<&'static str, f64>,
}

impl Meter for Clock {
    fn rounds(&self) -> usize {
        21
    }

    fn measure(&mut self, what: &'static str, times: u64, work: &mut dyn FnMut()) {
        let before = ALLOCATOR.stats();
        // Processor time of this thread: other processes do not count.
        let began = ThreadTime::now();
        work();
        let took = began.elapsed();
        let after = ALLOCATOR.stats();
        let samples = self.samples.entry(what).or_default();
        samples.ns.push(took.as_nanos() as f64 / times as f64);
        samples.times += times;
        let count = |stats: &stats_alloc::Stats| stats.allocations + stats.reallocations;
        samples.allocations += count(&after) - count(&before);
    }

    fn stay(&mut self, what: &'static str, things: u64, before: usize) {
        let more = in_use().saturating_sub(before);
        self.stays.insert(what, more as f64 / things as f64);
    }

    fn found(&self) -> Value {
        let each = |measure: &dyn Fn(&Samples) -> f64| -> BTreeMap<&str, f64> {
            let samples = self.samples.iter();
            samples
                .map(|(what, found)| (*what, measure(found)))
                .collect()
        };
        json!({
            "ns": each(&|found| median(&found.ns)),
            "allocations": each(&|found| found.allocations as f64 / found.times as f64),
            "bytes": self.stays,
        })
    }
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
