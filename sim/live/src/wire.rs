//! HTTP/1.1 over TCP, and over TLS for `https`: a connection is opened on demand, and again after the
//! server closed it.

use std::fmt::Debug;
use std::future::{Future as _, poll_fn};
use std::io;
use std::path::Path;
use std::pin::{Pin, pin};
use std::task::Poll;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{Connection, SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::LiveError;
use super::target::{Door, Target};
#[cfg(feature = "tls")]
use super::tls::Tls;

/// The largest size of an answer in bytes.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// Why no answer was received.
fn why(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A connection in both directions.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Debug + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Debug + Send + Unpin> Duplex for T {}

/// An open connection: its sender, and what drives it.
type Line = (
    SendRequest<Full<Bytes>>,
    Pin<Box<Connection<TokioIo<Box<dyn Duplex>>, Full<Bytes>>>>,
);

/// Opens connections to one target.
#[derive(Debug)]
pub(super) struct Connector {
    doors: Vec<Door>,
    /// For each of them; none for `http`.
    #[cfg(feature = "tls")]
    tls: Vec<Tls>,
}

impl Connector {
    /// A connector to this target. With `https` it trusts the authorities in the file, otherwise
    /// those of the machine.
    ///
    /// # Errors
    /// There are no authorities to trust.
    #[cfg_attr(
        not(feature = "tls"),
        expect(clippy::unnecessary_wraps, reason = "only TLS fails so")
    )]
    pub(super) fn new(target: &Target, authorities: Option<&Path>) -> Result<Self, LiveError> {
        #[cfg(not(feature = "tls"))]
        let _ = authorities;
        #[cfg(feature = "tls")]
        let secured = target.doors().iter().filter(|_| target.is_secure());
        Ok(Self {
            doors: target.doors().to_vec(),
            #[cfg(feature = "tls")]
            tls: secured
                .map(|door| Tls::new(door.name(), authorities))
                .collect::<Result<_, _>>()?,
        })
    }

    /// The number of servers.
    pub(super) const fn doors(&self) -> usize {
        self.doors.len()
    }

    /// The `Host` header for this server.
    pub(super) fn host(&self, door: usize) -> HeaderValue {
        self.doors[door].host.clone()
    }

    /// Opens a connection to this server.
    ///
    /// # Errors
    /// Nothing listens there, or TLS with it is not possible, which is invalid data.
    pub(super) async fn connect(&self, door: usize) -> io::Result<Box<dyn Duplex>> {
        let stream = TcpStream::connect(&self.doors[door].address).await?;
        stream.set_nodelay(true)?;
        #[cfg(feature = "tls")]
        if let Some(tls) = self.tls.get(door) {
            let secured = tls.secure(stream).await;
            let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
            return Ok(Box::new(secured.map_err(wrong)?));
        }
        Ok(Box::new(stream))
    }

    /// Opens a connection to this server for requests.
    ///
    /// # Errors
    /// There is no connection, or no HTTP on it.
    async fn open(&self, door: usize) -> Result<Line, String> {
        let stream = self.connect(door).await.map_err(why)?;
        let opened = handshake(TokioIo::new(stream)).await;
        let (sender, driver) = opened.map_err(why)?;
        Ok((sender, Box::pin(driver)))
    }
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
    lines: Vec<(usize, Line)>,
}

impl Wire {
    /// Sends a request to this server, and reads its whole answer. Drives the connection in this task,
    /// so that no other task has to be woken.
    ///
    /// # Errors
    /// No complete answer was received. Whether the server handled the request is unknown.
    pub(super) async fn exchange(
        &mut self,
        connector: &Connector,
        door: usize,
        mut request: Request<Full<Bytes>>,
    ) -> Result<HttpAnswer, String> {
        let (mut sender, mut driver) = match self.kept(door).await {
            Some(line) => line,
            None => connector.open(door).await?,
        };
        request.headers_mut().insert(HOST, connector.host(door));
        let answered = {
            let mut work = pin!(async {
                let response = sender.send_request(request).await.map_err(why)?;
                let (head, body) = response.into_parts();
                let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await;
                let body = body.map_err(why)?.to_bytes();
                Ok::<_, String>(Response::from_parts(head, body))
            });
            let mut ended = false;
            loop {
                tokio::select! {
                    biased;
                    reply = &mut work => break reply,
                    _ = driver.as_mut(), if !ended => ended = true,
                }
            }
        };
        let answered = answered?;
        self.lines.push((door, (sender, driver)));
        Ok(answered)
    }

    /// The connection of the previous request to this server, unless the server is known to have closed
    /// it.
    async fn kept(&mut self, door: usize) -> Option<Line> {
        let place = self.lines.iter().position(|(to, _)| *to == door)?;
        let (_, mut line) = self.lines.swap_remove(place);
        let driver = &mut line.1;
        let ended = poll_fn(|context| Poll::Ready(driver.as_mut().poll(context).is_ready()));
        (!ended.await).then_some(line)
    }
}

/// Sends a request whose answer is a stream, on its own connection, which ends with the stream.
///
/// # Errors
/// No answer was received.
pub(super) async fn open_stream(
    connector: &Connector,
    door: usize,
    mut request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, String> {
    let (mut sender, driver) = connector.open(door).await?;
    request.headers_mut().insert(HOST, connector.host(door));
    tokio::spawn(driver);
    sender.send_request(request).await.map_err(why)
}
