//! A session's stream of messages: of pushes, or of the answer to one request.

use std::pin::Pin;
use std::task::{Context, Poll};

use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use server_chat::capacity::Reservation;
use tokio_stream::Stream;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::session::Busy;

type Messages = Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>;

/// A stream that notices when its connection is closed before its end.
pub(super) struct SessionStream {
    pub(super) inner: Messages,
    connection: Option<DropGuard>,
    _busy: Busy,
    /// Its part of the pool of streams.
    _held: Option<Reservation>,
}

impl SessionStream {
    /// A stream of a session in use.
    pub(super) fn new(
        inner: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
        busy: Busy,
    ) -> Self {
        Self {
            inner: Box::pin(inner),
            connection: None,
            _busy: busy,
            _held: None,
        }
    }

    /// Makes it cancel this if it is dropped before its end.
    pub(super) fn cancelling(self, connection: CancellationToken) -> Self {
        let connection = Some(connection.drop_guard());
        Self { connection, ..self }
    }

    /// Makes it hold this part of the pool of streams.
    pub(super) fn holding(self, held: Reservation) -> Self {
        let _held = Some(held);
        Self { _held, ..self }
    }
}

impl Stream for SessionStream {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.inner.as_mut().poll_next(context);
        if let Poll::Ready(None) = polled
            && let Some(connection) = self.connection.take()
        {
            connection.disarm();
        }
        polled
    }
}
