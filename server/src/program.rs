//! The program: arguments in, a server, an exit code out. The library contains it, because the
//! compiler generates the code of a future where it is polled: the binary would contain most of the
//! server once more.

#[cfg(feature = "cluster")]
mod cluster;

use std::io::{BufWriter, LineWriter, StdoutLock, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use server_chat::lossy_output::{Patient, STDERR, STDOUT};
use server_chat::render_text;
use server_chat::service::Service;
use server_settings::cli::{self, Cli, Command, DemoArgs, LogForm, ServeArgs, StdioArgs, WakeArgs};
use server_settings::os_error::reason;
use server_settings::{DEFAULT_LISTEN, Settings, Unnamed, usual_folder};
use server_storage::private;
use signal_hook::consts::SIGXFSZ;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::demo::{Demo, DemoError};
use crate::guard::new_token;
use crate::health_check;
use crate::logs;
use crate::relay::UpstreamError;
use crate::serve::{ServeError, Server};
use crate::stdio;
use crate::upkeep::{self, UpkeepError};
use crate::wake::{self, Ended, WakeError};

/// The exit code for invalid settings.
const USAGE: u8 = 2;

/// The exit code of a hook whose program shall let its agent go on.
const AGENT_GOES_ON: u8 = 2;

/// The exit code of `wait` when its time is over.
const NOTHING_CAME: u8 = 3;

/// The exit code after a second signal.
const INTERRUPTED: u8 = 130;

/// Runs the program with the arguments of the process.
#[must_use]
pub fn run_with_arguments() -> ExitCode {
    survive_file_limits();
    let code = match cli::parse() {
        Ok(cli) => perform(cli),
        Err(why) => refuse(&why),
    };
    STDERR.flush_last();
    STDOUT.flush_last();
    code
}

/// Lets a write beyond the system's limit of a file's size fail like one to a full disk, where the
/// signal would end the process.
fn survive_file_limits() {
    // A handler that the program does not look at: to ignore a signal takes unsafe code.
    if let Err(error) = signal_hook::flag::register(SIGXFSZ, Arc::default()) {
        complain(&reason(&error));
    }
}

/// Prints what is wrong with the command line, or the help that it asks for.
fn refuse(why: &clap::Error) -> ExitCode {
    if why.use_stderr() {
        let told = why.render();
        let told = match logs::is_coloured() {
            true => told.ansi().to_string(),
            false => told.to_string(),
        };
        STDERR.push(told.as_bytes());
    } else {
        // A closed standard output is no reason to fail.
        let _ = why.print();
    }
    let is_hook = |word: std::ffi::OsString| word.to_string_lossy().starts_with("--hook");
    match std::env::args_os().any(is_hook) && why.use_stderr() {
        // A program would take the usual one as a reason for its agent to go on, again and again.
        true => ExitCode::FAILURE,
        false => ExitCode::from(u8::try_from(why.exit_code()).unwrap_or(USAGE)),
    }
}

fn perform(cli: Cli) -> ExitCode {
    if !matches!(cli.command, Some(Command::Man { .. })) {
        private::restrict_new_files();
    }
    let command = cli.command;
    match command.unwrap_or_else(|| Command::Serve(Box::new(cli.serve))) {
        Command::Serve(args) => serve(&args, Unnamed::InUsualFolder, None),
        Command::Stdio(args) => converse(*args),
        Command::Demo(args) => serve(&args.serve, Unnamed::InMemory, Some(&args)),
        Command::Export(args) => keep(args.data, upkeep::export),
        Command::Records(args) => keep(args.data, upkeep::records),
        Command::Backup { to, data } => keep(data.data, |data, out| upkeep::backup(data, &to, out)),
        Command::Restore { from, data } => {
            keep(data, |data, out| upkeep::restore(&from, data, out))
        }
        Command::Inspect { data, json } => {
            keep(data.data, |data, out| upkeep::inspect(data, json, out))
        }
        Command::Token { name, file } => {
            let token = new_token(&name, file.as_deref());
            done(token.and_then(|token| Ok(output().write_all(token.as_bytes())?)))
        }
        #[cfg(feature = "cluster")]
        Command::Cluster { command } => cluster::perform(command),
        #[cfg(not(feature = "cluster"))]
        Command::Cluster { .. } => misused(&server_settings::NO_CLUSTER),
        Command::Wait(args) => watching(async { wake::wait(&args).await.map(|line| say(&line)) }),
        Command::Wake(args) => awaken(&args),
        Command::Healthcheck { listen } => {
            done(health_check::check(listen.unwrap_or(DEFAULT_LISTEN)))
        }
        Command::Completions { shell } => {
            let written = cli::completions(shell, &mut output());
            done(written.map_err(UpkeepError::from))
        }
        Command::Man { folder } => done(
            cli::manual_pages(&folder)
                .map_err(|error| format!("{}: {}", folder.display(), reason(&error))),
        ),
    }
}

/// Runs what watches an inbox.
fn watching(work: impl Future<Output = Result<(), WakeError>>) -> ExitCode {
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return done(Err(reason(&error))),
    };
    match runtime.block_on(work) {
        Err(why @ WakeError::Misused(_)) => misused(&why),
        Err(why @ WakeError::TimeRanOut) => {
            complain(&why);
            ExitCode::from(NOTHING_CAME)
        }
        ended => done(ended),
    }
}

