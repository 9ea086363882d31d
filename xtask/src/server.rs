//! The real server as a child process.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

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
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the server did not start: {error}"))?;
        let out = child.stdout.take();
        let mut server = Self {
            child,
            url: String::new(),
        };
        let mut line = String::new();
        if let Some(out) = out {
            BufReader::new(out)
                .read_line(&mut line)
                .map_err(|error| format!("the server said nothing: {error}"))?;
        }
        let at = line
            .split_whitespace()
            .find(|word| word.starts_with("http://"));
        let at = at.ok_or_else(|| format!("the server did not say where it is: {line:?}"))?;
        server.url = at.to_owned();
        Ok(server)
    }

    /// Its address: `http://127.0.0.1:PORT`.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
