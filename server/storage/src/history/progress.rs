//! How far the journal and the history are, for the threads that wait for one another.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::lock;
use chat_core::Position;
use tokio::sync::watch;

/// How long the follower lets records come, so that it writes many at once under load.
const LINGER: Duration = Duration::from_millis(20);

/// The positions of the journal and of the history.
#[derive(Debug)]
pub(super) struct Progress {
    state: Mutex<Positions>,
    moved: Condvar,
    reached: watch::Sender<Position>,
}

/// What the threads know of one another.
#[derive(Debug, Default)]
pub(super) struct Positions {
    /// The last position of the journal.
    pub(super) committed: Position,
    /// The last position that clients may know of. The journal of a member of a cluster follows it.
    pub(super) known: Position,
    /// The last position that a reader waits for.
    wanted: Position,
    /// The follower sleeps until the next commit.
    sleeps: bool,
    /// The server stops: the follower ends at the end of the journal, or at this instant.
    stop: Option<Instant>,
    /// The follower has ended.
    has_ended: bool,
    /// The number of files before the present one, which were damaged.
    pub(super) files: u64,
    /// A reader found the present file damaged.
    pub(super) is_damaged: bool,
    /// The number of rows that were damaged, and that the journal no longer had.
    pub(super) lost: u64,
}

/// Why the follower is awake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WakeReason {
    /// To follow the journal.
    ToFollow,
    /// Nothing happened.
    Idle,
    /// To end.
    ToStop,
}

impl Progress {
    pub(super) fn new(committed: Position) -> Self {
        Self {
            state: Mutex::new(Positions {
                committed,
                known: committed,
                ..Positions::default()
            }),
            moved: Condvar::new(),
            reached: watch::Sender::new(Position(0)),
        }
    }

    /// What is known now. Nothing else may be done while it is held.
    pub(super) fn now(&self) -> MutexGuard<'_, Positions> {
        lock(&self.state)
    }

    /// The journal has entries up to this position. Wakes the follower if it sleeps until then.
    pub(super) fn commit(&self, last: Position) {
        let mut state = self.now();
        state.committed = state.committed.max(last);
        state.known = state.known.max(last);
        if std::mem::take(&mut state.sleeps) {
            self.moved.notify_all();
        }
    }

    /// Clients may know of entries up to this position, which the journal will have.
    #[cfg(feature = "cluster")]
    pub(super) fn announce(&self, last: Position) {
        let mut state = self.now();
        state.known = state.known.max(last);
    }

    /// The history has the events up to this position.
    pub(super) fn reached(&self, last: Position) {
        self.reached
            .send_if_modified(|reached| std::mem::replace(reached, last) != last);
    }

    /// How far the history is, from now on.
    #[cfg(feature = "postgres")]
    pub(super) fn subscribe(&self) -> watch::Receiver<Position> {
        self.reached.subscribe()
    }

    /// The number of entries that the history lacks.
    pub(super) fn lag(&self) -> u64 {
        let reached = self.reached.borrow().0;
        self.now().known.0.saturating_sub(reached)
    }

    /// Waits until the history has all entries that clients may know of now. False if that takes
    /// longer than `limit`.
    pub(super) async fn catch_up(&self, limit: Duration) -> bool {
        let position = {
            let mut state = self.now();
            state.wanted = state.known;
            self.moved.notify_all();
            state.known
        };
        let mut reached = self.reached.subscribe();
        let waited = reached.wait_for(|reached| *reached >= position);
        matches!(tokio::time::timeout(limit, waited).await, Ok(Ok(_)))
    }

    /// A reader found the file after `files` others damaged.
    pub(super) fn found_damaged(&self, files: u64) {
        let mut state = self.now();
        if state.files == files {
            state.is_damaged = true;
            self.moved.notify_all();
        }
    }

    /// The damaged file is out of the way, and another one begins: reads wait for it.
    pub(super) fn replaced(&self) {
        self.reached(Position(0));
        let mut state = self.now();
        state.files += 1;
        state.is_damaged = false;
    }

    /// Lets the follower end at the end of the journal, or after this time, and waits for it. False if it did
    /// not end.
    pub(super) fn stop(&self, limit: Duration) -> bool {
        let mut state = self.now();
        state.stop = Some(Instant::now() + limit);
        self.moved.notify_all();
        let works = |state: &mut Positions| !state.has_ended;
        let waited = self.moved.wait_timeout_while(state, limit, works);
        waited.unwrap_or_else(PoisonError::into_inner).0.has_ended
    }

    /// The follower has ended.
    pub(super) fn end(&self) {
        self.now().has_ended = true;
        self.moved.notify_all();
    }

    /// Whether the follower must end now.
    pub(super) fn is_late(&self) -> bool {
        self.now().stop.is_some_and(|by| by <= Instant::now())
    }

    /// Lets more records come, unless a reader waits for those after `last`.
    pub(super) fn linger(&self, last: Position) {
        let state = self.now();
        let waits = |state: &mut Positions| {
            state.wanted <= last && state.stop.is_none() && !state.is_damaged
        };
        // Neither the time nor a poisoned lock matters here.
        drop(self.moved.wait_timeout_while(state, LINGER, waits));
    }

    /// Sleeps until the journal has records after `last`, at most for `pause`. Without a `last`, for
    /// all of it.
    pub(super) fn sleep(&self, last: Option<Position>, pause: Duration) -> WakeReason {
        let mut state = self.now();
        state.sleeps = last.is_some();
        let rests = |state: &mut Positions| {
            state.stop.is_none()
                && !state.is_damaged
                && last.is_none_or(|last| state.committed <= last)
        };
        let slept = self.moved.wait_timeout_while(state, pause, rests);
        let (mut state, _) = slept.unwrap_or_else(PoisonError::into_inner);
        state.sleeps = false;
        let is_behind = last.is_some_and(|last| state.committed > last);
        match state.stop {
            _ if is_behind || state.is_damaged => WakeReason::ToFollow,
            Some(_) => WakeReason::ToStop,
            None => WakeReason::Idle,
        }
    }
}
