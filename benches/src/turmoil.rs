//! Measures message deliveries per second of two virtual worlds: sim-world with all properties, and
//! turmoil without any checks.
//!
//! In both, users chat in pairs, with a message every 300 ms and a network delay of 20 ms. The two
//! run in turns, each on one core.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use benches::worlds;

use crate::driver::output;
use crate::{Outcome, median};

#[derive(Debug, clap::Args)]
pub(crate) struct TurmoilArgs {
    /// Users that chat
    #[arg(long, default_value_t = 40)]
    users: u32,
    /// Virtual seconds with turmoil
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Virtual seconds with sim-world
    #[arg(long, default_value_t = 2_000)]
    our_seconds: u64,
    /// Runs of each, in turns
    #[arg(long, default_value_t = 3)]
    rounds: u32,
}

/// The messages of one run, and the seconds that it took.
type Run = (u64, f64);

/// # Errors
/// If turmoil's program cannot be built or run.
pub(crate) fn run(args: &TurmoilArgs) -> Outcome<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut ratios = Vec::new();
    for round in 1..=args.rounds {
        let runs = [("turmoil", theirs(here, args)?), ("this world", ours(args))];
        let rates = runs.map(|(name, (delivered, seconds))| {
            let rate = delivered as f64 / seconds;
            println!(
                "round {round}  {name:<10}  {delivered:>9} messages in {seconds:>6.2} s  {rate:>9.0}/s"
            );
            rate
        });
        ratios.push(rates[1] / rates[0]);
    }
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let median = median(ratios);
    println!("{median:.0} times as many (median; the least {least:.0})");
    Ok(())
}

fn theirs(here: &Path, args: &TurmoilArgs) -> Outcome<Run> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["run", "--quiet", "--release", "--manifest-path"])
        .arg(here.join("turmoil/Cargo.toml"))
        .arg("--target-dir")
        .arg(here.join("../target/turmoil"))
        .arg("--")
        .args([args.users.to_string(), args.seconds.to_string()]);
    let said = String::from_utf8(output(&mut command)?)?;
    let (delivered, micros) = said.trim().split_once(' ').ok_or("it printed no figures")?;
    let took = Duration::from_micros(micros.parse()?);
    Ok((delivered.parse()?, took.as_secs_f64()))
}

fn ours(args: &TurmoilArgs) -> Run {
    let plan = worlds::pairs(args.users, args.our_seconds);
    let began = Instant::now();
    (worlds::delivered(&plan), began.elapsed().as_secs_f64())
}
