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

mod attacker;

use std::process::Stdio;
use std::time::Duration;

use clap::ValueEnum as _;
use hdrhistogram::Histogram;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::server::Server;
use crate::turns::{ms, open, pace, senders};
use crate::{Outcome, median};

pub(crate) use attacker::{Attack, AttackArgs, run as attack};

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

pub(crate) async fn run(args: &HostileArgs) -> Outcome<()> {
    let attacks = match &args.only[..] {
        [] => Attack::value_variants(),
        only => only,
    };
    let mut worse = Vec::new();
    for attack in attacks {
        if measure(args, *attack).await? > ACCEPTED {
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

/// The 99th percentile of each round's sends, in milliseconds: their median, the least and the largest.
fn told(rounds: &[f64]) -> String {
    let [low, high] = [f64::min, f64::max].map(|end| rounds.iter().copied().fold(f64::NAN, end));
    let median = median(rounds.to_vec());
    format!("{median:>7.3} ms ({low:.3} to {high:.3})")
}

/// Starts a server with the usual settings, whose named rooms need no stick, and an attacker, measures rounds with and without the attack, and
/// returns the ratio of their medians.
async fn measure(args: &HostileArgs, attack: Attack) -> Outcome<f64> {
    // With a file of operators' tokens the server refuses wrong tokens and still admits clients without one.
    let folder = tempfile::tempdir()?;
    let tokens = folder.path().join("tokens");
    std::fs::write(&tokens, format!("operator {}\n", "0".repeat(64)))?;
    let tokens = tokens.to_str().ok_or("a name in UTF-8")?;
    // The others send as often as they like.
    let limits = ["--limit", "turn_limit=none", "--limit", "stick=optional"];
    let words = [&["--operator-tokens", tokens], &limits[..]].concat();
    let server = Server::usual(&words).await?;
    let mut others = open(&senders(&server, args.others).await?).await?;
    let rate = f64::from(args.rate) * others.len() as f64;
    let mut send = async |span: Duration| {
        let mut waits = Histogram::new(3)?;
        others = pace(std::mem::take(&mut others), rate, span, &mut waits).await?;
        Outcome::Ok(ms(&waits, 0.99))
    };
    let mut attacker = Attacker::start(&server, attack, args.connections).await?;
    let span = Duration::from_secs(args.seconds);
    send(span / 4).await?;
    let mut quiet = vec![send(span).await?];
    let (mut attacked, mut answers) = (Vec::new(), 0);
    for _ in 0..args.rounds {
        attacker.tell("go").await?;
        attacked.push(send(span).await?);
        answers += attacker.tell("rest").await?;
        send(span / 4).await?;
        quiet.push(send(span).await?);
    }
    let (name, mib) = (attack.name(), server.resident_kib()? / 1_024);
    let answers = answers / (args.seconds * args.rounds as u64).max(1);
    let (before, during) = (told(&quiet), told(&attacked));
    let ratio = median(attacked) / median(quiet);
    println!(
        "{name:<14} p99 of others' send_message: quiet {before}, attacked {during}, ratio {ratio:>5.2}; \
         {answers} answers/s to the attacker, the server holds {mib} MiB"
    );
    Ok(ratio)
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
    use super::{median, told};

    #[test]
    fn a_single_slow_round_does_not_move_the_median() {
        assert_eq!(told(&[2.0, 900.0, 3.0]), "  3.000 ms (2.000 to 900.000)");
        assert!(told(&[4.0, 900.0, 2.0, 3.0]).starts_with("  3.500 ms"));
        assert!(median(Vec::new()).is_nan());
    }
}
