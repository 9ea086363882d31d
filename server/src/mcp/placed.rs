//! The library's end of a session, with the session's place among all that there may be.
//!
//! The library drops the transport when the session has released everything: not when its end is
//! requested, but when its tasks have ended. So the pool counts exactly the sessions that exist.

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::LocalSessionWorker;
use rmcp::transport::{Transport, WorkerTransport};

use super::session::Place;

/// What the library's own sessions talk over.
type Inner = WorkerTransport<LocalSessionWorker>;

/// A session's messages, and its place.
pub(super) struct Placed {
    inner: Inner,
    /// Dropped last.
    _place: Place,
}

impl Placed {
    /// The messages of the session with this place.
    pub(super) fn new(inner: Inner, place: Place) -> Self {
        Self {
            inner,
            _place: place,
        }
    }
}

impl Transport<RoleServer> for Placed {
    type Error = <Inner as Transport<RoleServer>>::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.inner.receive().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
