//! Taking a session up again that this process does not have: by one request, while others with its id
//! wait until its handshake is over.

use std::sync::Arc;

use rmcp::transport::streamable_http_server::session::SessionId;
use server_chat::capacity::MAX_WAIT;

use super::opening::Opening;
use super::session::Session;
use super::sessions::Sessions;

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
            let turn = self.taking_up.take(Arc::clone(id)).await;
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
        let mut origin = Opening::current().caller.clone();
        origin.scope = Some(Arc::clone(&session.scope));
        self.service.take_up(&session.scope, origin.address).await;
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
