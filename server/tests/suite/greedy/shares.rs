//! One source that takes as many of every resource as it can get.

use std::time::{Duration, Instant};

use serde_json::json;
use server_chat::capacity::{LARGE, OPENING};

use crate::greedy::server::start;
use crate::http::tokens::lines;
use crate::process::Server;
use crate::stage::file_with;

/// A server that requires one of these tokens.
fn guarded(tokens: &[&str]) -> (Server, tempfile::NamedTempFile) {
    let (file, path) = file_with(&lines(tokens));
    (start(&["--auth-tokens", &path]), file)
}

/// The session limit, and the number of sessions that each of a few sources opens; together they
/// open more than the limit.
const ALL: u64 = 10_000;
const EACH: usize = 650;

/// The number of those sources.
const SOURCES: usize = 16;

/// The bytes that the rate grants one source in this time, besides its burst. A busy machine is
/// slower than the rate: then no session waits.
fn spent_within(time: Duration) -> u64 {
    let bytes = u128::from(LARGE.per_second) * time.as_nanos() / 1_000_000_000;
    u64::try_from(bytes).expect("a test takes no years")
}

#[test]
fn sessions_of_a_few_tokens_shut_out_no_other() {
    let greedy: Vec<_> = (0..SOURCES).map(|n| format!("greedy {n}")).collect();
    let mut tokens: Vec<_> = greedy.iter().map(|token| &**token).collect();
    tokens.extend(["modest", "late"]);
    let (server, _file) = guarded(&tokens);
    let kept = server.connect_as("modest").initialize();
    let kept = kept.session().to_owned();
    std::thread::scope(|scope| {
        for token in &greedy {
            let server = &server;
            scope.spawn(move || {
                let mut greedy = server.connect_as(token);
                let began = Instant::now();
                for _ in 0..EACH {
                    let answer = greedy.initialize();
                    assert_eq!(answer.status, 200, "a session that is idle gives way");
                }
                let spent = EACH as u64 * OPENING;
                let allowed = LARGE.burst + spent_within(began.elapsed());
                assert!(
                    spent <= allowed,
                    "sessions that are opened fast wait for their turn"
                );
            });
        }
    });
    let figure = |name: &str| server.figure_as("modest", name);
    assert_eq!(figure("held{resource=\"sessions\"}"), ALL);
    for token in ["modest", "late"] {
        let opened = server.connect_as(token).initialize();
        assert_eq!(opened.status, 200, "{token} has fewer than others");
    }
    assert_eq!(figure("held{resource=\"sessions\"}"), ALL);
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    let session = [("Mcp-Session-Id", &*kept)];
    let there = server.connect_as("modest").mcp(&session, &list);
    assert_eq!(there.status, 200);
}

#[test]
fn sessions_hold_nothing_of_what_large_requests_share() {
    let server = start(&[]);
    let mut client = server.connect();
    let capabilities = |values: usize| json!({ "sampling": { "tools": { "x": vec![0; values] } } });
    for _ in 0..50 {
        let opened = client.initialize_with(&capabilities(100));
        assert_eq!(opened.status, 200, "{}", opened.body);
    }
    let held = |resource: &str| server.figure(&format!("held{{resource=\"{resource}\"}}"));
    assert_eq!((held("sessions"), held("request_bytes")), (50, 0));
    let refused = client.initialize_with(&capabilities(300));
    assert_eq!(refused.status, 413, "{}", refused.body);
    assert!(refused.body.contains("49152"), "{}", refused.body);
}
