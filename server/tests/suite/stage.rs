//! A service in this process whose journal is in memory, the time limit of every wait for it, and the
//! first words of its clients.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use chat_core::{Config, Node};
use serde_json::{Value, json};
use server_chat::driver::{self, Running};
use server_chat::identity::Secrets;
use server_chat::service::Service;
use server_storage::clock::Clock;
use server_storage::journal::MemoryJournal;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

/// The time limit of every wait in these tests. No test waits for it to pass.
pub(crate) const GUARD: Duration = Duration::from_secs(60);

/// Panics when the future takes longer than the time limit.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    let limited = tokio::time::timeout(GUARD, future);
    limited.await.expect("it takes too long")
}

/// A line of a token file.
pub(crate) fn token_line(name: &str, token: &str) -> String {
    let hash = Sha256::digest(token.as_bytes());
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{name} {hex}\n")
}

/// A temporary file with this text, and its path.
pub(crate) fn file_with(text: &str) -> (NamedTempFile, String) {
    let file = NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("room on the disk");
    let path = file.path().to_str().expect("a name in UTF-8").to_owned();
    (file, path)
}

/// What each request of MCP has in its `_meta` that needs no session.
pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {}
    })
}

/// The first request of a client of MCP with sessions.
pub(crate) fn hello(version: &str, capabilities: &Value) -> Value {
    let client = json!({ "name": "test", "version": "1" });
    json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": capabilities, "clientInfo": client
        }
    })
}

/// Starts a service. It ends with its driver.
pub(crate) fn service(config: Config) -> (Service, Running) {
    let journal = Box::new(MemoryJournal::default());
    let node = Node::start(config, 7);
    let (client, running) = driver::start(node, journal, None, Clock::start(), Arc::default());
    (Service::new(client, Secrets::new(&[1; 32])), running)
}
