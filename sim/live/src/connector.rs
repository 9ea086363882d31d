//! Connections to a target: TCP, and TLS over it for `https`.

use std::fmt::Debug;
use std::io;
use std::path::Path;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::LiveError;
use super::target::Target;
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
    address: String,
    /// None for `http`.
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
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
        Ok(Self {
            address: target.address().to_owned(),
            #[cfg(feature = "tls")]
            tls: match target.is_secure() {
                true => Some(Tls::new(target.name(), authorities)?),
                false => None,
            },
        })
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// Nothing listens there, or TLS with it is not possible.
    pub(super) async fn connect(&self) -> Result<Box<dyn Duplex>, ConnectError> {
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            let secured = tls.secure(stream).await.map_err(ConnectError::Tls)?;
            return Ok(Box::new(secured));
        }
        Ok(Box::new(stream))
    }
}
