//! A request that may open a session: its caller, and why it was refused.
//!
//! The library opens sessions, and takes them up again, without their caller, and has one error for
//! all failures. So both are passed beside it, in the task that serves the request.

use std::sync::{Arc, Mutex};

use axum::http::request::Parts;
use axum::response::Response;
use rmcp::model::{ClientCapabilities, ProtocolVersion};
use server_chat::refusal::Refusal;
use server_chat::service::RequestOrigin;
use server_storage::lock;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit};
use tokio::task_local;

use super::listing;
use super::sessions::SessionError;

task_local! {
    static OPENING: Arc<Opening>;
}

/// The turn to open one, held until the answer.
#[derive(Debug, Default)]
pub(super) struct Opening {
    pub(super) caller: RequestOrigin,
    /// Whether the client declares that it takes events.
    pub(super) takes_events: bool,
    /// The protocol version in the header, for a session that is taken up again.
    pub(super) version: ProtocolVersion,
    /// The permit to open a session, until the request is answered.
    pub(super) turn: Mutex<Option<OwnedSemaphorePermit>>,
    /// Why no session was opened.
    pub(super) refused: Mutex<Option<Refusal>>,
    /// The turn to take a session up again, until that is done, or the request is over.
    pub(super) taking_up: Mutex<Option<OwnedMutexGuard<()>>>,
}

impl Opening {
    /// Creates the opening of a request.
    pub(super) fn of(caller: RequestOrigin, head: &Parts, body: &[u8]) -> Arc<Self> {
        let version = head.headers.get("mcp-protocol-version");
        let version = version.and_then(|version| version.to_str().ok());
        // As the library reads requests without the header.
        let version = version.map_or(Ok(ProtocolVersion::V_2025_03_26), |version| {
            serde_json::from_value(version.into())
        });
        Arc::new(Self {
            caller,
            takes_events: opens(head) && declares_events(body),
            version: version.unwrap_or_default(),
            ..Self::default()
        })
    }

    /// Whether a request is served in this task.
    pub(super) fn is_in_request() -> bool {
        OPENING.try_with(|_| ()).is_ok()
    }

    /// The opening of the current task; an empty one outside of a request.
    pub(super) fn current() -> Arc<Self> {
        OPENING.try_with(Arc::clone).unwrap_or_default()
    }

    /// Serves the request.
    pub(super) async fn serve(self: &Arc<Self>, work: impl Future<Output = Response>) -> Response {
        OPENING.scope(Arc::clone(self), work).await
    }

    /// What a session or a stream is granted. The answer to the request says why it is not.
    pub(super) fn granted<T>(&self, granted: Result<T, Refusal>) -> Result<T, SessionError> {
        granted.map_err(|refusal| {
            *lock(&self.refused) = Some(refusal);
            SessionError::Full
        })
    }
}

/// Whether a request may open a session: it has none, and is not of the era without sessions.
fn opens(head: &Parts) -> bool {
    let has = |name: &str| head.headers.contains_key(name);
    !has("mcp-session-id") && !has("mcp-method")
}

/// Whether the client declares in this opening request that it takes events.
fn declares_events(body: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Hello {
        params: Params,
    }
    #[derive(serde::Deserialize)]
    struct Params {
        capabilities: ClientCapabilities,
    }
    let hello = serde_json::from_slice::<Hello>(body);
    hello.is_ok_and(|hello| listing::takes_events(&hello.params.capabilities))
}
