//! The programs under load: the real server, and the bare echo.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::Outcome;

/// A program that listens. Dropped, it is ended.
#[derive(Debug)]
pub struct Server {
    /// Where.
    pub address: SocketAddr,
    child: Child,
}

/// Limits that are not what is measured: as fast as it goes, anybody may speak.
const UNBOUND: [&str; 10] = [
    "--limit",
    "rate_limit=none",
    "--limit",
    "registration_rate_limit=none",
    "--limit",
    "max_per_address=1000000",
    "--limit",
    "turn_limit=none",
    "--limit",
    "stick=optional",
];

impl Server {
    /// The real server.
    ///
    /// # Errors
    /// Why it does not run.
    pub async fn start() -> Outcome<Self> {
        Self::start_with(&[]).await
    }

    /// The real server with these flags besides.
    ///
    /// # Errors
    /// Why it does not run.
    pub async fn start_with(more: &[&str]) -> Outcome<Self> {
        let mut words = vec!["--conformance-fixtures"];
        words.extend(UNBOUND);
        words.extend(more);
        Self::usual(&words).await
    }

    /// The real server as it is by itself, but for these flags.
    ///
    /// # Errors
    /// Why it does not run.
    pub async fn usual(more: &[&str]) -> Outcome<Self> {
        let mut words = vec!["--listen", "127.0.0.1:0", "--log-level", "warn"];
        words.extend(more);
        Self::of("talking-stick", &words).await
    }

    /// The bare echo.
    ///
    /// # Errors
    /// Why it does not run.
    pub async fn echo() -> Outcome<Self> {
        Self::of("load", &["echo"]).await
    }

    /// A program that lies beside this one, and says on its first line where it is.
    async fn of(name: &str, words: &[&str]) -> Outcome<Self> {
        let mut path = std::env::current_exe()?.with_file_name(name);
        // Cargo keeps benches a folder below programs.
        if !path.exists()
            && let Some(above) = path.parent().and_then(Path::parent)
        {
            path = above.join(name);
        }
        let child = Command::new(&path)
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let mut child = child.map_err(|error| {
            let path = path.display();
            format!("{path} does not start: {error}; `cargo xtask load` builds it first")
        })?;
        let out = child.stdout.take().ok_or("it has no standard output")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).await?;
        let address = line.trim().rsplit_once("http://").map(|(_, at)| at.parse());
        let address =
            address.ok_or_else(|| format!("{name} does not say where it is: {line}"))??;
        Ok(Self { address, child })
    }

    /// How much memory it holds, in KiB.
    ///
    /// # Errors
    /// Why the system does not say.
    pub fn resident_kib(&self) -> Outcome<u64> {
        let id = self.child.id().ok_or("it has ended")?;
        let path = PathBuf::from(format!("/proc/{id}/status"));
        let status = std::fs::read_to_string(path)?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let figure = line.and_then(|line| line.split_whitespace().next());
        Ok(figure.ok_or("the system does not say")?.parse()?)
    }
}
