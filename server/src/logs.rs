//! Logs for people or programs, without secrets.

use std::io::IsTerminal as _;

use server_settings::cli::LogForm;
use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

use crate::requests;

/// Libraries that log data that passes through them, including handles, at lower levels. Only their
/// warnings and errors are logged.
const TALKATIVE: [&str; 3] = ["hyper", "hyper_util", "sse_stream"];

/// A library that logs every misbehaving or leaving client with its messages: an error for each
/// connection that is closed early. The metrics count the relevant part.
const SILENT: &str = "rmcp";

/// The target of the line that says where the server is. It is written at every level.
const START: &str = "talking_stick::start";

/// The filter for this level.
#[must_use]
pub fn filter(level: Level) -> Targets {
    let all = Targets::new()
        .with_default(level)
        .with_target(SILENT, LevelFilter::OFF)
        .with_target(START, LevelFilter::INFO)
        // Its lines are written only if they are asked for.
        .with_target(requests::LOG, LevelFilter::INFO);
    let quiet = LevelFilter::from_level(level).min(LevelFilter::WARN);
    TALKATIVE
        .iter()
        .fold(all, |targets, name| targets.with_target(*name, quiet))
}

/// Starts logging to standard error.
pub fn start(form: LogForm, level: Level) {
    let registry = tracing_subscriber::registry();
    match form {
        LogForm::Pretty => {
            let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            let lines = fmt::layer()
                .with_writer(std::io::stderr)
                .with_ansi(colour)
                .with_target(false);
            registry.with(lines.with_filter(filter(level))).init();
        }
        LogForm::Json => {
            let lines = fmt::layer().json().with_writer(std::io::stderr);
            registry.with(lines.with_filter(filter(level))).init();
        }
    }
}

/// Logs where the server is, and where its data is.
pub(crate) fn announce(address: &str, data: &str) {
    tracing::info!(target: START, address, data, "talking-stick listens");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_print_messages_are_heard_from_warnings_on() {
        let filter = filter(Level::TRACE);
        assert!(filter.would_enable("server::driver", &Level::TRACE));
        for name in TALKATIVE {
            assert!(filter.would_enable(name, &Level::WARN), "{name}");
            assert!(!filter.would_enable(name, &Level::INFO), "{name}");
        }
        assert!(!super::filter(Level::ERROR).would_enable("hyper", &Level::WARN));
        assert!(!filter.would_enable("rmcp::service", &Level::ERROR));
        assert!(super::filter(Level::ERROR).would_enable(START, &Level::INFO));
    }
}
