//! `talking-stick healthcheck`: asks a running server whether it takes calls, for containers, whose
//! images have no other program that could.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use server_settings::os_error::reason;

/// The time limit to connect, and for the whole answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// The longest first line of an answer in bytes.
const MAX_LINE: usize = 1_024;

/// Asks the server that listens on this address.
///
/// # Errors
/// It does not answer; or it answers that it takes no calls, or what no server would say.
pub(crate) fn check(listen: SocketAddr) -> Result<(), String> {
    let at = reached(listen);
    match ask(at) {
        Ok(said) if said.starts_with("HTTP/1.1 200 ") => Ok(()),
        Ok(said) => Err(format!("the server on {at} is not ready: {said:?}")),
        Err(error) => Err(format!(
            "no server answers on {at}: {}; --listen names another address",
            reason(&error)
        )),
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
    let by = Instant::now() + PATIENCE;
    stream.set_write_timeout(Some(PATIENCE))?;
    // The server answers for this host, whatever its names are.
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let (mut answer, mut piece) = (Vec::new(), [0; 256]);
    while !answer.contains(&b'\n') && answer.len() < MAX_LINE {
        let left = by.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece)? {
            0 => break,
            read => answer.extend_from_slice(&piece[..read]),
        }
    }
    let line = answer.split(|byte| *byte == b'\n').next();
    let line = String::from_utf8_lossy(line.unwrap_or_default());
    Ok(line.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    #[test]
    fn a_server_that_answers_byte_by_byte_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let dripping = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // The client says nothing more: each read is over after its time.
            let pause = Some(Duration::from_millis(50));
            stream.set_read_timeout(pause).unwrap();
            let mut rest = [0; 512];
            while stream.write_all(b"H").is_ok() {
                let _ = stream.read(&mut rest);
            }
        });
        let why = check(at).unwrap_err();
        assert!(why.starts_with("no server answers on "), "{why}");
        dripping.join().unwrap();
    }

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
