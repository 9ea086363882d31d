//! Measures what durability costs: sends on servers that differ only in their journal, in turns, and
//! the time of a start from a long journal.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde_json::json;
use tokio::sync::mpsc;

use crate::Outcome;
use crate::requests::{LENGTH, median, speakers};
use crate::server::Server;
use crate::wire::{Connection, modern_call};

#[derive(Debug, clap::Args)]
pub(crate) struct DurableArgs {
    /// Connections, each with one request in flight
    #[arg(long, default_value_t = 256)]
    connections: usize,
    #[command(flatten)]
    turns: Turns,
}

/// Loads that take turns, so that what else runs on the machine affects all of them.
#[derive(Debug, clap::Args)]
pub(crate) struct Turns {
    /// Duration of each load in a round, in seconds
    #[arg(long, default_value_t = 4)]
    pub(crate) seconds: u64,
    /// Rounds, in each of which every load has its turn
    #[arg(long, default_value_t = 5)]
    pub(crate) rounds: usize,
    /// The folder for the journals and the log: its file system is measured
    #[arg(long, value_name = "DIR", default_value = "target/load")]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct StartArgs {
    /// Commands in the journal
    #[arg(long, default_value_t = 1_000_000)]
    commands: u64,
    /// Starts of each kind
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// The folder for the journal
    #[arg(long, value_name = "DIR", default_value = "target/load")]
    folder: PathBuf,
}

/// The sends per second of the quiet load.
pub(crate) const QUIET: f64 = 50.0;

/// The size of a write that is synced alone: about that of a record with one message.
const RECORD: usize = 600;

/// A server with its journal, and what was measured.
struct Kept {
    name: &'static str,
    server: Server,
    /// The request of each connection.
    requests: Vec<Vec<u8>>,
    /// Sends per second at saturation, one for each round.
    rates: Vec<f64>,
    /// Waits at saturation, at 80 % of it, and when it is quiet, in microseconds.
    waits: [Histogram<u64>; 3],
}

#[expect(clippy::print_stdout, reason = "this is where the program speaks")]
pub(crate) async fn run(args: &DurableArgs) -> Outcome<()> {
    let folder = Folder::new(&args.turns.folder)?;
    let mut all = Vec::new();
    for (name, flags) in [
        ("in memory", &[][..]),
        ("--durability os", &["--durability", "os"]),
        ("--durability fsync", &["--durability", "fsync"]),
        ("one fsync a command", &["--limit", "max_batch=1"]),
    ] {
        let data = folder.0.join(name.replace(' ', "-"));
        let data = data.to_string_lossy();
        let flags = match name {
            "in memory" => Vec::new(),
            _ => [&["--data", &data][..], flags].concat(),
        };
        let server = Server::start_with(&flags).await?;
        all.push(Kept {
            name,
            requests: senders(&server, args.connections).await?,
            server,
            rates: Vec::new(),
            waits: [Histogram::new(3)?, Histogram::new(3)?, Histogram::new(3)?],
        });
    }
    let span = Duration::from_secs(args.turns.seconds);
    let mut syncs = [Histogram::new(3)?, Histogram::new(3)?];
    for round in 0..args.turns.rounds {
        let [busy, quiet] = &mut syncs;
        sync_alone(&folder.0, Duration::ZERO, busy)?;
        sync_alone(&folder.0, Duration::from_secs_f64(1.0 / QUIET), quiet)?;
        for one in &mut all {
            let rate = saturate(one, span).await?;
            one.rates.push(rate);
            let [_, loaded, quiet] = &mut one.waits;
            // 80 % of what it has reached.
            let steady = median(one.rates.clone()) * 0.8;
            pace(one.server.address, &one.requests, steady, span, loaded).await?;
            pace(one.server.address, &one.requests[..1], QUIET, span, quiet).await?;
            println!("round {}  {:<20} {rate:>7.0} sends/s", round + 1, one.name);
        }
    }
    println!(
        "\n{:<21}{:>8}{:>8}{:>21}{:>21}{:>21}",
        "", "sends/s", "", "saturated p50, p99", "at 80 %", "quiet"
    );
    let memory = all.first().map(|one| one.rates.clone()).unwrap_or_default();
    for one in &all {
        let ratios = one.rates.iter().zip(&memory).map(|(a, b)| a / b * 100.0);
        print!(
            "{:<21}{:>8.0}{:>6.1} %",
            one.name,
            median(one.rates.clone()),
            median(ratios.collect())
        );
        for waits in &one.waits {
            print!("{:>21}", both(waits));
        }
        println!();
    }
    let [busy, quiet] = &syncs;
    let bare = "a bare write and fdatasync";
    println!("{bare:<37}{:>21}{:>42}", both(busy), both(quiet));
    Ok(())
}

/// The median and the 99th percentile, in milliseconds.
pub(crate) fn both(waits: &Histogram<u64>) -> String {
    let ms = |share| waits.value_at_quantile(share) as f64 / 1_000.0;
    format!("{:.2}, {:.2} ms", ms(0.5), ms(0.99))
}

