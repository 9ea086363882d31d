//! The process as the machine sees it, under the names that all exporters use.

use std::fs;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// How long a reading is kept: counting the open files takes the longer the more there are.
const KEPT: Duration = Duration::from_secs(1);

/// The metrics of the process. Linux alone reports all of them; elsewhere they stay zero, except
/// for the start.
#[derive(Debug)]
pub(super) struct Process {
    cpu_seconds: Counter<f64, AtomicU64>,
    resident_memory_bytes: Gauge,
    virtual_memory_bytes: Gauge,
    threads: Gauge,
    open_fds: Gauge,
    max_fds: Gauge,
    start_time_seconds: Gauge<f64, AtomicU64>,
    last: Mutex<Option<Instant>>,
}

impl Process {
    /// The process, which is taken to start now.
    pub(super) fn start() -> Self {
        let process = Self {
            cpu_seconds: Counter::default(),
            resident_memory_bytes: Gauge::default(),
            virtual_memory_bytes: Gauge::default(),
            threads: Gauge::default(),
            open_fds: Gauge::default(),
            max_fds: Gauge::default(),
            start_time_seconds: Gauge::default(),
            last: Mutex::default(),
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or(Duration::ZERO);
        process.start_time_seconds.set(now.as_secs_f64());
        process
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "process_cpu_seconds",
            "Time that the processors spent on the process",
            self.cpu_seconds.clone(),
        );
        registry.register(
            "process_start_time_seconds",
            "When the process started, in seconds since 1970",
            self.start_time_seconds.clone(),
        );
        for (name, help, gauge) in [
            (
                "process_resident_memory_bytes",
                "Memory of the process in RAM",
                &self.resident_memory_bytes,
            ),
            (
                "process_virtual_memory_bytes",
                "Addresses that the process has",
                &self.virtual_memory_bytes,
            ),
            ("process_threads", "Threads of the process", &self.threads),
            ("process_open_fds", "Open files", &self.open_fds),
            (
                "process_max_fds",
                "Files that may be open at once",
                &self.max_fds,
            ),
        ] {
            registry.register(name, help, gauge.clone());
        }
    }

    /// Reads the process, unless it was read a moment ago.
    pub(super) fn read(&self) {
        // No code panics while it holds this lock.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| last.elapsed() < KEPT) {
            return;
        }
        *last = Some(Instant::now());
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = |name: &str| {
            let mut lines = status.lines();
            let value = lines.find_map(|line| line.strip_prefix(name))?;
            value.split_whitespace().next()?.parse::<i64>().ok()
        };
        let kibibytes = |name: &str| line(name).map_or(0, |number| number.saturating_mul(1_024));
        self.resident_memory_bytes.set(kibibytes("VmRSS:"));
        self.virtual_memory_bytes.set(kibibytes("VmSize:"));
        self.threads.set(line("Threads:").unwrap_or(0));
        if let Ok(files) = fs::read_dir("/proc/self/fd") {
            // One of them is the folder that is being read.
            let open = files.count().saturating_sub(1);
            self.open_fds.set(i64::try_from(open).unwrap_or(i64::MAX));
        }
        if let Ok((soft, _)) = rlimit::getrlimit(rlimit::Resource::NOFILE) {
            self.max_fds.set(i64::try_from(soft).unwrap_or(i64::MAX));
        }
        let more = cpu_time().as_secs_f64() - self.cpu_seconds.get();
        if more > 0.0 {
            self.cpu_seconds.inc_by(more);
        }
    }
}

#[cfg(target_os = "linux")]
fn cpu_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
const fn cpu_time() -> Duration {
    Duration::ZERO
}
