//! One hostile client: how long others wait for their sends while it does its worst, beside how
//! long they wait when all is quiet.
//!
//! Sends are due at a steady rate and are measured from when they were due, so that a server which
//! stands still is not measured less often. Quiet rounds lie between the attacks: the machine is
//! never the same twice.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::Outcome;
use crate::server::Server;
use crate::wire::{Connection, modern_call, request};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Others, who send in turns
    #[arg(long, default_value_t = 16)]
    others: usize,
    /// Sends per second of each of them
    #[arg(long, default_value_t = 20)]
    rate: u32,
    /// How long each round takes, in seconds
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Connections on which the hostile client does the same
    #[arg(long, default_value_t = 32)]
    connections: usize,
}

/// What the hostile client does, over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attack {
    /// Requests as large as they may be, and larger.
    Bodies,
    /// Sessions that it never uses.
    Sessions,
    /// Answers that it takes a byte at a time.
    SlowReaders,
    /// Tokens that are nobody's.
    WrongTokens,
}

impl Attack {
    const ALL: [Self; 4] = [
        Self::Bodies,
        Self::Sessions,
        Self::SlowReaders,
        Self::WrongTokens,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Bodies => "large bodies",
            Self::Sessions => "idle sessions",
            Self::SlowReaders => "slow readers",
            Self::WrongTokens => "wrong tokens",
        }
    }
}

pub(crate) async fn run(args: &Args) -> Outcome<()> {
    // With tokens of operators a wrong one is refused, and nobody else needs one.
    let tokens = std::env::temp_dir().join(format!("tokens-{}", std::process::id()));
    std::fs::write(&tokens, format!("operator {}\n", "0".repeat(64)))?;
    let path = tokens.to_str().ok_or("a name in UTF-8")?;
    let shares = ["--limit", "max_per_address=200"];
    let server = Server::start_with(&["--operator-tokens", path, shares[0], shares[1]]).await?;
    let measured = measure_all(args, &server).await;
    std::fs::remove_file(&tokens)?;
    measured
}

#[expect(clippy::print_stdout, reason = "this is where the program speaks")]
async fn measure_all(args: &Args, server: &Server) -> Outcome<()> {
    let mut others = Vec::new();
    for n in 0..args.others {
        others.push(Other::join(server.address, n).await?);
    }
    (_, others) = measure(args, others).await?;
    for attack in Attack::ALL {
        let quiet;
        (quiet, others) = measure(args, others).await?;
        let attacker = Attacker::start(server.address, attack, args.connections)?;
        let hostile;
        (hostile, others) = measure(args, others).await?;
        attacker.stop()?;
        let p99 = |waits: &Histogram<u64>| waits.value_at_quantile(0.99) as f64 / 1_000.0;
        let (before, during) = (p99(&quiet), p99(&hostile));
        println!(
            "{:<14} p99 of others' send_message: quiet {before:>7.3} ms, attacked {during:>7.3} ms, \
             ratio {:>5.2}; the server holds {} MiB",
            attack.name(),
            during / before,
            server.resident_kib()? / 1_024
        );
    }
    Ok(())
}

/// A client that sends messages while the hostile one attacks.
struct Other {
    connection: Connection,
    request: Vec<u8>,
}

impl Other {
    async fn join(address: SocketAddr, n: usize) -> Outcome<Self> {
        let mut connection = Connection::open(address).await?;
        let who = json!({ "username": format!("other {n}"), "room": format!("room {}", n / 2) });
        let answer = connection.post("/register", "", &who).await?;
        let arguments = json!({
            "handle": answer["handle"], "room_id": answer["room_id"], "message": "x".repeat(154)
        });
        Ok(Self {
            connection,
            request: modern_call("send_message", arguments),
        })
    }

    /// Sends at the rate, and returns how long each send took from when it was due.
    async fn send(mut self, rate: u32, span: Duration) -> Outcome<(Histogram<u64>, Self)> {
        let mut waits = Histogram::new(3)?;
        let mut ticks = interval(Duration::from_secs(1) / rate);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let ends = Instant::now() + span;
        loop {
            let due = ticks.tick().await;
            if due >= ends {
                return Ok((waits, self));
            }
            let answer = self.connection.exchange(&self.request).await?;
            if answer.status != 200 {
                return Err(format!("a send was answered with {}", answer.status).into());
            }
            waits.record(u64::try_from(due.elapsed().as_micros())?)?;
        }
    }
}

