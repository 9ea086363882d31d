//! A request that may open a session: who sends it, and why it opened none.
//!
//! The library opens sessions without saying for whom, and makes one error of every failure. So
//! both travel beside it, with the task that serves the request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::response::Response;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task_local;

use super::Caller;
use crate::refusal::Refusal;

task_local! {
    static OPENING: Arc<Opening>;
}

/// A request that may open a session.
#[derive(Debug, Default)]
pub(super) struct Opening {
    pub(super) caller: Caller,
    /// Its turn to open one, until it is answered.
    turn: Mutex<Option<OwnedSemaphorePermit>>,
    refused: Mutex<Option<Refusal>>,
}

impl Opening {
    /// That of a request.
    pub(super) fn of(caller: Caller) -> Arc<Self> {
        Arc::new(Self {
            caller,
            turn: Mutex::default(),
            refused: Mutex::default(),
        })
    }

    /// The one that this task serves. Outside of one, nobody in particular opens.
    pub(super) fn current() -> Arc<Self> {
        OPENING.try_with(Arc::clone).unwrap_or_default()
    }

    /// Serves the request.
    pub(super) async fn serve(self: &Arc<Self>, work: impl Future<Output = Response>) -> Response {
        OPENING.scope(Arc::clone(self), work).await
    }

    /// It is this request's turn to open a session, until it is answered.
    pub(super) fn has_turn(&self, turn: OwnedSemaphorePermit) {
        *lock(&self.turn) = Some(turn);
    }

    /// It opens no session for this reason.
    pub(super) fn refuse(&self, refusal: Refusal) {
        *lock(&self.refused) = Some(refusal);
    }

    /// Why it opened none, if it was refused.
    pub(super) fn refused(&self) -> Option<Refusal> {
        lock(&self.refused).take()
    }
}

/// Nothing that holds such a lock can panic half way.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
