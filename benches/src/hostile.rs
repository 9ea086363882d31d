//! One hostile client: how long others wait for their sends while it does its worst, beside how
//! long they wait when all is quiet.
//!
//! Sends are due at a steady rate and are measured from when they were due, so that a server which
//! stands still is not measured less often. Quiet and hostile rounds alternate, and the program prints
//! the median of each: the machine's speed changes. The hostile client is a separate process with its
//! own address and the lowest scheduling priority: over a network it would take no processor time from
//! the server and the measuring clients.

mod attack;
mod attacker;
mod others;

use std::process::Stdio;
use std::time::Duration;

use hdrhistogram::Histogram;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::Outcome;
use crate::server::Server;

pub(crate) use attack::Attack;
pub(crate) use attacker::{Args as AttackArgs, run as attack};
use others::Others;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Others, who send in turns
    #[arg(long, default_value_t = 32)]
    others: usize,
    /// Sends per second of each of them
    #[arg(long, default_value_t = 10)]
    rate: u32,
    /// How long each round takes, in seconds
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// Rounds of each attack, each beside a quiet one
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Connections on which the hostile client does the same
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// These attacks alone
    #[arg(long, value_delimiter = ',')]
    only: Vec<Attack>,
}

/// How many times as long as in quiet others may wait while one client attacks.
const ACCEPTED: f64 = 3.0;

#[expect(clippy::print_stdout, reason = "this is where the program speaks")]
pub(crate) async fn run(args: &Args) -> Outcome<()> {
    let attacks = match &args.only[..] {
        [] => Attack::ALL,
        only => only,
    };
    let mut worse = Vec::new();
    for attack in attacks {
        let measured = measure(args, *attack).await?;
        println!("{measured}");
        if measured.ratio > ACCEPTED {
            worse.push(attack.name());
        }
    }
    match &worse[..] {
        [] => println!("others wait at most {ACCEPTED} times as long, whatever one client does"),
        worse => println!("others wait longer than that: {}", worse.join(", ")),
    }
    Ok(())
}

/// What one attack came to.
struct Measured {
    attack: Attack,
    quiet: f64,
    attacked: f64,
    ratio: f64,
    resident_mib: u64,
    answered: u64,
}

impl std::fmt::Display for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.attack.name();
        let (quiet, attacked, ratio) = (self.quiet, self.attacked, self.ratio);
        let (mib, answered) = (self.resident_mib, self.answered);
        write!(
            f,
            "{name:<14} p99 of others' send_message: quiet {quiet:>7.3} ms, attacked \
             {attacked:>7.3} ms, ratio {ratio:>5.2}; {answered} answers/s to the attacker, the \
             server holds {mib} MiB"
        )
    }
}

/// A server with what is usual, an attacker, and rounds with and without it.
async fn measure(args: &Args, attack: Attack) -> Outcome<Measured> {
    // With a file of operators' tokens the server refuses wrong tokens and still admits clients without one.
    let tokens = std::env::temp_dir().join(format!("tokens-{}", std::process::id()));
    std::fs::write(&tokens, format!("operator {}\n", "0".repeat(64)))?;
    let path = tokens.to_str().ok_or("a name in UTF-8")?;
    let measured = measure_with(args, attack, path).await;
    std::fs::remove_file(&tokens)?;
    measured
}

async fn measure_with(args: &Args, attack: Attack, tokens: &str) -> Outcome<Measured> {
    // A pair may go on for as long as it is measured.
    let words = ["--operator-tokens", tokens, "--limit", "turn_limit=none"];
    let server = Server::usual(&words).await?;
    let mut others = Others::join(server.address, args.others, args.rate).await?;
    let mut attacker = Attacker::start(&server, attack, args.connections).await?;
    let span = Duration::from_secs(args.seconds);
    let p99 = |waits: &Histogram<u64>| waits.value_at_quantile(0.99) as f64 / 1_000.0;
    others.send(span / 4).await?;
    let (mut quiet, mut attacked, mut answered) = (Vec::new(), Vec::new(), 0);
    for _ in 0..args.rounds {
        quiet.push(p99(&others.send(span).await?));
        attacker.tell("go").await?;
        attacked.push(p99(&others.send(span).await?));
        answered += attacker.tell("rest").await?;
    }
    let ratios = quiet.iter().zip(&attacked);
    let ratios = ratios.map(|(quiet, attacked)| attacked / quiet).collect();
    Ok(Measured {
        attack,
        ratio: median(ratios),
        quiet: median(quiet),
        attacked: median(attacked),
        resident_mib: server.resident_kib()? / 1_024,
        answered: answered / (args.seconds * args.rounds as u64).max(1),
    })
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The hostile client's process. Dropped, it is ended.
struct Attacker {
    _child: Child,
    tell: ChildStdin,
    told: Lines<BufReader<ChildStdout>>,
}

impl Attacker {
    /// Starts it, and waits until it has all that it needs.
    async fn start(server: &Server, attack: Attack, connections: usize) -> Outcome<Self> {
        let child = Command::new("nice")
            .args(["-n", "19"])
            .arg(std::env::current_exe()?)
            .args(["attack", &server.address.to_string(), attack.name()])
            .arg(connections.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let mut child = child.map_err(|error| format!("the attacker does not start: {error}"))?;
        let out = child.stdout.take().ok_or("it has no standard output")?;
        let mut attacker = Self {
            tell: child.stdin.take().ok_or("it has no standard input")?,
            told: BufReader::new(out).lines(),
            _child: child,
        };
        attacker.heard().await?;
        Ok(attacker)
    }

    /// Tells it what to do, and returns how many answers it got before.
    async fn tell(&mut self, word: &str) -> Outcome<u64> {
        self.tell.write_all(format!("{word}\n").as_bytes()).await?;
        self.heard().await
    }

    async fn heard(&mut self) -> Outcome<u64> {
        let line = self.told.next_line().await?;
        Ok(line.ok_or("the attacker has ended")?.parse()?)
    }
}
