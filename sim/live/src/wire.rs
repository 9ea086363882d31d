//! One HTTP/1.1 connection: opened on demand, and again after the server closed it.

use std::future::{Future as _, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{Connection, SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;

use super::connector::{ConnectError, Connector, Duplex};

/// The largest size of an answer in bytes.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// No answer was received, for this reason.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct WireError(pub(super) String);

impl WireError {
    fn of(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl From<ConnectError> for WireError {
    fn from(error: ConnectError) -> Self {
        Self::of(error)
    }
}

type Io = TokioIo<Box<dyn Duplex>>;

/// An open connection.
#[derive(Debug)]
struct OpenConnection {
    sender: SendRequest<Full<Bytes>>,
    driver: Pin<Box<Connection<Io, Full<Bytes>>>>,
}

/// A complete answer.
pub(super) type HttpAnswer = Response<Bytes>;

/// The JSON in an answer. For an answer in the form of a stream, the data of the last event that has
/// some.
pub(super) fn json(answer: &HttpAnswer) -> Option<&[u8]> {
    if !is_stream(answer.headers()) {
        return Some(answer.body());
    }
    let lines = answer.body().split(|byte| *byte == b'\n');
    let data = lines.filter_map(|line| line.strip_prefix(b"data:"));
    data.map(<[u8]>::trim_ascii)
        .rfind(|data| data.starts_with(b"{"))
}

/// Whether the content is a stream of events.
pub(super) fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// A connection to each server, which is opened on demand.
#[derive(Debug, Default)]
pub(super) struct Wire {
    /// Those that are open, with the numbers of their servers.
    lines: Vec<(usize, OpenConnection)>,
}

impl Wire {
    /// Sends a request to this server, and reads its whole answer.
    ///
    /// # Errors
    /// No complete answer was received. Whether the server handled the request is unknown.
    pub(super) async fn exchange(
        &mut self,
        connector: &Connector,
        door: usize,
        mut request: Request<Full<Bytes>>,
    ) -> Result<HttpAnswer, WireError> {
        let mut line = match self.kept(door).await {
            Some(line) => line,
            None => OpenConnection::open(connector, door).await?,
        };
        request.headers_mut().insert(HOST, connector.host(door));
        let answered = line.exchange(request).await?;
        self.lines.push((door, line));
        Ok(answered)
    }

    /// The connection of the previous request to this server, if it is still open.
    async fn kept(&mut self, door: usize) -> Option<OpenConnection> {
        let place = self.lines.iter().position(|(to, _)| *to == door)?;
        let (_, mut line) = self.lines.swap_remove(place);
        let ended = line.has_ended().await;
        (!ended).then_some(line)
    }
}

impl OpenConnection {
    async fn open(connector: &Connector, door: usize) -> Result<Self, WireError> {
        let (sender, driver) = connect(connector, door).await?;
        Ok(Self {
            sender,
            driver: Box::pin(driver),
        })
    }

    /// Whether the server is known to have closed it, without waiting.
    async fn has_ended(&mut self) -> bool {
        let driver = &mut self.driver;
        poll_fn(|context| Poll::Ready(driver.as_mut().poll(context).is_ready())).await
    }

    /// Sends a request, and drives the connection in this task, so that no other task has to be
    /// woken.
    async fn exchange(&mut self, request: Request<Full<Bytes>>) -> Result<HttpAnswer, WireError> {
        let Self { sender, driver } = self;
        let mut work = pin!(async move {
            let response = sender.send_request(request).await.map_err(WireError::of)?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await;
            let body = body.map_err(WireError::of)?.to_bytes();
            Ok(Response::from_parts(head, body))
        });
        let mut ended = false;
        loop {
            tokio::select! {
                biased;
                reply = &mut work => return reply,
                _ = driver.as_mut(), if !ended => ended = true,
            }
        }
    }
}

async fn connect(
    connector: &Connector,
    door: usize,
) -> Result<(SendRequest<Full<Bytes>>, Connection<Io, Full<Bytes>>), WireError> {
    let stream = connector.connect(door).await?;
    handshake(TokioIo::new(stream)).await.map_err(WireError::of)
}

/// Sends a request whose answer is a stream, on its own connection, which ends with the stream.
///
/// # Errors
/// No answer was received.
pub(super) async fn open_stream(
    connector: &Connector,
    door: usize,
    mut request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, WireError> {
    let (mut sender, driver) = connect(connector, door).await?;
    request.headers_mut().insert(HOST, connector.host(door));
    tokio::spawn(driver);
    sender.send_request(request).await.map_err(WireError::of)
}
