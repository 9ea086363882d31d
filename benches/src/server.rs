//! The programs under load: the real server, and the bare echo.

use std::net::SocketAddr;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::Outcome;

/// A program that listens. It is killed on drop.
#[derive(Debug)]
pub(crate) struct Server {
    /// Its address.
    pub(crate) address: SocketAddr,
    child: Child,
}

/// Settings without rates and stick, which are not what is measured.
const UNBOUND: [&str; 5] = [
    "--limit=rate_limit=none",
    "--limit=registration_rate_limit=none",
    "--limit=max_per_address=1000000",
    "--limit=turn_limit=none",
    "--limit=stick=optional",
];

impl Server {
    /// The real server with these additional flags.
    ///
    /// # Errors
    /// Why it did not start.
    pub(crate) async fn start(more: &[&str]) -> Outcome<Self> {
        Self::usual(&[&UNBOUND[..], more].concat()).await
    }

    /// The number of the process.
    ///
    /// # Errors
    /// If it has ended.
    pub(crate) fn id(&self) -> Outcome<u32> {
        Ok(self.child.id().ok_or("it has ended")?)
    }

    /// The real server with its default settings, except for these flags.
    ///
    /// # Errors
    /// Why it did not start.
    pub(crate) async fn usual(more: &[&str]) -> Outcome<Self> {
        let mut words = vec!["--listen", "127.0.0.1:0", "--log-level", "warn"];
        words.extend(more);
        if !more.contains(&"--data") && !more.contains(&"--cluster") {
            words.push("--in-memory");
        }
        Self::of("talking-stick", &words).await
    }

    /// Starts a program from this one's folder. The program prints its address to standard error.
    ///
    /// # Errors
    /// Why it did not start.
    pub(crate) async fn of(name: &str, words: &[&str]) -> Outcome<Self> {
        let path = std::env::current_exe()?.with_file_name(name);
        let child = Command::new(&path)
            .args(words)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let mut child = child.map_err(|error| {
            let path = path.display();
            format!("{path} does not start: {error}; `cargo xtask load` builds it first")
        })?;
        let log = child.stderr.take().ok_or("it has no standard error")?;
        let mut lines = BufReader::new(log).lines();
        while let Some(line) = lines.next_line().await? {
            if let Some((_, address)) = line.split_once("listens on http://") {
                let address = address.parse()?;
                return Ok(Self { address, child });
            }
        }
        Err(format!("{name} does not say where it is").into())
    }

    /// Stops the program by SIGTERM, and waits for its end.
    ///
    /// # Errors
    /// If it does not end.
    pub(crate) async fn stop(&mut self) -> Outcome<()> {
        let id = self.id()?.to_string();
        let sent = Command::new("kill").arg(id).status().await?;
        if !sent.success() {
            return Err("the signal was not sent".into());
        }
        self.child.wait().await?;
        Ok(())
    }

    /// Ends the program at once.
    ///
    /// # Errors
    /// If it cannot be ended.
    pub(crate) async fn kill(&mut self) -> Outcome<()> {
        Ok(self.child.kill().await?)
    }

    /// The resident memory in KiB.
    ///
    /// # Errors
    /// If the system does not report it.
    pub(crate) fn resident_kib(&self) -> Outcome<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id()?))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let figure = line.and_then(|line| line.split_whitespace().next());
        Ok(figure.ok_or("the system does not say")?.parse()?)
    }
}

/// The ticks of a second in which Linux counts processor time.
const TICKS: f64 = 100.0;

/// The processor time that a process has used, in seconds.
///
/// # Errors
/// If the system does not report it.
pub(crate) fn processor_seconds(id: u32) -> Outcome<f64> {
    let line = std::fs::read_to_string(format!("/proc/{id}/stat"))?;
    // The name of the program may have blanks.
    let (_, rest) = line.rsplit_once(')').ok_or("the system does not say")?;
    let mut ticks = 0;
    for figure in rest.split_whitespace().skip(11).take(2) {
        ticks += figure.parse::<u32>()?;
    }
    Ok(f64::from(ticks) / TICKS)
}