/// How long the sends of a round took, of all together.
async fn measure(args: &Args, others: Vec<Other>) -> Outcome<(Histogram<u64>, Vec<Other>)> {
    let span = Duration::from_secs(args.seconds);
    let mut sending = JoinSet::new();
    for other in others {
        sending.spawn(other.send(args.rate, span));
    }
    let (mut waits, mut others) = (Histogram::new(3)?, Vec::new());
    while let Some(sent) = sending.join_next().await {
        let (of_one, other) = sent??;
        waits.add(of_one)?;
        others.push(other);
    }
    Ok((waits, others))
}

/// The hostile client. It has a thread of its own: what it does there delays nobody's measuring.
struct Attacker {
    /// Dropped to end it.
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Attacker {
    fn start(address: SocketAddr, attack: Attack, connections: usize) -> Outcome<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let requests: Arc<[Vec<u8>]> = requests(attack).into();
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                let mut attacking = JoinSet::new();
                for _ in 0..connections {
                    attacking.spawn(attacked(address, attack, Arc::clone(&requests)));
                }
                // It never comes: the sender is dropped.
                let _ = stopped.await;
            });
        });
        Ok(Self { stop, thread })
    }

    fn stop(self) -> Outcome<()> {
        drop(self.stop);
        self.thread
            .join()
            .map_err(|_| "the hostile client panicked".into())
    }
}

/// Attacks until it is stopped. A connection that is cut is opened again.
async fn attacked(address: SocketAddr, attack: Attack, requests: Arc<[Vec<u8>]>) {
    loop {
        let attacking: Pin<Box<dyn Future<Output = Outcome<()>> + Send + '_>> = match attack {
            Attack::SlowReaders => Box::pin(slow_reader(address, &requests)),
            Attack::WrongTokens => Box::pin(wrong_tokens(address)),
            Attack::Bodies | Attack::Sessions => Box::pin(repeat(address, &requests)),
        };
        // What it came to is its own affair.
        let _ = attacking.await;
        tokio::task::yield_now().await;
    }
}

const ACCEPT: (&str, &str) = ("Accept", "application/json, text/event-stream");

fn hello(experimental: &Value) -> Vec<u8> {
    let body = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": { "experimental": experimental },
            "clientInfo": { "name": "hostile", "version": "1" }
        }
    });
    request("POST /mcp", &[ACCEPT], &body)
}

/// What a connection of the hostile client sends, over and over.
fn requests(attack: Attack) -> Vec<Vec<u8>> {
    match attack {
        Attack::Bodies => {
            let list = vec![json!({ "": [] }); 480];
            let largest = hello(&json!({ "x": list, "y": "x".repeat(110_000) }));
            let larger = hello(&Value::Array(vec![json!([]); 300_000]));
            vec![largest, larger]
        }
        Attack::Sessions => vec![hello(&json!({}))],
        Attack::SlowReaders => vec![request("GET /openapi.json", &[], &Value::Null).repeat(64)],
        // Each token is another.
        Attack::WrongTokens => Vec::new(),
    }
}

async fn repeat(address: SocketAddr, requests: &[Vec<u8>]) -> Outcome<()> {
    let mut connection = Connection::open(address).await?;
    loop {
        for request in requests {
            connection.exchange(request).await?;
        }
    }
}

async fn slow_reader(address: SocketAddr, requests: &[Vec<u8>]) -> Outcome<()> {
    let mut connection = Connection::open(address).await?;
    connection.trickle(&requests.concat()).await
}

async fn wrong_tokens(address: SocketAddr) -> Outcome<()> {
    let mut connection = Connection::open(address).await?;
    for n in 0_u64.. {
        let token = format!("Bearer {n}");
        let guess = request("GET /users", &[("Authorization", &token)], &Value::Null);
        connection.exchange(&guess).await?;
    }
    Ok(())
}
