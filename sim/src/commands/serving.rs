//! `sim serve`: runs scenarios, and shows their report in a browser meanwhile and afterwards.

use std::thread;
use std::time::Duration;

use super::{Console, Problem, run_watched};
use crate::cli::RunArgs;
use crate::report_server::ReportServer;

/// The time between two looks for Ctrl-C.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Runs the scenarios. Returns their exit code when Ctrl-C ends the report.
pub(super) fn serve(arguments: &RunArgs, console: &mut Console<'_>) -> Result<u8, Problem> {
    let server = ReportServer::start();
    let server = server.map_err(|problem| format!("cannot serve the report: {problem}"))?;
    console.complain(&format!("report: {} (Ctrl-C ends it)\n", server.url()));
    let done = run_watched(arguments, Some(&server), console);
    let code = console.code_of(done);
    // Without a finished run there is nothing to read.
    if server.has_report() {
        while !console.interrupt.is_requested() {
            thread::park_timeout(LOOK_EVERY);
        }
    }
    Ok(code)
}
