//! `growth`: what everything costs where there are so many participants. `cargo xtask bench
//! --growth` runs it for a thousand, and for ten times as many until there are a million.
//!
//! `growth time SIZE` takes the time, and counts allocations and the bytes that stay; `growth count
//! SIZE`, run inside valgrind, counts instructions. What it found it prints as JSON.

mod clock;
mod counter;
mod measured;

use std::process::ExitCode;

use serde_json::Value;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use clock::Clock;
use counter::Counter;

/// Counts what it gives out, and what comes back.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// What takes the measure of some work.
trait Meter {
    /// How often everything is done, so that a middle may be found.
    fn rounds(&self) -> usize;

    /// Takes the measure of work that does something so many times.
    fn measure(&mut self, what: &'static str, times: u64, work: &mut dyn FnMut());

    /// So many things have come to be since there were `before` bytes in use.
    fn stay(&mut self, what: &'static str, things: u64, before: usize);

    /// What was found.
    fn found(&self) -> Value;
}

/// How many bytes are in use.
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