/// Wakes an agent, by its program's hook among others: the exit code of that means more than usual.
fn awaken(args: &WakeArgs) -> ExitCode {
    let mut ended = Ended::Silent;
    let mut told = |line: &str| STDERR.push(format!("{line}\n").as_bytes());
    let code = watching(async {
        ended = wake::wake(args, &mut told, &mut say).await?;
        Ok(())
    });
    match (ended, args.hook) {
        (Ended::AgentGoesOn, _) => ExitCode::from(AGENT_GOES_ON),
        // The usual one for what is misused would let the agent go on, again and again.
        (Ended::Silent, Some(_)) if code != ExitCode::SUCCESS => ExitCode::FAILURE,
        (Ended::Silent, _) => code,
    }
}

fn say(line: &str) {
    // Who closed standard output does not want to hear it.
    let _ = writeln!(output(), "{line}");
}

/// The output of a command.
fn output() -> Patient<StdoutLock<'static>> {
    Patient(std::io::stdout().lock())
}

/// The exit code of a command that does one thing.
fn done(result: Result<(), impl std::fmt::Display>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            complain(&why);
            ExitCode::FAILURE
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
        Err(why) => return misused(&why),
    };
    let mut out = BufWriter::new(output());
    let worked = work(&data, &mut out);
    // What was found so far comes before an error.
    let written = out.flush().map_err(UpkeepError::from);
    done(worked.and(written))
}

/// Runs the demonstration, if there is one, and returns when the server should stop.
async fn play(demo: Option<&DemoArgs>, service: &Service) -> Result<(), DemoError> {
    let Some(args) = demo else {
        return std::future::pending().await;
    };
    let pace = Duration::from_micros(args.pace.0);
    // The conversation goes on, also when nobody reads it here.
    let demo = Demo::new(service, LineWriter::new(&STDOUT), pace);
    match args.once {
        true => demo.once().await,
        false => demo.forever().await,
    }
}

/// Prints an error to standard error.
fn complain(why: &dyn std::fmt::Display) {
    let word = match logs::is_coloured() {
        true => "\x1b[1;31merror:\x1b[0m",
        false => "error:",
    };
    let why = cli::in_place_of_flags(&why.to_string());
    // It may quote paths, settings and what other programs say.
    let why = render_text::shown(&why);
    STDERR.push(format!("{word} {why}\n").as_bytes());
}

/// Says what is wrong with the settings.
fn misused(why: &dyn std::fmt::Display) -> ExitCode {
    complain(why);
    ExitCode::from(USAGE)
}

fn serve(args: &ServeArgs, unnamed: Unnamed, demo: Option<&DemoArgs>) -> ExitCode {
    with_settings(args, unnamed, async |settings| run(settings, demo).await)
}

fn converse(mut args: StdioArgs) -> ExitCode {
    // A client whose user left its form empty passes an empty token.
    args.token = args.token.filter(|token| !token.is_empty());
    // Several clients on one machine may each have a server of their own.
    with_settings(&args.serve, Unnamed::InMemory, async |settings| {
        stdio::run(&args, settings).await?;
        Ok(ExitCode::SUCCESS)
    })
}

/// The exit code of a command that has begun its work, or why it failed.
type Done = Result<ExitCode, Box<dyn std::error::Error + Send + Sync>>;

