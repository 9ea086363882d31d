//! The program: arguments in, a server, an exit code out. The library contains it, because the
//! compiler generates the code of a future where it is polled: the binary would contain most of the
//! server once more.

use std::io::{BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use crate::cli::{Cli, Command, ServeArgs, StdioArgs};
use crate::demo::{Demo, DemoError};
use crate::logs;
use crate::serve::Server;
use crate::service::Service;
use crate::settings::{Settings, Unnamed, usual_folder};
use crate::stdio;
use crate::upkeep::{self, Form, UpkeepError};
use clap::Parser as _;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The exit code for invalid settings.
const USAGE: u8 = 2;

/// The exit code after a second signal.
const INTERRUPTED: u8 = 130;

/// Runs the program with the arguments of the process.
#[must_use]
pub fn run_with_arguments() -> ExitCode {
    let cli = Cli::parse();
    match cli.command {
        None => serve(&cli.serve, Unnamed::InUsualFolder, &Play::Nothing),
        Some(Command::Serve(args)) => serve(&args, Unnamed::InUsualFolder, &Play::Nothing),
        Some(Command::Stdio(args)) => converse(&args),
        Some(Command::Demo(args)) => {
            let pace = Duration::from_micros(args.pace.0);
            let play = if args.once {
                Play::Once(pace)
            } else {
                Play::Always(pace)
            };
            serve(&args.serve, Unnamed::InMemory, &play)
        }
        Some(Command::Export(args)) => keep(args.data, upkeep::export),
        Some(Command::Records(args)) => keep(args.data, |data, out| {
            match std::io::stdout().is_terminal() {
                true => Err(UpkeepError::Terminal),
                false => upkeep::records(data, out),
            }
        }),
        Some(Command::Backup(args)) => keep(args.data.data, |data, out| {
            upkeep::backup(data, &args.to, out)
        }),
        Some(Command::Restore(args)) => keep(args.data, |data, out| {
            upkeep::restore(&args.from, data, out)
        }),
        Some(Command::Inspect(args)) => {
            let form = match args.json {
                true => Form::Json,
                false => Form::Text,
            };
            keep(args.data.data, |data, out| upkeep::inspect(data, form, out))
        }
    }
}

/// Performs a command on the folder of a journal, which is by default that of a server without
/// settings.
fn keep(
    named: Option<PathBuf>,
    work: impl FnOnce(&Path, &mut dyn Write) -> Result<(), UpkeepError>,
) -> ExitCode {
    let data = match named.map_or_else(usual_folder, Ok) {
        Ok(data) => data,
        Err(why) => {
            complain(&why);
            return ExitCode::from(USAGE);
        }
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    match work(&data, &mut out).and_then(|()| Ok(out.flush()?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // What was found so far comes before the error.
            let _ = out.flush();
            complain(&why);
            ExitCode::FAILURE
        }
    }
}

/// The demonstration on a server.
enum Play {
    Nothing,
    /// One run; then the server stops.
    Once(Duration),
    /// Repeated runs.
    Always(Duration),
}

impl Play {
    /// Runs the demonstration, and returns when the server should stop.
    async fn on(&self, service: &Service) -> Result<(), DemoError> {
        let (pace, again) = match self {
            Self::Nothing => return std::future::pending().await,
            Self::Once(pace) => (*pace, false),
            Self::Always(pace) => (*pace, true),
        };
        let mut demo = Demo::new(service, std::io::stdout(), pace);
        loop {
            demo.run().await?;
            if !again {
                return Ok(());
            }
        }
    }
}

/// Prints an error to standard error.
fn complain(why: &dyn std::fmt::Display) {
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let word = if colour {
        "\x1b[1;31merror:\x1b[0m"
    } else {
        "error:"
    };
    // There is no other place to report this error.
    let _ = writeln!(std::io::stderr(), "{word} {why}");
}

fn serve(args: &ServeArgs, unnamed: Unnamed, play: &Play) -> ExitCode {
    with_settings(args, unnamed, |runtime, settings| {
        runtime.block_on(run(settings, play))
    })
}

fn converse(args: &StdioArgs) -> ExitCode {
    // Several clients on one machine may each have a server of their own.
    with_settings(&args.serve, Unnamed::InMemory, |runtime, settings| {
        runtime.block_on(stdio::run(args, settings))?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Gathers the settings, and starts logging and the runtime.
fn with_settings(
    args: &ServeArgs,
    unnamed: Unnamed,
    work: impl FnOnce(&Runtime, &Settings) -> Result<ExitCode, Box<dyn std::error::Error>>,
) -> ExitCode {
    let settings = match Settings::gather(args, unnamed) {
        Ok(settings) => settings,
        Err(why) => {
            complain(&why);
            return ExitCode::from(USAGE);
        }
    };
    logs::start(settings.log, settings.log_level);
    keep_pages_small();
    let runtime = match Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(why) => {
            complain(&why);
            return ExitCode::FAILURE;
        }
    };
    let worked = work(&runtime, &settings);
    // A pending read of stdin would block the process.
    runtime.shutdown_background();
    worked.unwrap_or_else(|why| {
        complain(&why);
        ExitCode::FAILURE
    })
}

/// Disables huge pages for this process. The allocator requests them, and the first write to one
/// waits until the system has found and cleared two contiguous mebibytes: several milliseconds, in
/// which other calls wait, too.
#[cfg(target_os = "linux")]
fn keep_pages_small() {
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "pages stay as the system gives them");
    }
}

#[cfg(not(target_os = "linux"))]
const fn keep_pages_small() {}

/// Serves until a signal.
async fn run(settings: &Settings, play: &Play) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut signals = Signals::listen()?;
    let mut server = Server::start(settings).await?;
    announce(&server, settings);
    let service = server.service.clone();
    let mut playing = std::pin::pin!(play.on(&service));
    loop {
        tokio::select! {
            died = server.died() => return Err(died.into()),
            played = playing.as_mut() => {
                played?;
                break;
            }
            wanted = signals.next() => match wanted {
                Wanted::Reload => server.reload(),
                Wanted::Stop => {
                    tracing::info!(grace = %settings.grace, "stopping");
                    break;
                }
            },
        }
    }
    tokio::select! {
        stopped = server.stop() => {
            stopped?;
            tracing::info!("stopped");
            Ok(ExitCode::SUCCESS)
        }
        () = signals.stop() => {
            tracing::warn!("stopped at once");
            Ok(ExitCode::from(INTERRUPTED))
        }
    }
}

/// Prints the server's address to standard output, so that a program that requested any free port
/// can read it.
fn announce(server: &Server, settings: &Settings) {
    let at = server.address;
    let data = match &settings.journal {
        Some(options) => options.folder.display().to_string(),
        None => "in memory: a stop loses everything".to_owned(),
    };
    let text = format!(
        "talking-stick listens on http://{at}\n  agents    http://{at}/mcp\n  programs  \
         http://{at}/openapi.json\n  people    http://{at}/\n  data      {data}\n"
    );
    let mut out = std::io::stdout().lock();
    // A closed standard output is no reason to stop.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Signals that request a shutdown, or a reading of the token files.
struct Signals {
    hangup: Signal,
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) -> Wanted {
        tokio::select! {
            _ = self.terminate.recv() => Wanted::Stop,
            _ = self.interrupt.recv() => Wanted::Stop,
            _ = self.hangup.recv() => Wanted::Reload,
        }
    }

    /// Waits for a signal that requests a shutdown; others are ignored meanwhile.
    async fn stop(&mut self) {
        while self.next().await == Wanted::Reload {}
    }
}

/// The request of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Stop,
    Reload,
}
