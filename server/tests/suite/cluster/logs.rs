//! What members log, in files beside those of the NATS servers: a test that fails keeps the folder.

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, Write as _};
use std::path::{Path, PathBuf};
use std::thread;

/// What a member logs when a replica lacks a record, or has a damaged one.
const DAMAGE: &str = "a replica of the log";

/// What a member logs when it cannot apply a record, or has another state than the owner.
const STRANDED: &str = "this member waits for a snapshot";

/// What a member logs when it had no processor for so long that it refuses calls.
const PAUSED: &str = "this process was paused";

/// A folder of logs.
pub(crate) struct Logs(PathBuf);

impl Logs {
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name).with_extension("log")
    }

    /// Adds lines to the log of this name.
    pub(crate) fn add(&self, name: &str, lines: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options.create(true).append(true).open(self.file(name))?;
        file.write_all(lines.as_bytes())
    }

    /// Adds what a member has logged, and all that it will.
    pub(crate) fn follow(&self, member: &str, before: &str, log: impl BufRead + Send + 'static) {
        self.add(member, before).expect("a file");
        let (logs, member) = (Self(self.0.clone()), member.to_owned());
        thread::spawn(move || {
            for line in log.lines().map_while(Result::ok) {
                // The folder is gone with the test.
                let _ = logs.add(&member, &(line + "\n"));
            }
        });
    }

    fn count(&self, member: &str, text: &str) -> usize {
        let log = fs::read_to_string(self.file(member)).unwrap_or_default();
        log.lines().filter(|line| line.contains(text)).count()
    }

    /// How often this member found damage in the log, so far.
    pub(crate) fn alarms(&self, member: &str) -> usize {
        self.count(member, DAMAGE)
    }

    /// How often this member found that it had been paused, so far.
    pub(crate) fn pauses(&self, member: &str) -> usize {
        self.count(member, PAUSED)
    }

    /// Whether this member was stranded.
    pub(crate) fn is_stranded(&self, member: &str) -> bool {
        self.count(member, STRANDED) > 0
    }
}
