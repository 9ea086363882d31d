//! Taking a session up again that this process does not have: by one request, while others with its id
//! wait until its handshake is over.

use std::sync::Arc;

use rmcp::transport::streamable_http_server::session::SessionId;
use server_chat::capacity::MAX_WAIT;
use server_chat::service::RequestOrigin;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::Caller;
use super::opening::Opening;
use super::session::Session;
use super::sessions::Sessions;

/// The number of locks, each for a part of all ids. Ids are random, so few requests wait for one of
/// another id.
const LOCKS: usize = 256;

/// The locks under which sessions are taken up.
pub(super) struct TakingUp {
    locks: Vec<Arc<Mutex<()>>>,
}

impl Default for TakingUp {
    fn default() -> Self {
        let locks = (0..LOCKS).map(|_| Arc::default()).collect();
        Self { locks }
    }
}

impl TakingUp {
    async fn turn(&self, id: &str) -> OwnedMutexGuard<()> {
        let add = |sum: usize, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte));
        let lock = &self.locks[id.bytes().fold(0, add) % LOCKS];
        Arc::clone(lock).lock_owned().await
    }
}

impl Sessions {
    /// Whether there is a session with this id. If there is none, and the id is valid, this request
    /// has the turn to take it up.
    pub(super) async fn is_there(&self, id: &SessionId) -> bool {
        let opening = Opening::current();
        loop {
            if let Ok(known) = self.find(id) {
                if self.is_ready(id, &known.session).await {
                    return true;
                }
                continue;
            }
            if !self.ids.is_valid(id, &opening) {
                return false;
            }
            let turn = self.taking_up.turn(id).await;
            if self.find(id).is_err() {
                opening.takes_up(turn);
                return false;
            }
        }
    }

    /// Waits for the handshake of a session: the library passes other messages on at once, and the
    /// first of a session has to be `initialize`.
    async fn is_ready(&self, id: &SessionId, session: &Session) -> bool {
        tokio::select! {
            biased;
            () = session.ready.cancelled() => true,
            () = session.ended.cancelled() => false,
            // The client of the request that took it up is gone.
            () = tokio::time::sleep(MAX_WAIT) => {
                self.end_known(id).await;
                false
            }
        }
    }

    /// Finds the participants of a session that is taken up again, and follows their inboxes, as if
    /// the client had subscribed to them: whether it had is not known, and a hint too many does no
    /// harm.
    pub(super) async fn follow_again(&self, session: &Session) {
        let Caller {
            address,
            source,
            scope: token,
        } = Opening::current().caller.clone();
        self.service.take_up(&session.scope, address).await;
        let origin = RequestOrigin {
            address,
            source,
            scope: Some(Arc::clone(&session.scope)),
            token,
            handle: None,
        };
        let mut handles = session.scope.handles();
        if handles.is_empty() {
            handles.extend(self.service.only(&origin).await.ok().flatten());
        }
        for handle in handles {
            let reader = self.service.secrets().reader_of(&handle);
            session.follows.called(&reader, &handle);
            // No more participants are known than can be followed.
            let _ = session.follows.subscribe(&reader, &reader.inbox_uri());
        }
    }
}
