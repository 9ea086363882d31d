//! How far the journal and the history are, for the threads that wait for one another.

use std::sync::{Condvar, Mutex, PoisonError};
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

#[derive(Debug)]
struct Positions {
    /// The last position of the journal.
    committed: Position,
    /// The last position that clients may know of. The journal of a member of a cluster follows it.
    known: Position,
    /// The last position that a reader waits for.
    wanted: Position,
    /// The follower sleeps until the next commit.
    sleeps: bool,
    /// The server stops: the follower ends at the end of the journal, or at this instant.
    stop: Option<Instant>,
    /// The number of files before the present one, which were damaged.
    files: u64,
    /// A reader found the present file damaged.
    is_damaged: bool,
    /// The number of rows that were damaged, and that the journal no longer had.
    lost: u64,
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
                wanted: Position(0),
                sleeps: false,
                stop: None,
                files: 0,
                is_damaged: false,
                lost: 0,
            }),
            moved: Condvar::new(),
            reached: watch::Sender::new(Position(0)),
        }
    }

    /// The journal has entries up to this position.
    pub(super) fn commit(&self, last: Position) {
        let mut state = lock(&self.state);
        state.committed = state.committed.max(last);
        state.known = state.known.max(last);
    }

    /// Clients may know of entries up to this position, which the journal will have.
    #[cfg(feature = "cluster")]
    pub(super) fn announce(&self, last: Position) {
        let mut state = lock(&self.state);
        state.known = state.known.max(last);
    }

    /// The last position that clients may know of.
    pub(super) fn known(&self) -> Position {
        lock(&self.state).known
    }

    /// Wakes the follower if it sleeps until the next commit.
    pub(super) fn wake(&self) {
        if std::mem::take(&mut lock(&self.state).sleeps) {
            self.moved.notify_all();
        }
    }

    /// The last position of the journal.
    pub(super) fn committed(&self) -> Position {
        lock(&self.state).committed
    }

    /// The history has the events up to this position.
    pub(super) fn reached(&self, last: Position) {
        self.reached.send_if_modified(|reached| {
            let moved = *reached != last;
            *reached = last;
            moved
        });
    }

    /// How far the history is, from now on.
    #[cfg(feature = "postgres")]
    pub(super) fn subscribe(&self) -> watch::Receiver<Position> {
        self.reached.subscribe()
    }

    /// The number of entries that the history lacks.
    pub(super) fn lag(&self) -> u64 {
        let reached = self.reached.borrow().0;
        self.known().0.saturating_sub(reached)
    }

    /// Waits until the history has all entries that clients may know of now. False if that takes
    /// longer than `limit`.
    pub(super) async fn catch_up(&self, limit: Duration) -> bool {
        let position = {
            let mut state = lock(&self.state);
            state.wanted = state.known;
            self.moved.notify_all();
            state.known
        };
        let mut reached = self.reached.subscribe();
        let waited = reached.wait_for(|reached| *reached >= position);
        matches!(tokio::time::timeout(limit, waited).await, Ok(Ok(_)))
    }

    /// The number of damaged files before the present one, and of the rows that were lost with them.
    pub(super) fn damage(&self) -> (u64, u64) {
        let state = lock(&self.state);
        (state.files, state.lost)
    }

    /// A reader found the file after `files` others damaged.
    pub(super) fn found_damaged(&self, files: u64) {
        let mut state = lock(&self.state);
        if state.files == files {
            state.is_damaged = true;
            self.moved.notify_all();
        }
    }

    /// Whether a reader found the present file damaged.
    pub(super) fn is_damaged(&self) -> bool {
        lock(&self.state).is_damaged
    }

    /// The damaged file is out of the way, and another one begins: reads wait for it.
    pub(super) fn replaced(&self) {
        self.reached(Position(0));
        let mut state = lock(&self.state);
        state.files += 1;
        state.is_damaged = false;
    }

    /// The number of lost rows.
    pub(super) fn set_lost(&self, rows: u64) {
        lock(&self.state).lost = rows;
    }

    /// Lets the follower end at the end of the journal, or at this instant.
    pub(super) fn stop(&self, by: Instant) {
        lock(&self.state).stop = Some(by);
        self.moved.notify_all();
    }

    /// Whether the follower must end now.
    pub(super) fn is_late(&self) -> bool {
        lock(&self.state)
            .stop
            .is_some_and(|by| by <= Instant::now())
    }

    /// Lets more records come, unless a reader waits for those after `last`.
    pub(super) fn linger(&self, last: Position) {
        let state = lock(&self.state);
        let waits = |state: &mut Positions| {
            state.wanted <= last && state.stop.is_none() && !state.is_damaged
        };
        // Neither the time nor a poisoned lock matters here.
        drop(self.moved.wait_timeout_while(state, LINGER, waits));
    }

    /// Sleeps until the journal has records after `last`, at most for `pause`. Without a `last`, for
    /// all of it.
    pub(super) fn sleep(&self, last: Option<Position>, pause: Duration) -> WakeReason {
        let mut state = lock(&self.state);
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
