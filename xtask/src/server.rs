//! The real server as a child process.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

/// Limits for a load of the simulator, whose users all have one address here.
pub(crate) const FOR_ONE_ADDRESS: [&str; 6] = [
    "--limit",
    "rate_limit=none",
    "--limit",
    "registration_rate_limit=none",
    "--limit",
    "max_per_address=100000",
];

/// The real server on a free port. It is killed on drop.
pub(crate) struct Server {
    child: Child,
    url: String,
}

impl Server {
    /// Starts the server with these additional arguments, without a journal.
    ///
    /// # Errors
    /// Why it did not start.
    pub(crate) fn start(program: &Path, words: &[&str]) -> Result<Self, String> {
        let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        Self::run(program, &[&["--in-memory".as_ref()], &words[..]].concat())
    }

    /// Starts the server with a journal in this folder.
    ///
    /// # Errors
    /// Why it did not start.
    pub(crate) fn with_journal(
        program: &Path,
        folder: &Path,
        words: &[&str],
    ) -> Result<Self, String> {
        let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        let data = ["--data".as_ref(), folder.as_os_str()];
        Self::run(program, &[&data[..], &words].concat())
    }

    fn run(program: &Path, words: &[&OsStr]) -> Result<Self, String> {
        let mut child = Command::new(program)
            .args(["--listen", "127.0.0.1:0", "--log-level", "warn"])
            .args(words)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the server did not start: {error}"))?;
        let log = child.stderr.take().map(BufReader::new);
        let mut server = Self {
            child,
            url: String::new(),
        };
        let mut lines = log
            .into_iter()
            .flat_map(BufRead::lines)
            .map_while(Result::ok);
        let mut before = String::new();
        for line in lines.by_ref() {
            if let Some((_, at)) = line.split_once("listens on ") {
                server.url = at.to_owned();
                // What it logs later is shown, as if it were not read here.
                thread::spawn(move || show(lines));
                return Ok(server);
            }
            before.push_str(&line);
        }
        Err(format!("the server did not say where it is: {before:?}"))
    }

    /// Its address: `http://127.0.0.1:PORT`.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

/// Shows what the server logs, until it ends.
fn show(lines: impl Iterator<Item = String>) {
    for line in lines {
        // Without a place to show it, it is only read.
        let _ = writeln!(io::stderr(), "{line}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
