//! Serves the report of `sim serve` to a browser on this machine, while the run goes on and after it.
//!
//! It is small on purpose: one thread, one request per connection, two addresses, which only `GET`
//! reads. The page is the report with one more program, which asks for the data until the run is
//! over. A request must name this server in its `Host`, so that no page of another site can read the
//! report by a name that it points here.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::VERSION;
use sim_judge::SeriesRecorder;
use sim_model::outcome::ProgressNow;
use sim_model::plan::Plan;
use sim_report::{FinishedRun, RunningView};

/// The most bytes of a request's head, and the most reads that may bring them. Each read has a time
/// limit, so that no client holds the thread for long.
const HEAD: usize = 8 * 1024;
const READS: usize = 16;
const PATIENCE: Duration = Duration::from_secs(1);

/// What the page shows now.
#[derive(Debug, Default)]
struct Shown {
    /// The data of the finished runs, and of the end; empty until the first run ended.
    done: Option<String>,
    /// The run that goes on, and the recorder of its figures.
    running: Option<(RunningView, Arc<Mutex<SeriesRecorder>>)>,
}

/// The server, until it is dropped.
#[derive(Debug)]
pub struct ReportServer {
    address: SocketAddr,
    shown: Arc<Mutex<Shown>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Locks a mutex. A panicking run leaves what was recorded until then.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ReportServer {
    /// Starts it on a free port of this machine.
    ///
    /// # Errors
    /// There is no free port, or no thread.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shown = Arc::new(Mutex::new(Shown::default()));
        let is_over = Arc::new(AtomicBool::new(false));
        let (its, over) = (Arc::clone(&shown), Arc::clone(&is_over));
        let serve = move || {
            for stream in listener.incoming() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                // A client that goes away early is no concern of the run.
                let _ = stream.and_then(|stream| answer(stream, address, &its));
            }
        };
        let thread = thread::Builder::new().name("report".to_owned());
        Ok(Self {
            address,
            shown,
            is_over,
            thread: Some(thread.spawn(serve)?),
        })
    }

    /// The address for a browser.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// A run begins. Returns the recorder of what is to be shown of it.
    #[must_use]
    pub fn begin(
        &self,
        file: String,
        plan: &Plan,
        (seed, seeds): (u64, u64),
    ) -> Arc<Mutex<SeriesRecorder>> {
        let series = Arc::new(Mutex::new(SeriesRecorder::new(seed, &plan.thresholds)));
        let view = RunningView {
            file,
            plan: plan.clone(),
            seeds,
            progress: ProgressNow::default(),
        };
        lock(&self.shown).running = Some((view, Arc::clone(&series)));
        series
    }

    /// The run goes on.
    pub fn advance(&self, progress: ProgressNow) {
        if let Some((running, _)) = &mut lock(&self.shown).running {
            running.progress = progress;
        }
    }

    /// Whether a run has ended.
    #[must_use]
    pub fn has_report(&self) -> bool {
        lock(&self.shown).done.is_some()
    }

    /// A run has ended; these are all so far.
    pub fn finish(&self, runs: &[FinishedRun]) {
        let mut shown = lock(&self.shown);
        shown.running = None;
        shown.done = Some(sim_report::report_data(runs, VERSION));
    }
}

impl Drop for ReportServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // The connection ends the thread's wait for one.
        if TcpStream::connect(self.address).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

/// The data of the page.
fn data(shown: &Mutex<Shown>) -> String {
    let shown = lock(shown);
    if let Some((running, series)) = &shown.running {
        let series = lock(series).series();
        return sim_report::running_data(running, &series, VERSION);
    }
    shown.done.clone().unwrap_or_else(|| "{}".to_owned())
}

/// Answers the one request of a connection.
fn answer(mut stream: TcpStream, address: SocketAddr, shown: &Mutex<Shown>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (status, kind, body) = match read_head(&mut stream) {
        Ok(head) => respond(&head, address, shown),
        Err(_) => ("400 Bad Request", "text/plain", String::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// The head of a request.
fn read_head(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    for _ in 0..READS {
        let read = stream.read(&mut piece)?;
        head.extend_from_slice(&piece[..read]);
        if head.windows(4).any(|end| end == b"\r\n\r\n") {
            return String::from_utf8(head).map_err(io::Error::other);
        }
        if read == 0 || head.len() > HEAD {
            break;
        }
    }
    Err(io::Error::other("no request"))
}

/// The status, the type and the body for a request.
fn respond(
    head: &str,
    address: SocketAddr,
    shown: &Mutex<Shown>,
) -> (&'static str, &'static str, String) {
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (words.next(), words.next());
    let mut hosts = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then_some(value.trim())
    });
    let port = address.port();
    let host = hosts.next().unwrap_or_default();
    let is_here = host == format!("127.0.0.1:{port}") || host == format!("localhost:{port}");
    if !is_here || hosts.next().is_some() {
        return ("421 Misdirected Request", "text/plain", String::new());
    }
    match (method, path) {
        (Some("GET"), Some("/")) => ("200 OK", "text/html", sim_report::served_html(&data(shown))),
        (Some("GET"), Some("/data")) => ("200 OK", "application/json", data(shown)),
        (Some("GET"), _) => ("404 Not Found", "text/plain", String::new()),
        (_, _) => ("405 Method Not Allowed", "text/plain", String::new()),
    }
}

#[cfg(test)]
mod tests;
