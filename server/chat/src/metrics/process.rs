//! The process as the machine sees it, under the names that all exporters use. Linux alone reports all
//! of them; elsewhere they stay zero, except for the start.

use std::fs;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use server_settings::kibibytes;
use server_storage::lock;

use super::{Metrics, Row};

/// How long a reading is kept: counting the open files takes the longer the more there are.
const KEPT: Duration = Duration::from_secs(1);

impl Metrics {
    /// The process, which is taken to start now.
    pub(super) fn begin_process(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        self.set_seconds(Row::StartTime, now.unwrap_or(Duration::ZERO).as_secs_f64());
        let build = [
            env!("CARGO_PKG_VERSION"),
            option_env!("TALKING_STICK_COMMIT").unwrap_or(""),
            std::env::consts::OS,
            std::env::consts::ARCH,
        ];
        self.set(Row::Build, &build.join(" "), 1);
    }

    /// Reads the process, unless it was read a moment ago.
    pub(super) fn read_process(&self) {
        let mut last = lock(&self.process_read);
        if last.is_some_and(|last| last.elapsed() < KEPT) {
            return;
        }
        *last = Some(Instant::now());
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let bytes = |name| kibibytes(&status, name).unwrap_or(0);
        self.set(Row::ResidentMemory, "", bytes("VmRSS:"));
        self.set(Row::VirtualMemory, "", bytes("VmSize:"));
        let threads = status
            .lines()
            .find_map(|line| line.strip_prefix("Threads:"));
        let threads = threads.and_then(|threads| threads.trim().parse().ok());
        self.set(Row::Threads, "", threads.unwrap_or(0));
        if let Ok(files) = fs::read_dir("/proc/self/fd") {
            // One of them is the folder that is being read.
            self.set(Row::OpenFiles, "", files.count().saturating_sub(1) as u64);
        }
        if let Ok((soft, _)) = rlimit::getrlimit(rlimit::Resource::NOFILE) {
            self.set(Row::MostFiles, "", soft);
        }
        self.raise_seconds(Row::CpuSeconds, cpu_time().as_secs_f64());
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
