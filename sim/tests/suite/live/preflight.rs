//! Targets that no run can start against: each is found before the first user starts, in every
//! protocol, and the refusal says what is wrong.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener};
use std::thread;

use super::fake_server::{FakeServer, Fault};
use super::{PAIRS, sim};

const PROTOCOLS: [&str; 3] = ["2026-07-28", "2025-11-25", "http"];

/// The refusal of a run against this target.
fn refusal(target: &str, protocol: &str) -> String {
    let ran = sim(PAIRS, target, &format!("--protocol {protocol}"));
    assert_eq!(ran.code, Some(4), "{protocol}: {}", ran.told());
    ran.told()
}

/// A program that answers each connection with this, and closes it. Returns its address.
fn answers(with: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it has one");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                // Errors of a connection do not matter.
                let _ = stream.read(&mut [0; 4_096]);
                let _ = stream.write_all(with);
                let _ = stream.shutdown(Shutdown::Write);
                // Unread bytes would reset the connection before the answer is read.
                let _ = stream.read_to_end(&mut Vec::new());
            });
        }
    });
    format!("http://{address}")
}

#[test]
fn a_program_that_does_not_speak_http_is_named() {
    let target = answers(b"SSH-2.0-OpenSSH_9.9\r\n");
    for protocol in PROTOCOLS {
        let told = refusal(&target, protocol);
        assert!(told.contains("does not answer HTTP"), "{told}");
    }
}

#[test]
fn a_web_server_without_a_chat_is_named_by_its_answer() {
    let page = b"HTTP/1.1 404 Not Found\r\ncontent-type: text/html\r\ncontent-length: 4\r\n\
        connection: close\r\n\r\ngone";
    let target = answers(page);
    for protocol in PROTOCOLS {
        let told = refusal(&target, protocol);
        assert!(told.contains("404 Not Found"), "{told}");
        assert!(told.contains("--protocol"), "{told}");
    }
}

#[test]
fn a_port_for_tls_is_named() {
    for page in [
        &b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"[..],
        b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n\
          The plain HTTP request was sent to HTTPS port</center>",
    ] {
        let target = answers(page);
        for protocol in PROTOCOLS {
            let told = refusal(&target, protocol);
            assert!(told.contains("speaks TLS: write https://"), "{told}");
        }
    }
}

#[test]
fn a_path_where_the_server_has_nothing_is_named() {
    let page =
        b"HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 64\r\n\
        connection: close\r\n\r\n\
        {\"error\":{\"code\":\"not_found\",\"message\":\"there is nothing here\"}}";
    let target = answers(page);
    for protocol in PROTOCOLS {
        let told = refusal(&target, protocol);
        let is_named = told.contains("404 Not Found") || told.contains("nothing here");
        assert!(is_named, "{told}");
    }
}

#[test]
fn a_barred_address_is_named() {
    let page = b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let target = answers(page);
    for protocol in PROTOCOLS {
        assert!(refusal(&target, protocol).contains("has banned it"));
    }
    let server = FakeServer::start(Fault::Bars);
    let told = refusal(&server.target(), "http");
    assert!(told.contains("has banned it"), "{told}");
    assert_eq!(server.people(), (0, 0), "nobody was registered");
}
