//! The ids of sessions: random, and signed with the server's secret, so that a session that this
//! process does not know can be taken up again: after a restart, at another member of a cluster, or
//! after it gave way. Nothing of a session is stored.
//!
//! An id is `p` or `e`, a random part, and the signature. `e` says that the client takes events. The
//! signature is also of the token's owner, whose other tokens are valid for the session, too.

use std::collections::VecDeque;
use std::sync::Mutex;

use rmcp::model::{ClientCapabilities, Implementation, InitializeRequestParams, JsonObject};
use rmcp::transport::streamable_http_server::session::{
    SessionId, SessionState, SessionStore, SessionStoreError,
};
use server_chat::identity::Secrets;
use server_storage::lock;

use super::listing::EVENTS;
use super::opening::Opening;

/// The most ended sessions whose ids are known as such.
const MAX_ENDED: usize = 4_096;

/// The first characters of ids.
const TAKES_EVENTS: char = 'e';
const TAKES_NONE: char = 'p';

/// The length of the first character and the random part.
const UNSIGNED: usize = 1 + 22;

/// The ids of a realm's sessions.
pub(super) struct SessionIds {
    secrets: Secrets,
    /// The sessions that their clients ended, the last ones at the end. They are not taken up again.
    ended: Mutex<VecDeque<SessionId>>,
}

impl SessionIds {
    pub(super) fn new(secrets: &Secrets) -> Self {
        let (secrets, ended) = (secrets.clone(), Mutex::default());
        Self { secrets, ended }
    }

    /// An id for the session that this request opens.
    pub(super) fn draw(&self, opening: &Opening) -> Result<SessionId, getrandom::Error> {
        let kind = if opening.takes_events {
            TAKES_EVENTS
        } else {
            TAKES_NONE
        };
        let unsigned = format!("{kind}{}", Secrets::random_text()?);
        Ok(self.signed(&unsigned, opening).into())
    }

    fn signed(&self, unsigned: &str, opening: &Opening) -> String {
        let owner = opening.caller.token.as_ref().and_then(|scope| scope.id());
        let owner = owner.as_deref().unwrap_or_default();
        format!(
            "{unsigned}{}",
            self.secrets.session_signature(unsigned, owner)
        )
    }

    /// Whether this is the id of a session of the caller, which its client did not end.
    pub(super) fn is_valid(&self, id: &str, opening: &Opening) -> bool {
        let owner = opening.caller.token.as_ref();
        if owner.is_some_and(|owner| !owner.is_open()) {
            return false;
        }
        let unsigned = id.get(..UNSIGNED);
        // Who guesses an id needs as many attempts as for a handle, so the time may tell.
        unsigned.is_some_and(|unsigned| self.signed(unsigned, opening) == id)
            && !lock(&self.ended).iter().any(|ended| **ended == *id)
    }
}

#[async_trait::async_trait]
impl SessionStore for SessionIds {
    /// The state of a session that this process does not know.
    async fn load(&self, id: &str) -> Result<Option<SessionState>, SessionStoreError> {
        let opening = Opening::current();
        if !self.is_valid(id, &opening) {
            return Ok(None);
        }
        let mut capabilities = ClientCapabilities::default();
        if id.starts_with(TAKES_EVENTS) {
            capabilities.experimental = Some([(EVENTS.to_owned(), JsonObject::new())].into());
        }
        let client = Implementation::new("taken up again", "");
        let hello = InitializeRequestParams::new(capabilities, client);
        let hello = hello.with_protocol_version(opening.version.clone());
        Ok(Some(SessionState::new(hello)))
    }

    async fn store(&self, _: &str, _: &SessionState) -> Result<(), SessionStoreError> {
        Ok(())
    }

    /// Records that its client ended a session.
    async fn delete(&self, id: &str) -> Result<(), SessionStoreError> {
        if self.is_valid(id, &Opening::current()) {
            let mut ended = lock(&self.ended);
            if ended.len() >= MAX_ENDED {
                ended.pop_front();
            }
            ended.push_back(id.into());
        }
        Ok(())
    }
}
