//! Targets with `https`: a proxy that ends TLS stands before the server, with certificates of its
//! own.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

use super::fake_server::{FakeServer, Fault};
use super::{PAIRS, ended, sim};
use crate::{Folder, Ran};

type Issuer = CertifiedIssuer<'static, KeyPair>;

/// A certificate with its key.
type Certified = (CertificateDer<'static>, KeyPair);

/// An authority, and the file of its certificate.
struct Authority {
    issuer: Issuer,
    folder: TempDir,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        let issuer = Issuer::self_signed(params, key).expect("a certificate of it");
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let authority = Self { issuer, folder };
        fs::write(authority.file(), authority.issuer.pem()).expect("room in it");
        authority
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    fn signs(&self, params: &CertificateParams) -> Certified {
        let key = KeyPair::generate().expect("a key");
        let signed = params.signed_by(&key, &self.issuer);
        (signed.expect("a certificate of it").der().clone(), key)
    }
}

fn params(name: &str) -> CertificateParams {
    CertificateParams::new([name.to_owned()]).expect("a name")
}

/// The longest time that a connection is read before the other is.
const TURN: Duration = Duration::from_millis(2);

/// A proxy that ends TLS.
struct Proxy {
    address: SocketAddr,
    secured: Arc<AtomicU64>,
}

impl Proxy {
    fn start(server: SocketAddr, (certificate, key): Certified) -> Self {
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("it is PKCS #8");
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider has them")
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .expect("the key is that of the certificate");
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it has one");
        let secured = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&secured);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (config, count) = (Arc::clone(&config), Arc::clone(&count));
                // An error of a connection does not matter.
                thread::spawn(move || forward(client, server, config, &count));
            }
        });
        Self { address, secured }
    }

    fn target(&self, name: &str) -> String {
        format!("https://{name}:{}", self.address.port())
    }
}

/// Forwards one connection until one side closes it.
fn forward(
    mut client: TcpStream,
    server: SocketAddr,
    config: Arc<ServerConfig>,
    secured: &AtomicU64,
) -> io::Result<()> {
    let mut tls = ServerConnection::new(config).map_err(io::Error::other)?;
    while tls.is_handshaking() {
        tls.complete_io(&mut client)?;
    }
    secured.fetch_add(1, Ordering::Relaxed);
    let mut server = TcpStream::connect(server)?;
    for socket in [&client, &server] {
        socket.set_read_timeout(Some(TURN))?;
        socket.set_nodelay(true)?;
    }
    let mut client = StreamOwned::new(tls, client);
    while pass(&mut client, &mut server)? && pass(&mut server, &mut client)? {}
    Ok(())
}

/// Passes on what is there. Returns whether the sender may have more.
fn pass(from: &mut impl Read, to: &mut impl Write) -> io::Result<bool> {
    let mut buffer = [0; 16_384];
    use ErrorKind::{TimedOut, WouldBlock};
    let length = match from.read(&mut buffer) {
        Err(error) if matches!(error.kind(), WouldBlock | TimedOut) => return Ok(true),
        read => read?,
    };
    to.write_all(&buffer[..length])?;
    to.flush()?;
    Ok(length > 0)
}

/// A run against this target, which trusts these authorities.
fn run(target: &str, authorities: &Path, words: &str) -> Ran {
    let file = authorities.display();
    let words = format!("--protocol http --ca {file} {words}");
    sim(PAIRS, target, &words)
}

#[test]
fn users_talk_through_a_proxy_whose_authority_is_trusted() {
    let (server, authority) = (FakeServer::start(Fault::None), Authority::new("ours"));
    let proxy = Proxy::start(server.address, authority.signs(&params("localhost")));
    let ran = run(&proxy.target("localhost"), &authority.file(), "--json -");
    ended(&ran, 0, &[]);
    let result = ran.json();
    assert_eq!(result["live"]["requests"]["failed"], 0, "{result:#}");
    assert!(result["properties"]["no_lost_messages"]["held"] == true);
    let repeat = result["repro"]["command"].as_str().expect("a command");
    let file = format!("--ca {}", authority.file().display());
    assert!(repeat.contains(&file), "{repeat}");
    assert!(server.streams() > 0);
    assert!(proxy.secured.load(Ordering::Relaxed) > server.streams());
}

/// Runs with this file in place of the machine's own list of authorities.
fn on_a_machine_that_trusts(authority: &Authority, target: &str) -> Ran {
    let mut sim = Command::new(env!("CARGO_BIN_EXE_sim"));
    sim.args(["a.yaml", "--target", target, "--protocol", "http"])
        .env("SSL_CERT_FILE", authority.file())
        .env_remove("SSL_CERT_DIR");
    Folder::with(PAIRS).run(&mut sim)
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_file_the_authorities_of_the_machine_are_trusted() {
    let server = FakeServer::start(Fault::None);
    let (known, other) = (Authority::new("known"), Authority::new("other"));
    let proxy = Proxy::start(server.address, known.signs(&params("localhost")));
    let target = proxy.target("localhost");
    ended(&on_a_machine_that_trusts(&known, &target), 0, &[]);
    let says = ["this machine does not trust", "--ca FILE.pem"];
    ended(&on_a_machine_that_trusts(&other, &target), 4, &says);
}

#[test]
fn what_is_wrong_with_a_certificate_is_said_with_what_to_do() {
    let server = FakeServer::start(Fault::None);
    let (ours, other) = (Authority::new("ours"), Authority::new("other"));
    let mut expired = params("localhost");
    expired.not_after = date_time_ymd(2_020, 1, 1);
    let mut later = params("localhost");
    later.not_before = date_time_ymd(4_000, 1, 1);
    let mut authority = params("localhost");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let elsewhere = params("chat.example.org");
    let for_another = "is not for localhost, but for chat.example.org";
    let is_authority = "is one of an authority";
    for (signs, params, said, advice) in [
        (&ours, expired, "has expired", "renew it"),
        (&ours, later, "is not valid yet", "clock"),
        (&ours, elsewhere, for_another, "--target"),
        (
            &other,
            params("localhost"),
            "signed the certificate",
            "--ca",
        ),
        (&ours, authority, is_authority, "basicConstraints=CA:FALSE"),
    ] {
        let proxy = Proxy::start(server.address, signs.signs(&params));
        let ran = run(&proxy.target("localhost"), &ours.file(), "");
        ended(&ran, 4, &[said, advice]);
    }
    assert_eq!(server.people(), (0, 0), "nobody was registered");
}

#[test]
fn a_server_without_tls_is_named() {
    let (server, ours) = (FakeServer::start(Fault::None), Authority::new("ours"));
    let target = format!("https://localhost:{}", server.address.port());
    let ran = run(&target, &ours.file(), "");
    ended(&ran, 4, &["does not speak TLS", "http://"]);
}

#[test]
fn a_file_without_authorities_is_a_mistake_of_the_command_line() {
    let ours = Authority::new("ours");
    let file = ours.folder.path().join("empty.pem");
    fs::write(&file, "no certificate\n").expect("room");
    let missing = ours.folder.path().join("missing.pem");
    for file in [file, missing] {
        let named = format!("--ca: {}", file.display());
        ended(&run("https://localhost:1", &file, ""), 2, &[&named]);
    }
    let ran = run("http://localhost:1", &ours.file(), "");
    ended(&ran, 2, &["--ca is for a target with https"]);
}
