//! Logs for people or programs, without secrets. Neither they nor other lines for standard error
//! make the server wait for a reader.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::IsTerminal as _;
use std::panic::{self, PanicHookInfo};
use std::thread;

use server_chat::lossy_output::{LossyOutput, STDERR};
use server_settings::cli::LogForm;
use tracing::Level;
use tracing::field::display;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

use crate::guard::ACCESS_LOG;

/// How the targets of our own crates begin. Other libraries log what passes through them at the levels below
/// `info`: messages, handles, the secrets of connections. So they are heard from `info` on.
const OWN: [&str; 3] = ["chat_", "server", "talking_stick"];

/// Libraries of which only warnings and errors are logged.
const TALKATIVE: [&str; 3] = ["hyper", "hyper_util", "sse_stream"];

/// A library that logs every misbehaving or leaving client with its messages: an error for each
/// connection that is closed early. The metrics count the relevant part.
const SILENT: &str = "rmcp";

/// The target of the line that says where the server is. It is written at every level.
pub(crate) const START: &str = "talking_stick::start";

/// The filter for this level.
#[must_use]
pub fn filter(level: Level) -> Targets {
    let level = LevelFilter::from_level(level);
    Targets::new()
        .with_default(level.min(LevelFilter::INFO))
        .with_targets(OWN.map(|name| (name, level)))
        .with_targets(TALKATIVE.map(|name| (name, level.min(LevelFilter::WARN))))
        .with_target(SILENT, LevelFilter::OFF)
        .with_target(START, LevelFilter::INFO)
        // Its lines are written only if they are asked for.
        .with_target(ACCESS_LOG, LevelFilter::INFO)
}

/// Whether standard error shows colours.
pub(crate) fn is_coloured() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Starts logging to standard error. Panics are lines of the log, too.
pub fn start(form: LogForm, level: Level) {
    let registry = tracing_subscriber::registry();
    let to = || -> &'static LossyOutput { &STDERR };
    let lines = fmt::layer().with_writer(to);
    let lines = match form {
        LogForm::Pretty => lines.with_ansi(is_coloured()).with_target(false).boxed(),
        LogForm::Json => lines.json().boxed(),
    };
    registry.with(lines.with_filter(filter(level))).init();
    panic::set_hook(Box::new(log_panic));
}

/// Logs a panic. The usual hook would write to standard error itself.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let at = panic.location().map(display);
    let why = panic.payload_as_str().unwrap_or_default();
    let backtrace = Backtrace::capture();
    let is_wanted = backtrace.status() == BacktraceStatus::Captured;
    let backtrace = is_wanted.then(|| display(backtrace));
    let thread = thread::current();
    tracing::error!(thread = thread.name(), at, why, backtrace, "panicked");
    if thread.name() == Some("main") {
        // The process ends with this thread.
        STDERR.flush_last();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_library_is_heard_below_info() {
        let filter = filter(Level::TRACE);
        for own in [
            "server::http",
            "server_nats::log",
            "chat_core::node",
            "talking_stick::guard",
        ] {
            assert!(filter.would_enable(own, &Level::TRACE), "{own}");
        }
        for other in [
            "async_nats::connection",
            "async_nats::jetstream::context",
            "tokio",
            "new",
        ] {
            assert!(filter.would_enable(other, &Level::INFO), "{other}");
            assert!(!filter.would_enable(other, &Level::DEBUG), "{other}");
        }
        for name in TALKATIVE {
            assert!(filter.would_enable(name, &Level::WARN), "{name}");
            assert!(!filter.would_enable(name, &Level::INFO), "{name}");
        }
        assert!(!super::filter(Level::ERROR).would_enable("hyper", &Level::WARN));
        assert!(!filter.would_enable("rmcp::service", &Level::ERROR));
        assert!(super::filter(Level::ERROR).would_enable(START, &Level::INFO));
    }
}
