//! `talking-stick healthcheck`: asks a running server whether it takes calls, for containers, whose
//! images have no other program that could.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

use server_settings::os_error::reason;

/// The time limit of each step.
const PATIENCE: Duration = Duration::from_secs(3);

/// The longest first line of an answer in bytes.
const MAX_LINE: u64 = 1_024;

/// Why a server is not ready.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HealthError {
    /// There is no answer.
    #[error(
        "no server answers on {at}: {}; --listen names another address",
        reason(error)
    )]
    Silent {
        /// The address.
        at: SocketAddr,
        /// The cause.
        error: std::io::Error,
    },
    /// It answers that it takes no calls, or what no server would say.
    #[error("the server on {at} is not ready: {said:?}")]
    NotReady {
        /// The address.
        at: SocketAddr,
        /// The first line of its answer.
        said: String,
    },
}

/// Asks the server that listens on this address.
///
/// # Errors
/// It does not answer, or is not ready.
pub(crate) fn check(listen: SocketAddr) -> Result<(), HealthError> {
    let at = reached(listen);
    let said = ask(at).map_err(|error| HealthError::Silent { at, error })?;
    match said.starts_with("HTTP/1.1 200 ") {
        true => Ok(()),
        false => Err(HealthError::NotReady { at, said }),
    }
}

/// The address at which this machine reaches a server that listens there.
fn reached(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
    };
    SocketAddr::new(ip, listen.port())
}

/// The first line of the answer.
fn ask(at: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&at, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // The server answers for this host, whatever its names are.
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut line = Vec::new();
    let answer = std::io::Read::take(stream, MAX_LINE);
    BufReader::new(answer).read_until(b'\n', &mut line)?;
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_all_addresses_is_reached_on_this_machine() {
        for (listen, at) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("10.0.0.1:80", "10.0.0.1:80"),
        ] {
            let at: SocketAddr = at.parse().unwrap();
            assert_eq!(reached(listen.parse().unwrap()), at);
        }
    }
}
