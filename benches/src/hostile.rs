//! One hostile client: the delays of other clients' sends while it attacks, beside their delays
//! without it.
//!
//! Sends are due at a steady rate, and their delays count from when they were due. So a server that
//! stands still is not measured less often. Quiet and attacked rounds alternate, with quiet ones
//! first and last. The figure of a round is the 99th percentile of its sends. The figure of all
//! quiet or attacked rounds is the median of those, and the result is the ratio of the two medians:
//! the machine's speed varies, and a hiccup of the machine spoils one round but moves no median.
//! After an attack the others send for a while unmeasured, so that the attack's leftovers do not
//! reach the quiet round. The hostile client is a separate process with its own address and the
//! lowest scheduling priority: over a network it would take no processor time from the server and
//! the measuring clients.

mod attack;
mod attacker;
mod other_clients;

use std::process::Stdio;
use std::time::Duration;

use clap::ValueEnum as _;
use hdrhistogram::Histogram;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::Outcome;
use crate::server::Server;
use crate::turns::{median, ms};

pub(crate) use attack::Attack;
pub(crate) use attacker::{AttackArgs, run as attack};
use other_clients::OtherClients;

#[derive(Debug, clap::Args)]
pub(crate) struct HostileArgs {
    /// Number of other clients, which send
    #[arg(long, default_value_t = 32)]
    others: usize,
    /// Sends per second of each of them
    #[arg(long, default_value_t = 10)]
    rate: u32,
    /// Duration of each round, in seconds
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// Rounds of each attack, each between two quiet ones
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Connections of the hostile client, which all do the same
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Only these attacks
    #[arg(long, value_delimiter = ',')]
    only: Vec<Attack>,
}

/// The largest accepted ratio between the delays with and without an attack.
const ACCEPTED: f64 = 3.0;

#[expect(clippy::print_stdout, reason = "this is where the program speaks")]
pub(crate) async fn run(args: &HostileArgs) -> Outcome<()> {
    let attacks = match &args.only[..] {
        [] => Attack::value_variants(),
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
    if worse.is_empty() {
        println!("others wait at most {ACCEPTED} times as long, whatever one client does");
        return Ok(());
    }
    let worse = worse.join(", ");
    Err(format!("others wait more than {ACCEPTED} times as long: {worse}").into())
}

/// The result of one attack.
struct Measured {
    attack: Attack,
    quiet: Rounds,
    attacked: Rounds,
    ratio: f64,
    resident_mib: u64,
    answered: u64,
}

impl std::fmt::Display for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.attack.name();
        let (quiet, attacked, ratio) = (&self.quiet, &self.attacked, self.ratio);
        let (mib, answered) = (self.resident_mib, self.answered);
        write!(
            f,
            "{name:<14} p99 of others' send_message: quiet {quiet}, attacked {attacked}, ratio \
             {ratio:>5.2}; {answered} answers/s to the attacker, the server holds {mib} MiB"
        )
    }
}

/// The 99th percentile of each round's sends, in milliseconds.
struct Rounds(Vec<f64>);

impl Rounds {
    fn of(rounds: &[Histogram<u64>]) -> Self {
        Self(rounds.iter().map(|waits| ms(waits, 0.99)).collect())
    }

    fn median(&self) -> f64 {
        median(self.0.clone())
    }
}

impl std::fmt::Display for Rounds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [low, high] =
            [f64::min, f64::max].map(|end| self.0.iter().copied().fold(f64::NAN, end));
        write!(f, "{:>7.3} ms ({low:.3} to {high:.3})", self.median())
    }
}

/// Starts a server with the usual settings and an attacker, and measures rounds with and without
/// the attack.
async fn measure(args: &HostileArgs, attack: Attack) -> Outcome<Measured> {
    // With a file of operators' tokens the server refuses wrong tokens and still admits clients without one.
    let tokens = std::env::temp_dir().join(format!("tokens-{}", std::process::id()));
    std::fs::write(&tokens, format!("operator {}\n", "0".repeat(64)))?;
    let path = tokens.to_str().ok_or("a name in UTF-8")?;
    let measured = measure_with(args, attack, path).await;
    std::fs::remove_file(&tokens)?;
    measured
}

async fn measure_with(args: &HostileArgs, attack: Attack, tokens: &str) -> Outcome<Measured> {
    // A pair may send without a limit of turns.
    let words = ["--operator-tokens", tokens, "--limit", "turn_limit=none"];
    let server = Server::usual(&words).await?;
    let mut others = OtherClients::join(server.address, args.others, args.rate).await?;
    let mut attacker = Attacker::start(&server, attack, args.connections).await?;
    let span = Duration::from_secs(args.seconds);
    others.send(span / 4).await?;
    let mut quiet = vec![others.send(span).await?];
    let (mut attacked, mut answered) = (Vec::new(), 0);
    for _ in 0..args.rounds {
        attacker.tell("go").await?;
        attacked.push(others.send(span).await?);
        answered += attacker.tell("rest").await?;
        others.send(span / 4).await?;
        quiet.push(others.send(span).await?);
    }
    let (quiet, attacked) = (Rounds::of(&quiet), Rounds::of(&attacked));
    Ok(Measured {
        attack,
        ratio: attacked.median() / quiet.median(),
        quiet,
        attacked,
        resident_mib: server.resident_kib()? / 1_024,
        answered: answered / (args.seconds * args.rounds as u64).max(1),
    })
}

/// The process of the hostile client. It is killed on drop.
struct Attacker {
    _child: Child,
    tell: ChildStdin,
    told: Lines<BufReader<ChildStdout>>,
}

impl Attacker {
    /// Starts the process, and waits until it is ready.
    async fn start(server: &Server, attack: Attack, connections: usize) -> Outcome<Self> {
        let child = Command::new("nice")
            .args(["-n", "19"])
            .arg(std::env::current_exe()?)
            .args(["attack", &server.address.to_string(), &attack.name()])
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

    /// Sends a command to the process, and returns the number of answers that it received since the
    /// last one.
    async fn tell(&mut self, word: &str) -> Outcome<u64> {
        self.tell.write_all(format!("{word}\n").as_bytes()).await?;
        self.heard().await
    }

    async fn heard(&mut self) -> Outcome<u64> {
        let line = self.told.next_line().await?;
        Ok(line.ok_or("the attacker has ended")?.parse()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_slow_round_does_not_move_the_median() {
        let round = |ms: u64| {
            let mut waits = Histogram::new(3).unwrap();
            waits.record_n(1_000, 98).unwrap();
            waits.record_n(ms * 1_000, 2).unwrap();
            waits
        };
        let of = |all: &[u64]| Rounds::of(&all.iter().copied().map(round).collect::<Vec<_>>());
        let close = |rounds: &Rounds, ms: f64| (rounds.median() - ms).abs() < 0.01 * ms;
        assert!(close(&of(&[2, 900, 3]), 3.0));
        assert!(close(&of(&[4, 900, 2, 3]), 3.5));
        let shown = of(&[2, 900, 3]).to_string();
        assert!(
            shown.trim_start().starts_with("3.0") && shown.contains("(2.0"),
            "{shown}"
        );
        assert!(of(&[]).median().is_nan());
    }
}
