//! The program `sim`: the command line, the terminal and the clock, which the library does not use.

use std::env;
use std::io::{self, ErrorKind, IsTerminal, Write as _};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, available_parallelism};
use std::time::{Duration, Instant, SystemTime};

use console::{Term, truncate_str};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use sim::cli;
use sim::commands::{Console, execute};
use sim_model::outcome::{INTERRUPTED, Interrupt};
use sim_report::Paint;
use sim_search::seed::run_seed;

/// A world makes millions of small allocations. This allocator keeps those of one size together.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The stack of the commands. A shell may give the main thread far less.
const STACK: usize = 8 << 20;

fn main() -> ExitCode {
    let commands = thread::Builder::new()
        .name("main".to_owned())
        .stack_size(STACK)
        .spawn(run);
    match commands.map(thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(_) => run(),
    }
}

fn run() -> ExitCode {
    let invocation = match cli::parse(env::args_os()) {
        Ok(invocation) => invocation,
        Err(told) => {
            // Clap prints help and usage errors. The reader may close the pipe early.
            let lost = told
                .print()
                .is_err_and(|error| error.kind() != ErrorKind::BrokenPipe);
            return ExitCode::from(if told.use_stderr() || lost { 2 } else { 0 });
        }
    };
    let interrupted = Arc::new(AtomicBool::new(false));
    if let Err(error) = end_at_interrupt(&interrupted) {
        let told = format!("warning: Ctrl-C ends the program without a result: {error}\n");
        // Without a standard error, there is nobody to warn.
        let _ = io::stderr().write_all(told.as_bytes());
    }
    // `cargo run` starts a path that nobody wrote.
    if env::var_os("CARGO").is_none()
        && let Some(path) = env::args_os().next()
    {
        sim_report::started_as(&path.to_string_lossy());
    }
    sim_search::panics::silence_caught_panics();
    let began = Instant::now();
    let mut console = Console {
        run: &run_seed,
        also_judge: &|_, _| {},
        out: &mut io::stdout(),
        unwritten: None,
        err: &mut io::stderr(),
        paint: paint(io::stdout().is_terminal()),
        error_paint: paint(io::stderr().is_terminal()),
        error_columns: columns(),
        live: &mut show_live,
        started: SystemTime::now(),
        clock: &|| began.elapsed(),
        interrupt: &Interrupt::of(interrupted),
        cores: available_parallelism().unwrap_or(NonZeroUsize::MIN),
        unasked: Path::new("target/sim"),
    };
    ExitCode::from(execute(&invocation, &mut console))
}

/// Signals within this time are one: `timeout` sends one to its child and one to the child's group.
const ONE_SIGNAL: Duration = Duration::from_secs(1);

/// Sets the flag at the first Ctrl-C or termination, and ends the program at a later one.
fn end_at_interrupt(flag: &Arc<AtomicBool>) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let flag = Arc::clone(flag);
    let wait = move || {
        let mut first: Option<Instant> = None;
        for _ in signals.forever() {
            flag.store(true, Ordering::Relaxed);
            if first.get_or_insert_with(Instant::now).elapsed() >= ONE_SIGNAL {
                std::process::exit(INTERRUPTED.into());
            }
        }
    };
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(wait)?;
    Ok(())
}

/// Replaces the last line of a terminal at standard error, or erases it.
fn show_live(line: Option<&str>) {
    let terminal = Term::stderr();
    if terminal.is_term() {
        let line = truncate_str(line.unwrap_or_default(), columns(), "");
        let shown = terminal.clear_line();
        // Progress that cannot be shown is no loss.
        let _ = shown.and_then(|()| terminal.write_str(&line));
    }
}

/// The columns of the terminal at standard error; without a terminal, as many as any error needs.
fn columns() -> usize {
    let size = Term::stderr().size_checked();
    size.map_or(usize::MAX, |(_, columns)| columns.into())
}

fn paint(is_terminal: bool) -> Paint {
    let variable = |name| env::var_os(name);
    Paint::choose(
        is_terminal && variable("TERM").is_none_or(|term| term != "dumb"),
        variable("NO_COLOR").as_deref(),
        variable("CLICOLOR_FORCE").as_deref(),
    )
}
