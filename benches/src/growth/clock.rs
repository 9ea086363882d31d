//! Time, allocations, and bytes that stay.

use std::collections::BTreeMap;

use cpu_time::ThreadTime;
use serde_json::{Value, json};

use crate::{ALLOCATOR, Meter, in_use};

/// What work came to, in each of its rounds.
#[derive(Debug, Default)]
struct Samples {
    /// Nanoseconds each.
    ns: Vec<f64>,
    times: u64,
    allocations: usize,
    allocated: usize,
}

/// Takes the time.
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
        // Time on a processor: that of others who want it, too, is not ours.
        let began = ThreadTime::now();
        work();
        let took = began.elapsed();
        let after = ALLOCATOR.stats();
        let samples = self.samples.entry(what).or_default();
        samples.ns.push(took.as_nanos() as f64 / times as f64);
        samples.times += times;
        let count = |stats: &stats_alloc::Stats| stats.allocations + stats.reallocations;
        samples.allocations += count(&after) - count(&before);
        samples.allocated += after.bytes_allocated - before.bytes_allocated;
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
            "allocated": each(&|found| found.allocated as f64 / found.times as f64),
            "bytes": self.stays,
        })
    }
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
