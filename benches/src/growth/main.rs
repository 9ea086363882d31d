//! `growth`: measures the costs of all operations with a given number of participants. `cargo xtask
//! bench --growth` runs it for a thousand participants, and for ten times as many each, up to a
//! million.
//!
//! `growth time SIZE` measures times, allocations and retained bytes. `growth count SIZE`, inside
//! valgrind, counts instructions. The results are printed as JSON.

mod clock;
mod counter;
mod measured;

use std::process::ExitCode;

use serde_json::Value;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use clock::Clock;
use counter::Counter;

/// Counts allocated and freed bytes.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// A measuring instrument.
trait Meter {
    /// The number of rounds, from which a median is taken.
    fn rounds(&self) -> usize;

    /// Measures `work`, which performs an operation `times` times.
    fn measure(&mut self, what: &'static str, times: u64, work: &mut dyn FnMut());

    /// Records the retained bytes of `things` new objects. Before them, `before` bytes were in use.
    fn stay(&mut self, what: &'static str, things: u64, before: usize);

    /// The results.
    fn found(&self) -> Value;
}

/// The number of bytes in use.
fn in_use() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is where the program speaks"
)]
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let size = words.get(1).and_then(|word| word.parse::<usize>().ok());
    let mut meter: Box<dyn Meter> = match (words.first(), size) {
        (Some(&"time"), Some(1_000..)) => Box::new(Clock::default()),
        (Some(&"count"), Some(1_000..)) => Box::new(Counter::default()),
        _ => {
            eprintln!("usage: growth time|count SIZE, of 1000 participants or more");
            return ExitCode::from(2);
        }
    };
    measured::all(size.unwrap_or_default(), &mut *meter);
    println!("{}", meter.found());
    ExitCode::SUCCESS
}
