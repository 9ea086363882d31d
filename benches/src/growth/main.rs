//! `growth`: measures the costs of all operations with a given number of participants. `cargo xtask
//! bench --growth` runs it for a thousand participants, and for ten times as many each, up to a
//! million.
//!
//! `growth time SIZE` measures times, allocations and retained bytes. `growth count SIZE`, inside
//! valgrind, also counts instructions. The results are printed as JSON.

mod meter;

use std::process::ExitCode;

use meter::Meter;

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is where the program speaks"
)]
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let size = words.get(1).and_then(|word| word.parse::<usize>().ok());
    let (Some(word @ (&"time" | &"count")), Some(size @ 1_000..)) = (words.first(), size) else {
        eprintln!("usage: growth time|count SIZE, of 1000 participants or more");
        return ExitCode::from(2);
    };
    let mut meter = Meter::new(*word == "count");
    meter::measure_all(size, &mut meter);
    println!("{}", meter.found());
    ExitCode::SUCCESS
}
