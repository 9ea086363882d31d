//! `sim serve`: runs scenarios, and shows their report in a browser meanwhile and afterwards.

use std::thread;
use std::time::Duration;

use super::{Console, WRONG, run_watched};
use crate::cli::RunArgs;
use crate::report_server::ReportServer;

/// The time between two looks for Ctrl-C.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Runs the scenarios. Returns their exit code when Ctrl-C ends the report.
pub(super) fn serve(arguments: &RunArgs, console: &mut Console<'_>) -> u8 {
    let server = match ReportServer::start() {
        Ok(server) => server,
        Err(problem) => {
            console.complain(&format!("error: cannot serve the report: {problem}\n"));
            return WRONG;
        }
    };
    console.complain(&format!("report: {} (Ctrl-C ends it)\n", server.url()));
    let code = run_watched(arguments, Some(&server), console);
    // Without a finished run there is nothing to read.
    if server.has_report() {
        while !console.interrupt.is_requested() {
            thread::park_timeout(LOOK_EVERY);
        }
    }
    code
}
