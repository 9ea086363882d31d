//! Measures what durability costs: sends on servers that differ only in their journal, in turns, and
//! the time of a start from a long journal.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::server::Server;
use crate::turns::{Load, Turns, both, micros, open, pace, senders};
use crate::{Outcome, median};

#[derive(Debug, clap::Args)]
pub(crate) struct DurableArgs {
    /// Connections, each with one request in flight
    #[arg(long, default_value_t = 256)]
    connections: usize,
    #[command(flatten)]
    turns: Turns,
    /// The folder for the journals: its file system is measured
    #[arg(long, value_name = "DIR", default_value = "target/load")]
    folder: PathBuf,
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

/// A load on a server with its journal, and what was measured besides.
struct Kept {
    load: Load,
    _server: Server,
    /// Waits at 80 % of the rate at full speed, and when it is quiet, in microseconds.
    waits: [Histogram<u64>; 2],
}

pub(crate) async fn run(args: &DurableArgs) -> Outcome<()> {
    let folder = Folder::new(&args.folder)?;
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
            load: Load::new(name, senders(&server, args.connections).await?)?,
            _server: server,
            waits: [Histogram::new(3)?, Histogram::new(3)?],
        });
    }
    let span = args.turns.span();
    let mut syncs = [Histogram::new(3)?, Histogram::new(3)?];
    for _ in 0..args.turns.rounds {
        let [busy, quiet] = &mut syncs;
        sync_alone(&folder.0, Duration::ZERO, busy)?;
        sync_alone(&folder.0, Duration::from_secs_f64(1.0 / QUIET), quiet)?;
        for Kept { load, waits, .. } in &mut all {
            load.saturate(span).await?;
            let [loaded, quiet] = waits;
            // 80 % of what it has reached.
            let senders = open(&load.requests).await?;
            pace(senders, load.rate() * 0.8, span, loaded).await?;
            pace(open(&load.requests[..1]).await?, QUIET, span, quiet).await?;
        }
    }
    println!(
        "\n{:<21}{:>8}{:>8}{:>21}{:>21}{:>21}",
        "", "sends/s", "", "saturated p50, p99", "at 80 %", "quiet"
    );
    for Kept { load, waits, .. } in &all {
        let (name, rate, percent) = (load.name, load.rate(), load.percent_of(&all[0].load));
        let [loaded, quiet] = waits.each_ref().map(both);
        let busy = both(&load.waits);
        println!("{name:<21}{rate:>8.0}{percent:>6.1} %{busy:>21}{loaded:>21}{quiet:>21}");
    }
    let [busy, quiet] = &syncs;
    let bare = "a bare write and fdatasync";
    println!("{bare:<37}{:>21}{:>42}", both(busy), both(quiet));
    Ok(())
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
        // What is left is in the build folder, or in that of temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
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
    for mut sender in open(&requests).await? {
        tasks.push(tokio::spawn(async move {
            for _ in 0..each {
                sender.send(Instant::now()).await?;
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
