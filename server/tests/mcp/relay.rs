//! The relay of a client on stdio, in front of a server.

use rmcp::ServiceExt as _;
use serde_json::{Value, json};
use server::relay::{Relay, Upstream};
use server_chat::tools::of_toolsets;
use server_settings::OutputSchemas;
use server_settings::Toolset;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::io::{ReadHalf, WriteHalf};

use crate::http::GUARD;
use crate::world::{SHORT, World};

/// The most bytes between the client and the relay.
const PIPE: usize = 64 * 1_024;

/// A client of a relay, on a pipe.
struct Client {
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl Client {
    async fn of(world: &World) -> Self {
        let upstream = Upstream::at(&format!("http://{}", world.address), None).unwrap();
        let relay = Relay::new(upstream, of_toolsets(Toolset::ALL), OutputSchemas::Listed);
        let (ours, theirs) = tokio::io::duplex(PIPE);
        tokio::spawn(async move {
            let serving = relay.serve(tokio::io::split(theirs)).await.unwrap();
            serving.waiting().await.unwrap();
        });
        let (reader, writer) = tokio::io::split(ours);
        let lines = BufReader::new(reader).lines();
        let mut client = Self { lines, writer };
        client
            .send(json!({
                "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                    "protocolVersion": "2025-11-25", "capabilities": {},
                    "clientInfo": { "name": "test", "version": "1" }
                }
            }))
            .await;
        assert_eq!(client.receive().await["id"], 0);
        client
            .send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .await;
        client
    }

    async fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.writer.write_all(line.as_bytes()).await.unwrap();
    }

    async fn receive(&mut self) -> Value {
        let line = tokio::time::timeout(GUARD, self.lines.next_line());
        let line = line.await.expect("a line").unwrap().expect("a line");
        serde_json::from_str(&line).unwrap()
    }

    async fn begin(&mut self, tool: &str, arguments: Value, meta: Value) {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        self.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }))
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_reaches_the_client_under_its_own_token() {
    let world = World::with(|options| options.progress_every = SHORT).await;
    let mut client = Client::of(&world).await;
    client
        .begin("login", json!({ "username": "Ann" }), json!({}))
        .await;
    assert_eq!(client.receive().await["result"]["isError"], false);
    let wait = json!({ "after": 1, "wait_seconds": 50 });
    client
        .begin("check", wait, json!({ "progressToken": "mine" }))
        .await;
    for _ in 0..2 {
        let said = client.receive().await;
        assert_eq!(said["method"], "notifications/progress", "{said}");
        assert_eq!(said["params"]["progressToken"], "mine");
        assert_eq!(said["params"]["message"], "waiting");
    }
    world.call("login", json!({ "username": "Ben" })).await;
    let answer = loop {
        let said = client.receive().await;
        if said["id"] == 1 {
            break said;
        }
        assert_eq!(said["method"], "notifications/progress", "{said}");
    };
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}
