//! No secret is ever logged: the whole log, at the level `trace`, is searched for secrets.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tracing::subscriber::NoSubscriber;
use tracing_subscriber::fmt::MakeWriter;

use crate::http::tokens::tokens;
use crate::http::world::{Setup, World};
use crate::stage::within;

/// The destination of the log.
#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut log = self.0.lock().expect("nobody panics with it");
        log.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// All that it starts runs on its own thread, whose log is its own.
#[tokio::test]
async fn no_secret_is_ever_logged() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    // While there is one subscriber, a line of the log that another test's thread meets first is turned off
    // for all: that thread has none.
    let _second = tracing::Dispatch::new(NoSubscriber::default());
    let _logging = tracing::subscriber::set_default(subscriber);
    let mut setup = Setup::free();
    setup.guard.tokens = Some(tokens(&["token-of-a-user"]));
    setup.guard.operators = Some(tokens(&["token-of-the-boss"]));
    setup.http.operators = true;
    let world = World::start(setup).await;
    let mut client = world.client().await;
    let bearer = ("Authorization", "Bearer token-of-a-user");
    let json_type = ("Content-Type", "application/json");
    let body = json!({ "username": "Ann", "request_key": "kJ3v9QmX2hTz7pLw8RbYcA" }).to_string();
    let headers = [bearer, json_type];
    let answer = client
        .request("POST", "/register", &headers, body.as_bytes())
        .await;
    let text = |field: &str| answer.json()[field].as_str().unwrap().to_owned();
    let (handle, reader) = (text("handle"), text("reader_id"));
    let with_handle = [bearer, json_type, ("Chat-Handle", &*handle)];
    for (path, body) in [
        ("/send", "{\"message\":\"hi\"}"),
        ("/send", "{\"mess"),
        ("/reconnect", "{}"),
        ("/check_event", "{\"delay\":0}"),
        ("/tools/history", "{}"),
    ] {
        client
            .request("POST", path, &with_handle, body.as_bytes())
            .await;
    }
    for path in [
        format!("/events?reader={reader}x"),
        format!("/events?handle={handle}"),
        format!("/nowhere/{handle}"),
        format!("/tools/{handle}"),
    ] {
        client.request("GET", &path, &headers, b"").await;
    }
    let path = format!("/events?reader={reader}");
    let stream = world.client().await.events(&path, &[bearer]).await;
    drop(stream);
    let boss = [("Authorization", "Bearer token-of-the-boss"), json_type];
    client.request("POST", "/session", &boss, b"").await;
    client
        .request("GET", "/admin/participants", &boss, b"")
        .await;
    let by = std::time::Instant::now() + std::time::Duration::from_secs(10);
    world.closing.cancel();
    world.service.node().stop(by);
    within(world.running.ended()).await.unwrap();
    let log = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(log.contains("server::listener"), "{log}");
    let key = "kJ3v9QmX2hTz7pLw8RbYcA";
    for secret in [
        &*handle,
        &*reader,
        key,
        "token-of-a-user",
        "token-of-the-boss",
    ] {
        assert!(!log.contains(secret), "{secret} is in the log:\n{log}");
    }
}
