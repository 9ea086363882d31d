//! `load`: measures the real server under load, in comparable figures.
//!
//! It starts `talking-stick` from its own folder on a free port, and stops it at the end. One
//! client generates all loads, so figures of one run are comparable with one another, and not with
//! those of other runs.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is where the program speaks"
)]

mod cluster;
mod driver;
mod durable;
mod hostile;
mod relay;
mod requests;
mod server;
mod streams;
mod turmoil;
mod turns;
mod wire;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// An error ends the program with its message.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The median, or the mean of the two in the middle; not a number if there is none.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    let at = |place: usize| figures.get(place).copied().unwrap_or(f64::NAN);
    let count = figures.len();
    f64::midpoint(at(count.saturating_sub(1) / 2), at(count / 2))
}

/// Measures the real server, built in release, under load.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask load", max_term_width = 80)]
struct Cli {
    #[command(subcommand)]
    what: LoadCommand,
}

#[derive(Debug, Subcommand)]
enum LoadCommand {
    /// Requests per second of several routes, in turns.
    Requests(requests::RequestsArgs),
    /// The delay of a message from its send to its arrival, at a steady rate.
    Relay(relay::RelayArgs),
    /// Idle event streams: the cost of each, and the time until a message reaches all.
    Streams(streams::StreamsArgs),
    /// The delays of other clients' sends during attacks, and without them.
    Hostile(hostile::HostileArgs),
    /// Sends with each kind of journal, and without one, in turns.
    Durable(durable::DurableArgs),
    /// Sends at a server and at members of clusters, by different doors, in turns.
    Cluster(cluster::ClusterArgs),
    /// The time of a start from a long journal.
    Start(durable::StartArgs),
    /// Sends per second of `sim` against a live server, beside those of oha.
    Driver(driver::DriverArgs),
    /// Message deliveries per second of the virtual world, beside those of turmoil.
    Turmoil(turmoil::TurmoilArgs),
    /// Serves the echo that `requests` compares with.
    #[command(hide = true)]
    Echo,
    /// The hostile client of `hostile`.
    #[command(hide = true)]
    Attack(hostile::AttackArgs),
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Outcome<()> {
    tokio::runtime::Runtime::new()?.block_on(async {
        match &cli.what {
            LoadCommand::Requests(args) => requests::run(args).await,
            LoadCommand::Relay(args) => relay::run(args).await,
            LoadCommand::Streams(args) => streams::run(args).await,
            LoadCommand::Hostile(args) => hostile::run(args).await,
            LoadCommand::Durable(args) => durable::run(args).await,
            LoadCommand::Cluster(args) => cluster::run(args).await,
            LoadCommand::Start(args) => durable::start(args).await,
            LoadCommand::Driver(args) => driver::run(args).await,
            LoadCommand::Turmoil(args) => turmoil::run(args),
            LoadCommand::Echo => requests::echo().await,
            LoadCommand::Attack(args) => hostile::attack(args).await,
        }
    })
}
