//! TLS: the authorities that are trusted, and in plain words what is wrong with a certificate.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls_native_certs::load_native_certs;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{CertificateError, ClientConfig, Error, RootCertStore};

use super::LiveError;

/// The one protocol over TLS that the caller speaks; a proxy could choose another.
const HTTP_1_1: &[u8] = b"http/1.1";

/// The advice for a server without TLS.
const PERHAPS_HTTP: &str = "if it speaks plain http, write http://";

/// TLS with one server.
pub(super) struct Tls {
    connector: TlsConnector,
    name: ServerName<'static>,
    /// The file of trusted authorities; none if the machine's are trusted.
    authorities: Option<PathBuf>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("name", &self.name).finish()
    }
}

impl Tls {
    /// TLS with the server of this name. Only the authorities in the file are trusted, if there is
    /// one; otherwise those of the machine.
    ///
    /// # Errors
    /// There are no authorities to trust, or the name is none.
    pub(super) fn new(name: &str, authorities: Option<&Path>) -> Result<Self, LiveError> {
        let roots = match authorities {
            Some(path) => of_file(path).map_err(|why| format!("{}: {why}", path.display())),
            None => of_machine(),
        };
        let wrong = |why: String| LiveError::Option(format!("--ca: {why}"));
        let roots = roots.map_err(wrong)?;
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(error.to_string()))?;
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![HTTP_1_1.to_vec()];
        let server = ServerName::try_from(name.to_owned());
        Ok(Self {
            connector: TlsConnector::from(Arc::new(config)),
            name: server.map_err(|_| wrong(format!("no host is `{name}`")))?,
            authorities: authorities.map(Path::to_owned),
        })
    }

    /// Secures a connection.
    ///
    /// # Errors
    /// What is wrong with the server or its certificate.
    pub(super) async fn secure(&self, stream: TcpStream) -> Result<TlsStream<TcpStream>, String> {
        let secured = self.connector.connect(self.name.clone(), stream).await;
        secured.map_err(|error| self.explain(&error))
    }

    fn explain(&self, error: &io::Error) -> String {
        let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
        match cause {
            Some(Error::InvalidCertificate(why)) => self.explain_certificate(why),
            Some(Error::InvalidMessage(_)) => {
                format!("the server there does not speak TLS\n  {PERHAPS_HTTP}")
            }
            None if error.kind() == io::ErrorKind::UnexpectedEof => format!(
                "the server there ends the connection, as one that does not speak TLS\n  \
                 {PERHAPS_HTTP}"
            ),
            Some(Error::AlertReceived(alert)) => {
                format!("the server there ends it: {alert:?}\n  see the log of the server")
            }
            Some(_) | None => error.to_string(),
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "people rarely see the others, and the library names them"
    )]
    fn explain_certificate(&self, why: &CertificateError) -> String {
        let name = self.name.to_str();
        match why {
            CertificateError::UnknownIssuer => match &self.authorities {
                None => "this machine does not trust the authority that signed the certificate\n  \
                         give a file with that authority's certificate: --ca FILE.pem"
                    .to_owned(),
                Some(path) => format!(
                    "no authority in {} signed the certificate\n  give the file of the authority \
                     that did to --ca",
                    path.display()
                ),
            },
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the certificate has expired\n  renew it, or look whether this machine's clock is \
                 right"
                    .to_owned()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "the certificate is not valid yet\n  look whether this machine's clock is right"
                    .to_owned()
            }
            CertificateError::NotValidForName => format!(
                "the certificate is not for {name}\n  write a name that the certificate has in \
                 --target"
            ),
            CertificateError::NotValidForNameContext { presented, .. } => format!(
                "the certificate is not for {name}, but for {}\n  write a name that the \
                 certificate has in --target",
                names(presented)
            ),
            // The library's own kinds have no public type.
            CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
                "the certificate is one of an authority, which serves no host\n  make it with \
                 basicConstraints=CA:FALSE, or sign another with it"
                    .to_owned()
            }
            other => format!("the certificate is invalid: {other}"),
        }
    }
}

/// The names of a certificate, as the library prints them: `DnsName("a.example")`.
fn names(presented: &[String]) -> String {
    let bare = presented.iter().map(|name| {
        let quoted = name.split('"').nth(1);
        quoted.unwrap_or(name)
    });
    let bare: Vec<&str> = bare.collect();
    match bare.is_empty() {
        true => "no host".to_owned(),
        false => bare.join(", "),
    }
}

/// The authorities in a file of PEM.
fn of_file(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(path).map_err(|error| error.to_string())?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    match roots.is_empty() {
        true => Err("it has no certificate in PEM (-----BEGIN CERTIFICATE-----)".to_owned()),
        false => Ok(roots),
    }
}

/// The authorities that the machine trusts.
fn of_machine() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let loaded = load_native_certs();
    roots.add_parsable_certificates(loaded.certs);
    match roots.is_empty() {
        true => Err("this machine trusts no authority: give a file of some".to_owned()),
        false => Ok(roots),
    }
}
