//! Standard output and standard error of a server, which never block it.
//!
//! Others hold the ends of their pipes: a write to a full pipe waits until its reader goes on, such
//! as a stopped collector of logs. So only a thread of their own writes to them, from a queue. A
//! text that finds no room there is dropped, and counted.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use server_storage::lock;

/// The most bytes that wait for the reader.
const MAX_QUEUED: usize = 1 << 20;

/// How long the end of the process waits for the reader.
const LAST_LINES: Duration = Duration::from_secs(1);

/// The pause before another attempt to write to a full pipe that does not wait by itself.
const FULL: Duration = Duration::from_millis(10);

/// Standard output.
pub static STDOUT: LossyOutput =
    LossyOutput::on(|| io::stdout().as_fd().try_clone_to_owned(), false);

/// Standard error, to which the log goes.
pub static STDERR: LossyOutput =
    LossyOutput::on(|| io::stderr().as_fd().try_clone_to_owned(), true);

/// Opens a descriptor anew: the standard library's streams are locked while a write waits.
type Open = fn() -> io::Result<OwnedFd>;

/// A writer that waits for its reader. A descriptor is shared with other programs, and one of them may
/// have made it one that does not wait.
#[derive(Debug)]
pub struct Patient<W>(pub W);

impl<W: Write> Patient<W> {
    fn patiently<T>(&mut self, work: impl Fn(&mut W) -> io::Result<T>) -> io::Result<T> {
        loop {
            match work(&mut self.0) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(FULL),
                done => return done,
            }
        }
    }
}

impl<W: Write> Write for Patient<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.patiently(|inner| inner.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.patiently(W::flush)
    }
}

/// A descriptor with its queue. As a writer it takes everything, whole lines at a time.
#[derive(Debug)]
pub struct LossyOutput {
    open: Open,
    /// Whether the log goes there, which tells of lost lines.
    has_log: bool,
    queue: Mutex<Queue>,
    /// Notified when the queue or its thread changes.
    changed: Condvar,
    /// The number of lines that were dropped, or could not be written.
    dropped: AtomicU64,
}

#[derive(Debug)]
struct Queue {
    bytes: Vec<u8>,
    /// Whether there is a thread that writes, which the first line starts, and whether it does so now.
    has_thread: bool,
    is_writing: bool,
}

impl LossyOutput {
    const fn on(open: Open, has_log: bool) -> Self {
        let queue = Queue {
            bytes: Vec::new(),
            has_thread: false,
            is_writing: false,
        };
        Self {
            open,
            has_log,
            queue: Mutex::new(queue),
            changed: Condvar::new(),
            dropped: AtomicU64::new(0),
        }
    }

    /// The number of lines that were lost, because the reader did not take them.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Queues these lines, or drops them.
    pub fn push(&'static self, lines: &[u8]) {
        let mut queue = lock(&self.queue);
        let has_room = queue.bytes.len().saturating_add(lines.len()) <= MAX_QUEUED;
        if has_room && self.has_thread(&mut queue) {
            queue.bytes.extend_from_slice(lines);
            self.changed.notify_all();
            return;
        }
        let lost = pieces(lines).count() as u64;
        self.dropped.fetch_add(lost, Ordering::Relaxed);
    }

    /// Waits until the queue is written, for a bounded time.
    pub fn flush_last(&self) {
        let is_busy = |queue: &mut Queue| !queue.bytes.is_empty() || queue.is_writing;
        // What the reader does not take by then is lost with the process.
        let _ = self
            .changed
            .wait_timeout_while(lock(&self.queue), LAST_LINES, is_busy);
    }

    fn has_thread(&'static self, queue: &mut Queue) -> bool {
        if !queue.has_thread {
            let thread = thread::Builder::new().name("log".into());
            queue.has_thread = thread.spawn(|| self.write_queued()).is_ok();
        }
        queue.has_thread
    }

    fn write_queued(&self) -> ! {
        let mut file = (self.open)().map(|descriptor| Patient(File::from(descriptor)));
        let mut bytes = Vec::new();
        let (mut told, mut is_written) = (0, true);
        loop {
            let mut dropped = self.next(&mut bytes);
            if is_written {
                // It is the first line behind those that were in time.
                self.tell(dropped, &mut told);
            }
            for line in pieces(&bytes) {
                // One write for each line: those of several processes do not mix.
                is_written = match &mut file {
                    Ok(file) => file.write_all(line).is_ok(),
                    Err(_) => false,
                };
                if !is_written {
                    dropped += 1;
                    self.dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
            bytes.clear();
            if is_written {
                self.tell(dropped, &mut told);
            }
        }
    }

    /// Logs that lines were lost, besides those that were told before.
    fn tell(&self, all: u64, told: &mut u64) {
        let dropped = all - std::mem::replace(told, all);
        if dropped > 0 && self.has_log {
            tracing::warn!(
                dropped,
                "lines of the log were lost: its reader did not take them in time, or its disk was full"
            );
        }
    }

    /// Waits for lines, and takes all; also returns the number of those that were dropped before them.
    fn next(&self, bytes: &mut Vec<u8>) -> u64 {
        let mut queue = lock(&self.queue);
        queue.is_writing = false;
        self.changed.notify_all();
        let mut queue = self
            .changed
            .wait_while(queue, |queue| queue.bytes.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        queue.is_writing = true;
        std::mem::swap(bytes, &mut queue.bytes);
        self.dropped()
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
