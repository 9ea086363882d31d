//! Connections to a target: TCP, and TLS over it for `https`.

use std::fmt::Debug;
use std::io;
use std::path::Path;

use hyper::header::HeaderValue;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::LiveError;
use super::target::{Door, Target};
#[cfg(feature = "tls")]
use super::tls::Tls;

/// A connection in both directions.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Debug + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Debug + Send + Unpin> Duplex for T {}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    #[error("{0}")]
    Tcp(#[from] io::Error),
    #[error("{0}")]
    #[cfg_attr(not(feature = "tls"), expect(dead_code, reason = "only TLS fails so"))]
    Tls(String),
}

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
    /// Nothing listens there, or TLS with it is not possible.
    pub(super) async fn connect(&self, door: usize) -> Result<Box<dyn Duplex>, ConnectError> {
        let stream = TcpStream::connect(&self.doors[door].address).await?;
        stream.set_nodelay(true)?;
        #[cfg(feature = "tls")]
        if let Some(tls) = self.tls.get(door) {
            let secured = tls.secure(stream).await.map_err(ConnectError::Tls)?;
            return Ok(Box::new(secured));
        }
        Ok(Box::new(stream))
    }
}
