//! Sizes, read from the node, from the pools and from the process when metrics are requested.
//!
//! The process is shown as the machine sees it, under the names that all exporters use. Linux alone reports
//! all of them; elsewhere they stay zero, except for the start.

use std::fs;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use chat_core::{Counters, Counts, Load, Span, StickMove, Time};
use server_settings::kibibytes;
use server_storage::lock;

use super::{Metrics, Row, Samples};
use crate::capacity::{Capacity, Share};
use crate::lossy_output::STDERR;
use crate::view::View;

/// How long a reading is kept: counting the open files takes the longer the more there are.
const KEPT: Duration = Duration::from_secs(1);

impl Samples {
    /// Sets the amount of a resource in use, in all and by the source that uses most, with their
    /// limits.
    fn hold(&self, resource: &str, (all, most_of_one): (u64, u64), share: Share) {
        for (row, now) in [
            (Row::Held, all),
            (Row::HeldByOne, most_of_one),
            (Row::HeldLimit, share.all),
            (Row::HeldByOneLimit, share.each),
        ] {
            self.change(row, resource, |sample| sample.number = now);
        }
    }
}

/// The current values of the node.
#[derive(Clone, Debug)]
pub struct Seen {
    pub(super) counts: Counts,
    pub(super) load: Load,
    /// The limit of participants.
    pub(super) participants: Share,
    pub(super) counters: Counters,
    /// How long those who wait for a stick, and others before them, have waited.
    pub(super) waited: Span,
}

impl Seen {
    /// Reads the values of this node.
    #[must_use]
    pub fn of(node: &View<'_>) -> Self {
        let hub = node.hub;
        Self {
            counts: hub.counts(),
            load: node.load(),
            participants: Share {
                all: hub.config().max_participants.into(),
                each: hub.config().max_per_address.into(),
            },
            counters: hub.counters().clone(),
            waited: hub.counters().waited(hub.now()),
        }
    }
}

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
    fn read_process(&self) {
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

    /// The series of the process, after a look at its pools, its rates, its memory and its log.
    pub fn of_process(&self, capacity: &Capacity) -> &Samples {
        self.read_process();
        self.raise(Row::LogLinesDropped, "", STDERR.dropped());
        for pool in capacity.pools() {
            let resource = pool.name;
            let held = (pool.held(), pool.most_of_one());
            self.process.hold(resource, held, pool.share);
            self.raise(Row::HeldRefused, resource, pool.refused());
        }
        let memory = &capacity.memory;
        self.set(Row::MemoryLimit, "", memory.limit.unwrap_or(0));
        self.raise(Row::MemoryRefused, "", memory.refused());
        for rate in capacity.rates() {
            self.raise(Row::RateWaited, rate.name, rate.waited());
            self.raise(Row::RateRefused, rate.name, rate.refused());
        }
        &self.process
    }

    /// Sets the sizes to these values of the node; without any, the last ones stay. `queued` calls are
    /// those that it has not taken yet.
    pub fn see(&self, now: Time, seen: Option<Seen>, queued: usize) {
        self.set(Row::DriverQueued, "", queued as u64);
        let Some(seen) = seen else { return };
        let Seen {
            counts,
            load,
            counters,
            ..
        } = seen;
        let seconds = |micros: u64| Duration::from_micros(micros).as_secs_f64();
        for (row, size) in [
            (Row::Participants, counts.participants),
            (Row::Rooms, counts.rooms),
            (Row::QueueLength, counts.waiting),
            (Row::Streams, load.streams),
            (Row::WaitingChecks, load.parked),
            (Row::HeldAnswers, load.held),
            (Row::JournalPending, load.pending),
            (Row::RatedAddresses, load.addresses),
        ] {
            self.set(row, "", size as u64);
        }
        let held = (counts.participants as u64, counts.of_one_address as u64);
        self.realm.hold("participants", held, seen.participants);
        let first = counts.first_waits_since.map(|since| now.since(since));
        self.set_seconds(Row::QueueFirstWait, seconds(first.unwrap_or_default().0));
        let recent = counts.recent_wait.unwrap_or_default();
        self.set_seconds(Row::QueueRecentWait, seconds(recent.0));
        // The node counts these itself, and never down.
        self.raise(Row::BossAlerts, "", counters.alerts);
        self.raise(Row::BreaksHeld, "", counters.held);
        self.raise(Row::Messages, "", counters.messages);
        self.raise(Row::Matches, "", counters.matches);
        for (how, moved) in StickMove::NAMES.iter().zip(counters.moves) {
            self.raise(Row::StickMoves, how, moved);
        }
        self.set(Row::StickClaimants, "", counters.claimants);
        self.raise_seconds(Row::StickWait, seconds(seen.waited.0));
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
