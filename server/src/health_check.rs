//! `talking-stick healthcheck`: asks a running server whether it takes calls, for containers, whose
//! images have no other program that could.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use server_settings::os_error::reason;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::time::timeout;

/// The time limit to connect and to answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// The longest first line of an answer in bytes.
const MAX_LINE: u64 = 1_024;

/// Asks the server that listens on this address. To who connects, that of all interfaces is this machine.
///
/// # Errors
/// It does not answer; or it answers that it takes no calls, or what no server would say.
pub(crate) fn check(at: SocketAddr) -> Result<(), String> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let asked = runtime.and_then(|runtime| {
        let answer = runtime.block_on(async { timeout(PATIENCE, ask(at)).await });
        answer.unwrap_or_else(|late| Err(late.into()))
    });
    match asked {
        Ok(said) if said.starts_with("HTTP/1.1 200 ") => Ok(()),
        Ok(said) => Err(format!("the server on {at} is not ready: {said:?}")),
        Err(error) => Err(format!(
            "no server answers on {at}: {}; --listen names another address",
            reason(&error)
        )),
    }
}

/// The first line of the answer.
async fn ask(at: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect(at).await?;
    // The server answers for this host, whatever its names are.
    let request = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request).await?;
    let mut line = Vec::new();
    let mut answer = BufReader::new(stream.take(MAX_LINE));
    answer.read_until(b'\n', &mut line).await?;
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
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
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let at = listener.local_addr().unwrap();
        let ready = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut [0; 8]).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\n").unwrap();
            let _ = stream.read(&mut [0; 512]);
        });
        assert_eq!(check(at), Ok(()));
        ready.join().unwrap();
    }
}
