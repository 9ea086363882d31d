//! Measures what durability costs: sends on servers that differ only in their journal, in turns, and
//! the time of a start from a long journal.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tempfile::TempDir;

use crate::server::Server;
use crate::turns::{Load, QUIET, Turns, both, micros, open, senders};
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

/// The size of a write that is synced alone: about that of a record with one message.
const RECORD: usize = 600;

pub(crate) async fn run(args: &DurableArgs) -> Outcome<()> {
    let folder = folder(&args.folder)?;
    let (mut loads, mut servers) = (Vec::new(), Vec::new());
    for (name, flags) in [
        ("in memory", &[][..]),
        ("--durability os", &["--durability", "os"]),
        ("--durability fsync", &["--durability", "fsync"]),
        ("one fsync a command", &["--limit", "max_batch=1"]),
    ] {
        let data = folder.path().join(name.replace(' ', "-"));
        let data = data.to_string_lossy();
        let flags = match name {
            "in memory" => Vec::new(),
            _ => [&["--data", &data][..], flags].concat(),
        };
        let server = Server::start(&flags).await?;
        loads.push(Load::new(name, senders(&server, args.connections).await?)?);
        servers.push(server);
    }
    let span = args.turns.span();
    let pause = Duration::from_secs_f64(1.0 / QUIET);
    let [mut busy, mut quiet] = [Histogram::new(3)?, Histogram::new(3)?];
    for _ in 0..args.turns.rounds {
        sync_alone(folder.path(), Duration::ZERO, &mut busy)?;
        sync_alone(folder.path(), pause, &mut quiet)?;
        for load in &mut loads {
            load.saturate(span).await?;
            load.pace(span).await?;
            load.quiet(span).await?;
        }
    }
    println!(
        "\n{:<21}{:>8}{:>8}{:>21}{:>21}{:>21}",
        "", "sends/s", "", "saturated p50, p99", "at 80 %", "quiet"
    );
    for load in &loads {
        let (name, rate, percent) = (load.name, load.rate(), load.percent_of(&loads[0]));
        let [busy, loaded, quiet] = load.waits.each_ref().map(both);
        println!("{name:<21}{rate:>8.0}{percent:>6.1} %{busy:>21}{loaded:>21}{quiet:>21}");
    }
    let bare = "a bare write and fdatasync";
    println!("{bare:<37}{:>21}{:>42}", both(&busy), both(&quiet));
    Ok(())
}

/// A folder in this one, which is removed at the end.
pub(crate) fn folder(above: &Path) -> Outcome<TempDir> {
    fs::create_dir_all(above)?;
    Ok(tempfile::tempdir_in(above)?)
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
    let folder = folder(&args.folder)?;
    let data = folder.path().join("start");
    let path = data.to_string_lossy().into_owned();
    let flags = ["--data", &path, "--journal-entries", "none"];
    let mut server = Server::start(&[&flags[..], &["--durability", "os"]].concat()).await?;
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
    let mut bytes = 0;
    for entry in fs::read_dir(&data)? {
        bytes += entry?.metadata()?.len();
    }
    println!(
        "{} commands in {:.0} s; the folder has {} MiB",
        args.commands,
        began.elapsed().as_secs_f64(),
        bytes >> 20
    );
    let kinds = ["after a stop", "after a kill", "without snapshots"];
    let mut seconds = kinds.map(|kind| (kind, Vec::new()));
    for _ in 0..args.rounds {
        for (kind, times) in &mut seconds {
            match *kind {
                "after a stop" => server.stop().await?,
                _ => server.kill().await?,
            }
            if *kind == "without snapshots" {
                without_snapshots(&data)?;
            }
            let began = Instant::now();
            server = Server::start(&flags).await?;
            times.push(began.elapsed().as_secs_f64());
        }
    }
    server.kill().await?;
    for (kind, times) in seconds {
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