/// A folder that is removed at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(above: &Path) -> Outcome<Self> {
        let path = above.join(format!("durable-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is in the build folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A `send_message` for each connection. The senders sit in rooms of two, and have no streams.
pub(crate) async fn senders(server: &Server, connections: usize) -> Outcome<Vec<Vec<u8>>> {
    let text = "x".repeat(LENGTH);
    let speakers = speakers(server, connections).await?.into_iter();
    let requests = speakers.map(|(handle, room)| {
        let arguments = json!({ "handle": handle, "message": text, "room_id": room });
        modern_call("send_message", arguments)
    });
    Ok(requests.collect())
}

pub(crate) async fn send(connection: &mut Connection, request: &[u8]) -> Outcome<()> {
    let answer = connection.exchange(request).await?;
    if answer.status != 200 || answer.is_tool_error() {
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        return Err(format!("answered {}: {text}", answer.status).into());
    }
    Ok(())
}

/// Sends at full speed on all connections, and returns the sends per second.
async fn saturate(one: &mut Kept, span: Duration) -> Outcome<f64> {
    let (mut tasks, began) = (Vec::new(), Instant::now());
    for request in &one.requests {
        let mut connection = Connection::open(one.server.address).await?;
        let request = request.clone();
        tasks.push(tokio::spawn(async move {
            let mut waits = Vec::new();
            while began.elapsed() < span {
                let sent = Instant::now();
                send(&mut connection, &request).await?;
                waits.push(micros(sent.elapsed()));
            }
            Outcome::Ok(waits)
        }));
    }
    let mut sends = 0;
    for task in tasks {
        let waits = task.await??;
        sends += waits.len();
        for wait in waits {
            one.waits[0].record(wait)?;
        }
    }
    Ok(sends as f64 / began.elapsed().as_secs_f64())
}

/// Sends at a steady rate, over these connections in turns. Waits count from the planned times.
pub(crate) async fn pace(
    address: std::net::SocketAddr,
    requests: &[Vec<u8>],
    rate: f64,
    span: Duration,
    waits: &mut Histogram<u64>,
) -> Outcome<()> {
    let (mut dues, mut tasks) = (Vec::new(), Vec::new());
    for request in requests {
        let mut connection = Connection::open(address).await?;
        let (due, mut planned) = mpsc::unbounded_channel::<Instant>();
        let request = request.clone();
        dues.push(due);
        tasks.push(tokio::spawn(async move {
            let mut waits = Vec::new();
            while let Some(due) = planned.recv().await {
                send(&mut connection, &request).await?;
                waits.push(micros(due.elapsed()));
            }
            Outcome::Ok(waits)
        }));
    }
    // A separate thread, because a runtime's timers have a resolution of a millisecond.
    let planner = thread::spawn(move || {
        let start = Instant::now() + Duration::from_millis(20);
        let mut due = start;
        for (sent, sender) in (1_u32..).zip((0..dues.len()).cycle()) {
            if due >= start + span {
                break;
            }
            thread::sleep(due.saturating_duration_since(Instant::now()));
            // A sender that has ended is noticed below.
            let _ = dues[sender].send(due);
            due = start + Duration::from_secs_f64(f64::from(sent) / rate);
        }
    });
    for task in tasks {
        for wait in task.await?? {
            waits.record(wait)?;
        }
    }
    planner.join().map_err(|_| "the planner panicked")?;
    Ok(())
}

/// Writes and syncs a file, a record at a time: one after another, and at the pace of the quiet load,
/// at which cores and the disk rest in between.
fn sync_alone(folder: &Path, pause: Duration, waits: &mut Histogram<u64>) -> Outcome<()> {
    let mut file = File::create(folder.join("bare"))?;
    for _ in 0..200 {
        thread::sleep(pause);
        let began = Instant::now();
        file.write_all(&[7; RECORD])?;
        file.sync_data()?;
        waits.record(micros(began.elapsed()))?;
    }
    Ok(())
}

/// Fills a journal, and starts a server from it: after a stop, after a kill, and without snapshots.
#[expect(clippy::print_stdout, reason = "this is where the program speaks")]
pub(crate) async fn start(args: &StartArgs) -> Outcome<()> {
    let folder = Folder::new(&args.folder)?;
    let data = folder.0.join("start");
    let path = data.to_string_lossy().into_owned();
    let flags = ["--data", &path, "--journal-entries", "none"];
    let mut server = Server::start_with(&[&flags[..], &["--durability", "os"]].concat()).await?;
    let began = Instant::now();
    let requests = senders(&server, 64).await?;
    let each = args.commands / requests.len() as u64;
    let mut tasks = Vec::new();
    for request in requests {
        let mut connection = Connection::open(server.address).await?;
        tasks.push(tokio::spawn(async move {
            for _ in 0..each {
                send(&mut connection, &request).await?;
            }
            Outcome::Ok(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    println!(
        "{} commands in {:.0} s; the folder has {} MiB",
        args.commands,
        began.elapsed().as_secs_f64(),
        size(&data)? >> 20
    );
    let mut seconds: [Vec<f64>; 3] = Default::default();
    for _ in 0..args.rounds {
        for (kind, times) in seconds.iter_mut().enumerate() {
            match kind {
                0 => server.stop().await?,
                _ => server.kill().await?,
            }
            if kind == 2 {
                without_snapshots(&data)?;
            }
            let began = Instant::now();
            server = Server::start_with(&flags).await?;
            times.push(began.elapsed().as_secs_f64());
        }
    }
    server.kill().await?;
    for (kind, times) in ["after a stop", "after a kill", "without snapshots"]
        .into_iter()
        .zip(seconds)
    {
        println!("{kind:<18} {:.2} s", median(times));
    }
    Ok(())
}

fn without_snapshots(data: &Path) -> Outcome<()> {
    let mut removed = 0;
    for entry in fs::read_dir(data)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("snapshot-") {
            fs::remove_file(&path)?;
            removed += 1;
        }
    }
    match removed {
        0 => Err("the server wrote no snapshot".into()),
        _ => Ok(()),
    }
}

/// The bytes of all files in the folder.
fn size(data: &Path) -> Outcome<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(data)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

pub(crate) fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
