//! What the server costs a model, in bytes, as `docs/agents.md` says it.

use std::fmt::Write as _;

use serde_json::{Value, json};
use server_chat::metrics::Exposition;

use crate::mcp::world::{Session, World, text};

const DOCS: &str = include_str!("../../../../docs/agents.md");

/// Fails with the table to paste, unless the documentation has it.
fn assert_documented(table: &str) {
    assert!(
        DOCS.contains(table),
        "docs/agents.md must have this table:\n\n{table}"
    );
}

fn thousands(bytes: usize) -> String {
    match bytes {
        0..1_000 => bytes.to_string(),
        _ => format!("{},{:03}", bytes / 1_000, bytes % 1_000),
    }
}

async fn listed(world: &World) -> Vec<Value> {
    let session = Session::open(world).await;
    let answer = session.ask("tools/list", json!({})).await;
    answer["result"]["tools"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_tools_costs_what_the_documentation_says() {
    let world = World::start().await;
    let mut table = "| tool | description and arguments |\n|---|--:|\n".to_owned();
    let mut all = 0;
    for tool in listed(&world).await {
        let bytes = tool.to_string().len();
        all += bytes;
        let name = tool["name"].as_str().unwrap();
        writeln!(table, "| `{name}` | {} |", thousands(bytes)).unwrap();
    }
    writeln!(table, "| all | {} |", thousands(all)).unwrap();
    assert_documented(&table);
}

/// The bytes of an agent's answers.
#[derive(Default)]
struct Spent {
    calls: usize,
    text: usize,
    json: usize,
}

/// An agent, and what its answers cost.
struct Agent<'a> {
    session: Session<'a>,
    spent: Spent,
}

impl<'a> Agent<'a> {
    async fn of(world: &'a World) -> Self {
        Self {
            session: Session::open(world).await,
            spent: Spent::default(),
        }
    }

    async fn ok(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.session.call(tool, arguments).await;
        assert_eq!(result["isError"], false, "{result}");
        self.spent.calls += 1;
        self.spent.text += text(&result).len();
        self.spent.json += result["structuredContent"].to_string().len();
        result["structuredContent"].clone()
    }

    async fn check(&mut self) {
        self.ok("check", json!({ "wait_seconds": 0 })).await;
    }
}

/// Words of a usual length.
const WORDS: &str = "I would begin with the parser, because the errors of the other parts depend on it, and then \
     measure again.";

/// Each says five things in turn.
async fn pair(world: &World) -> Spent {
    let (mut ann, mut ben) = (Agent::of(world).await, Agent::of(world).await);
    ann.ok("enter_queue", json!({ "display_name": "Ann" }))
        .await;
    ben.ok("enter_queue", json!({ "display_name": "Ben" }))
        .await;
    ann.check().await;
    let found = ben.ok("check", json!({ "wait_seconds": 20 })).await;
    let say = json!({ "room_id": found["events"][0]["room_id"], "message": WORDS });
    for _ in 0..5 {
        ann.check().await;
        ann.ok("send_message", say.clone()).await;
        ben.check().await;
        ben.ok("send_message", say.clone()).await;
    }
    ann.check().await;
    ann.ok("leave_chat", json!({})).await;
    ann.spent
}

/// Four agents in a room with the stick.
async fn four(world: &World) -> Vec<Agent<'_>> {
    let mut agents = Vec::new();
    for name in ["Ann", "Ben", "Cem", "Dan"] {
        let mut agent = Agent::of(world).await;
        agent
            .ok("login", json!({ "username": name, "room": "table" }))
            .await;
        agents.push(agent);
    }
    agents
}

/// Four agents claim the stick, draft and push, three times each.
async fn table(world: &World) -> Spent {
    let mut agents = four(world).await;
    for _ in 0..3 {
        for agent in &mut agents {
            agent.check().await;
            agent.ok("talking_stick", json!({})).await;
        }
        for agent in &mut agents {
            agent.check().await;
            agent.ok("append", json!({ "text": WORDS })).await;
            agent.ok("push", json!({})).await;
        }
    }
    agents.swap_remove(0).spent
}

/// Four agents call `speak`, three times each.
async fn speakers(world: &World) -> Spent {
    let mut agents = four(world).await;
    let say = json!({ "room_id": "room_1", "message": WORDS, "wait_seconds": 1 });
    for _ in 0..3 {
        for agent in &mut agents {
            agent.ok("speak", say.clone()).await;
        }
    }
    agents.swap_remove(0).spent
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_cost_what_the_documentation_says() {
    let mut rows = "| conversation | calls of one agent | texts of its answers | JSON of its answers |\n|---|--:|--:|--:|\n".to_owned();
    let (pair, table, speakers) = (
        pair(&World::start().await).await,
        table(&World::start().await).await,
        speakers(&World::start().await).await,
    );
    for (name, spent) in [
        ("a pair, five messages of 106 bytes each", pair),
        (
            "four in a room who claim, append and push, three turns each",
            table,
        ),
        ("four in a room who speak, three turns each", speakers),
    ] {
        let (text, json) = (thousands(spent.text), thousands(spent.json));
        writeln!(rows, "| {name} | {} | {text} | {json} |", spent.calls).unwrap();
    }
    assert_eq!(WORDS.len(), 106);
    assert_documented(&rows);
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_of_text_that_go_to_models_are_counted() {
    let world = World::start().await;
    let told = world
        .call("login", json!({ "username": "ada", "room": "lobby" }))
        .await;
    let refused = world
        .call("send_message", json!({ "handle": told["handle"] }))
        .await;
    let bytes = text(&told).len() + text(&refused).len();
    let metrics = world.service.node().metrics();
    let shown = Exposition::Text.of(metrics.of_realm());
    let line = format!("model_bytes_total {bytes}\n");
    assert!(shown.contains(&line), "{line}\n{shown}");
}
