//! A request that may open a session: its caller, and why it was refused.
//!
//! The library opens sessions without their caller, and has one error for all failures. So both are
//! passed beside it, in the task that serves the request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::response::Response;
use server_chat::refusal::Refusal;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task_local;

use super::Caller;

task_local! {
    static OPENING: Arc<Opening>;
}

/// The turn to open one, held until the answer.
#[derive(Debug, Default)]
pub(super) struct Opening {
    pub(super) caller: Caller,
    /// The opening of a request.
    turn: Mutex<Option<OwnedSemaphorePermit>>,
    refused: Mutex<Option<Refusal>>,
}

impl Opening {
    /// Creates the opening of a request.
    pub(super) fn of(caller: Caller) -> Arc<Self> {
        Arc::new(Self {
            caller,
            turn: Mutex::default(),
            refused: Mutex::default(),
        })
    }

    /// The opening of the current task; an empty one outside of a request.
    pub(super) fn current() -> Arc<Self> {
        OPENING.try_with(Arc::clone).unwrap_or_default()
    }

    /// Serves the request.
    pub(super) async fn serve(self: &Arc<Self>, work: impl Future<Output = Response>) -> Response {
        OPENING.scope(Arc::clone(self), work).await
    }

    /// Stores the permit, until the request is answered.
    pub(super) fn has_turn(&self, turn: OwnedSemaphorePermit) {
        *lock(&self.turn) = Some(turn);
    }

    /// Records why no session was opened.
    pub(super) fn refuse(&self, refusal: Refusal) {
        *lock(&self.refused) = Some(refusal);
    }

    /// Why no session was opened, if it was refused.
    pub(super) fn refused(&self) -> Option<Refusal> {
        lock(&self.refused).take()
    }
}

/// No code panics while it holds such a lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