/// Gathers the settings, and starts logging and the runtime.
fn with_settings(
    args: &ServeArgs,
    unnamed: Unnamed,
    work: impl AsyncFnOnce(&Settings) -> Done,
) -> ExitCode {
    let settings = match Settings::gather(args, unnamed) {
        Ok(settings) => settings,
        Err(why) => return misused(&why),
    };
    logs::start(settings.log, settings.log_level);
    // The allocator requests huge pages, and the first write to one waits until the system has found
    // and cleared two contiguous mebibytes: several milliseconds, in which other calls wait, too.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "pages stay as the system gives them");
    }
    let runtime = match Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(why) => return done(Err(why)),
    };
    let worked = runtime.block_on(work(&settings));
    // A pending read of stdin would block the process.
    runtime.shutdown_background();
    worked.unwrap_or_else(|why| {
        let cause = why.downcast_ref::<ServeError>();
        // It only leaves a command where the address of --connect is none.
        match why.is::<UpstreamError>() || cause.is_some_and(ServeError::is_of_settings) {
            true => misused(&why),
            false => done(Err(why)),
        }
    })
}

/// Serves until a signal.
async fn run(settings: &Settings, demo: Option<&DemoArgs>) -> Done {
    let mut signals = signals()?;
    let mut server = Server::start(settings).await?;
    announce(&server, settings);
    let service = server.service.clone();
    let mut playing = std::pin::pin!(play(demo, &service));
    loop {
        tokio::select! {
            died = server.died() => return Err(died.into()),
            played = playing.as_mut() => {
                played?;
                break;
            }
            stops = next_stops(&mut signals) => {
                // The terminal of a demonstration is gone, and with it who looks at it.
                if stops || demo.is_some() {
                    break;
                }
                server.reload();
            }
        }
    }
    tokio::select! {
        stopped = server.stop() => {
            stopped?;
            tracing::info!("stopped");
            Ok(ExitCode::SUCCESS)
        }
        () = second_stop(&mut signals) => {
            tracing::warn!("stopped at once");
            Ok(ExitCode::from(INTERRUPTED))
        }
    }
}

/// Says where the server is, among the lines of the log and in their form. A program that requested
/// any free port reads it there.
fn announce(server: &Server, settings: &Settings) {
    let at = server.address;
    let folder = settings.journal.as_ref();
    let folder = folder.map(|options| options.folder.display().to_string());
    let data = match (folder, &settings.cluster) {
        (folder, Some(cluster)) => format!(
            "realm {} of {}, as member {}{}",
            cluster.realm,
            cluster.servers.join(","),
            cluster.member,
            folder.map_or_else(String::new, |folder| format!(", and a copy in {folder}"))
        ),
        (Some(folder), None) => folder,
        (None, None) => "in memory: a stop loses everything".to_owned(),
    };
    match settings.log {
        LogForm::Json => {
            let address = format!("http://{at}");
            tracing::info!(target: logs::START, address, data, "talking-stick listens");
        }
        LogForm::Pretty => {
            let mut told = format!(
                "talking-stick listens on http://{at}\n  agents    http://{at}/mcp\n  \
                 programs  http://{at}/openapi.json\n  people    http://{at}/\n  data      \
                 {data}\n"
            );
            for realm in &settings.realms {
                let name = &realm.name;
                let host = realm.host.as_ref();
                let host = host.map_or_else(String::new, |host| format!(" and at {host}"));
                told += &format!("  realm     http://{at}/r/{name}{host}\n");
            }
            STDERR.push(told.as_bytes());
        }
    }
}

/// The signals that request a reading of the token files, and, both of them, a shutdown.
type Signals = [Signal; 3];

fn signals() -> std::io::Result<Signals> {
    let (terminate, interrupt) = (SignalKind::terminate(), SignalKind::interrupt());
    Ok([
        signal(SignalKind::hangup())?,
        signal(terminate)?,
        signal(interrupt)?,
    ])
}

/// Waits for a signal, and returns whether it requests a shutdown.
async fn next_stops([hangup, terminate, interrupt]: &mut Signals) -> bool {
    tokio::select! {
        _ = terminate.recv() => true,
        _ = interrupt.recv() => true,
        _ = hangup.recv() => false,
    }
}

/// The time within which further signals belong to the first one. `timeout` and shells send two at
/// once: to the process, and to its group.
const SAME_STOP: Duration = Duration::from_millis(500);

/// Waits for a further signal that requests a shutdown; others are ignored meanwhile.
async fn second_stop(signals: &mut Signals) {
    let first = Instant::now();
    while !next_stops(signals).await || first.elapsed() < SAME_STOP {}
}
