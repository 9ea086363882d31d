//! The library's transport of a session, with the session's place in the pool.
//!
//! The library drops the transport when the tasks of the session have ended, and not when its end
//! is requested. So the pool counts exactly the existing sessions.

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::LocalSessionWorker;
use rmcp::transport::{Transport, WorkerTransport};

use super::session::Place;

/// The library's own transport.
type Inner = WorkerTransport<LocalSessionWorker>;

/// A session's transport with its place.
pub(super) struct PooledTransport {
    inner: Inner,
    /// Dropped last.
    _place: Place,
}

impl PooledTransport {
    /// Wraps a transport with this place.
    pub(super) fn new(inner: Inner, place: Place) -> Self {
        Self {
            inner,
            _place: place,
        }
    }
}

impl Transport<RoleServer> for PooledTransport {
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
