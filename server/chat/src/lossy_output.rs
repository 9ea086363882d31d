//! Standard output and standard error of a server, which never block it.
//!
//! Others hold the ends of their pipes: a write to a full pipe waits until its reader goes on, such
//! as a stopped collector of logs. So only a thread of their own writes to them, from a queue. A
//! text that finds no room there is dropped, and counted.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The most bytes that wait for the reader.
const MAX_QUEUED: usize = 1 << 20;

/// How long the end of the process waits for the reader.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Standard output.
pub static STDOUT: LossyOutput = LossyOutput::on(Descriptor::Output);

/// Standard error, to which the log goes.
pub static STDERR: LossyOutput = LossyOutput::on(Descriptor::Error);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Descriptor {
    Output,
    Error,
}

impl Descriptor {
    /// A file of its own: the standard library's streams are locked while a write waits.
    fn open(self) -> io::Result<File> {
        let descriptor = match self {
            Self::Output => io::stdout().as_fd().try_clone_to_owned(),
            Self::Error => io::stderr().as_fd().try_clone_to_owned(),
        };
        descriptor.map(File::from)
    }
}

/// A descriptor with its queue. As a writer it takes everything, whole lines at a time.
#[derive(Debug)]
pub struct LossyOutput {
    descriptor: Descriptor,
    queue: Mutex<Queue>,
    /// Notified when the queue or its thread changes.
    changed: Condvar,
    /// The number of lines that were dropped, or could not be written.
    dropped: AtomicU64,
}

#[derive(Debug)]
struct Queue {
    bytes: Vec<u8>,
    thread: Thread,
    /// Dropped lines of which the log does not tell yet.
    untold: u64,
}

/// The thread that writes, which the first line starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thread {
    NotStarted,
    Waiting,
    Writing,
}

impl LossyOutput {
    const fn on(descriptor: Descriptor) -> Self {
        let queue = Queue {
            bytes: Vec::new(),
            thread: Thread::NotStarted,
            untold: 0,
        };
        Self {
            descriptor,
            queue: Mutex::new(queue),
            changed: Condvar::new(),
            dropped: AtomicU64::new(0),
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // No code panics while it holds this lock.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of lines that were lost, because the reader did not take them.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Queues these lines, or drops them.
    pub fn push(&'static self, lines: &[u8]) {
        let mut queue = self.queue();
        let has_room = queue.bytes.len().saturating_add(lines.len()) <= MAX_QUEUED;
        if has_room && self.has_thread(&mut queue) {
            queue.bytes.extend_from_slice(lines);
            self.changed.notify_all();
            return;
        }
        let lost = pieces(lines).count() as u64;
        queue.untold = queue.untold.saturating_add(lost);
        self.dropped.fetch_add(lost, Ordering::Relaxed);
    }

    /// Waits until the queue is written, for a bounded time.
    pub fn flush_last(&self) {
        let is_busy =
            |queue: &mut Queue| !queue.bytes.is_empty() || queue.thread == Thread::Writing;
        // What the reader does not take by then is lost with the process.
        let _ = self
            .changed
            .wait_timeout_while(self.queue(), LAST_LINES, is_busy);
    }

    fn has_thread(&'static self, queue: &mut Queue) -> bool {
        if queue.thread == Thread::NotStarted {
            let spawned = thread::Builder::new()
                .name("log".into())
                .spawn(|| self.write_queued());
            if spawned.is_ok() {
                queue.thread = Thread::Waiting;
            }
        }
        queue.thread != Thread::NotStarted
    }

    fn write_queued(&self) -> ! {
        let mut file = self.descriptor.open();
        let mut bytes = Vec::new();
        loop {
            let untold = self.next(&mut bytes);
            if untold > 0 && self.descriptor == Descriptor::Error {
                // It is the first line behind those that were in time.
                tracing::warn!(
                    dropped = untold,
                    "lines of the log are dropped: its reader does not take them in time"
                );
            }
            for line in pieces(&bytes) {
                // One write for each line: those of several processes do not mix.
                let written = match &mut file {
                    Ok(file) => file.write_all(line).is_ok(),
                    Err(_) => false,
                };
                if !written {
                    self.dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
            bytes.clear();
        }
    }

    /// Waits for lines, and takes all; also returns the number of those that were dropped since.
    fn next(&self, bytes: &mut Vec<u8>) -> u64 {
        let mut queue = self.queue();
        queue.thread = Thread::Waiting;
        self.changed.notify_all();
        let mut queue = self
            .changed
            .wait_while(queue, |queue| queue.bytes.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        queue.thread = Thread::Writing;
        std::mem::swap(bytes, &mut queue.bytes);
        std::mem::take(&mut queue.untold)
    }
}

/// The lines with their ends.
fn pieces(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines.split_inclusive(|byte| *byte == b'\n')
}

impl Write for &'static LossyOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
