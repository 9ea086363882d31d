//! The real server as a child process.

use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use anyhow::{Context as _, Result, bail};

/// Limits for a load of the simulator, whose users all have one address here.
pub(crate) const FOR_ONE_ADDRESS: [&str; 3] = [
    "--limit=rate_limit=none",
    "--limit=registration_rate_limit=none",
    "--limit=max_per_address=100000",
];

/// The real server on a free port. It is killed on drop.
pub(crate) struct Server {
    child: Child,
    /// Its address: `http://127.0.0.1:PORT`.
    pub(crate) url: String,
}

impl Server {
    /// Starts the server with these additional arguments, of which one says where its journal is.
    ///
    /// # Errors
    /// Why it did not start.
    pub(crate) fn start(program: &Path, words: &[&str]) -> Result<Self> {
        let child = Command::new(program)
            .args(words)
            .args(["--listen", "127.0.0.1:0", "--log-level", "warn"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.context("the server did not start")?;
        let mut log = BufReader::new(child.stderr.take().context("its log")?);
        let mut server = Self {
            child,
            url: String::new(),
        };
        let (mut line, mut before) = (String::new(), String::new());
        while log.read_line(&mut line)? > 0 {
            if let Some((_, at)) = line.trim_end().split_once("listens on ") {
                server.url = at.to_owned();
                // What it logs later is shown, as if it were not read here.
                thread::spawn(move || io::copy(&mut log, &mut io::stderr()));
                return Ok(server);
            }
            before.push_str(&line);
            line.clear();
        }
        bail!("the server did not say where it is: {before:?}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
