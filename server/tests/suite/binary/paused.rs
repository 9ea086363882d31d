//! A process that was stopped, and goes on.

use std::time::Duration;

use serde_json::json;

use crate::process::{Connection, Server};

/// Longer than the lease, and than what the server takes for a pause.
const PAUSE: Duration = Duration::from_secs(6);

#[test]
fn a_holder_keeps_the_stick_over_a_pause_of_the_server() {
    let server = Server::start(&["--limit", "stick_lease=5s"]);
    let ann = server.register("Ann", "lobby");
    let claim = server.connect().post("/talking_stick", &ann, &json!({}));
    let (_, claim) = claim.expect("it is answered");
    assert_eq!(claim["status"], "granted", "{claim}");
    server.signal("STOP");
    // A signal arrives a moment later: what is asked then is answered for the last time.
    let mut waiting = Connection::try_open(server.address, PAUSE).expect("it listens");
    while waiting.exchange("GET /healthz", &[], "").is_some() {}
    server.signal("CONT");
    // On a slow machine, the pause may be longer than a connection may be idle.
    let body = json!({ "message": "still mine" });
    let said = server.connect().post("/send", &ann, &body);
    let (status, said) = said.expect("it is answered");
    assert_eq!(status, 200, "{said}");
}
