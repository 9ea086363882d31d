//! One source that takes as many of everything as it can get.

use std::io::Write as _;

use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::server::Server;

/// A server whose callers need one of these tokens.
fn guarded(tokens: &[&str]) -> (Server, tempfile::NamedTempFile) {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    for (n, token) in tokens.iter().enumerate() {
        let hash = Sha256::digest(token.as_bytes());
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(file, "name{n} {hex}").expect("room on the disk");
    }
    let path = file.path().to_str().expect("a name in UTF-8").to_owned();
    (Server::start(&["--auth-tokens", &path]), file)
}

/// As many as one source may have.
const SHARE: usize = 2_500;

#[test]
fn sessions_of_one_token_shut_out_no_other() {
    let (server, _file) = guarded(&["greedy", "modest"]);
    let mut modest = server.connect_with("modest");
    let kept = modest.initialize();
    let kept = kept.session.expect("a session");
    let mut greedy = server.connect_with("greedy");
    let first = greedy.initialize().session.expect("a session");
    for _ in 0..SHARE + 500 {
        let answer = greedy.initialize();
        assert_eq!(answer.status, 200, "its own longest idle session gives way");
    }
    let held = server.figure_with("held{resource=\"sessions\"}", "modest");
    assert_eq!(held, SHARE as u64 + 1);
    let waited = server.figure_with("large_requests_waited_total", "modest");
    assert!(
        waited > 0,
        "sessions that are opened fast wait for their turn"
    );
    let mut modest = server.connect_with("modest");
    assert_eq!(modest.initialize().status, 200);
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    let gone = greedy.mcp(&[("Mcp-Session-Id", &*first)], &list);
    assert_eq!(gone.status, 404);
    assert_eq!(modest.mcp(&[("Mcp-Session-Id", &*kept)], &list).status, 200);
}
