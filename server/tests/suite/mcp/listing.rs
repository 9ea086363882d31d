//! The tools, resources and prompts that a client can list.

use rmcp::model::SkillResource;
use serde_json::{Value, json};
use server_chat::tools::{Tool, of_toolsets};
use server_settings::Toolset;

use crate::mcp::http::request;
use crate::mcp::world::{Session, World, modern_request};

fn names(listed: &Value) -> Vec<&str> {
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect()
}

/// The tools of a server that keeps no past messages to search.
fn tools_of(sets: &[Toolset]) -> Vec<Tool> {
    let mut tools = of_toolsets(sets);
    tools.retain(|tool| *tool != Tool::Search);
    tools
}

fn of(sets: &[Toolset]) -> Vec<&'static str> {
    tools_of(sets).iter().map(|tool| tool.name()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_listed_as_the_catalog_describes_them() {
    let world = World::start().await;
    let listed = Session::open(&world)
        .await
        .ask("tools/list", json!({}))
        .await;
    assert_eq!(names(&listed), of(Toolset::ALL));
    for (tool, one) in tools_of(Toolset::ALL)
        .iter()
        .zip(listed["result"]["tools"].as_array().unwrap())
    {
        let more = one["description"].as_str().unwrap();
        let more = more.strip_prefix(tool.text()).expect("the catalog's text");
        let wanted = match tool.name() {
            "enter_queue" => " Silent for 1m, you lose your place.",
            "login" | "check" => " Silent for 45m, you are away.",
            _ => "",
        };
        assert_eq!(more, wanted, "{tool}");
        assert_eq!(one["inputSchema"], Value::Object(tool.input()));
        // No client shows one to its model, and all fetch it.
        assert!(one.get("outputSchema").is_none(), "{tool}");
        let read_only = one["annotations"]["readOnlyHint"] == true;
        assert_eq!(read_only, tool.is_read_only(), "{tool}");
    }
}

/// Codex asks its user about a tool whose `destructiveHint` is true; about none else that only reads;
/// and about one that may reach beyond its server. A missing hint of either means true. Where no user
/// is there, as in `codex exec`, what it would ask about is cancelled.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_a_user_may_call_all_that_a_conversation_needs() {
    let world = World::start().await;
    let listed = Session::open(&world)
        .await
        .ask("tools/list", json!({}))
        .await;
    let asks = |tool: &&Value| {
        let hints = &tool["annotations"];
        let is = |name: &str, missing| hints[name].as_bool().unwrap_or(missing);
        let may_change = !is("readOnlyHint", false);
        is("destructiveHint", may_change) || may_change && is("openWorldHint", true)
    };
    let tools = listed["result"]["tools"].as_array().unwrap();
    let asked: Vec<_> = tools
        .iter()
        .filter(asks)
        .map(|tool| &tool["name"])
        .collect();
    assert!(asked.is_empty(), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_offers_its_toolset_and_the_list_limits_all() {
    let world = World::start().await;
    for (path, sets) in [
        ("/mcp", Toolset::ALL),
        ("/mcp/", Toolset::ALL),
        ("/mcp/room/", &[Toolset::Room]),
        ("/mcp/pairing", &[Toolset::Pairing]),
        ("/mcp/room", &[Toolset::Room]),
        ("/mcp/breaks", &[Toolset::Breaks]),
    ] {
        assert_eq!(listed_at(&world, path).await, of(sets));
    }
    let limited = World::with(|options| options.toolsets = vec![Toolset::Pairing]).await;
    assert_eq!(listed_at(&limited, "/mcp").await, of(&[Toolset::Pairing]));
    let reply = request(limited.address, ("POST", "/mcp/room"), &[], b"{}").await;
    assert_eq!(reply.status, 404);
    let refused = limited
        .modern("tools/call", json!({ "name": "login", "arguments": {} }))
        .await;
    assert_eq!(refused.answer().await["error"]["code"], -32_602);
}

async fn listed_at(world: &World, path: &str) -> Vec<String> {
    let (headers, body) = modern_request("tools/list", json!({}));
    let mut all = vec![
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    all.extend(headers.iter().map(|(n, v)| (*n, v.as_str())));
    let reply = request(world.address, ("POST", path), &all, &body).await;
    names(&reply.answer().await)
        .into_iter()
        .map(str::to_owned)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_lists_its_own_inboxes_and_how_others_are_named() {
    let world = World::start().await;
    let ann = Session::open(&world).await;
    let resources = |listed: &Value| listed["result"]["resources"].as_array().unwrap().len();
    let none = ann.ask("resources/list", json!({})).await;
    // The skill is everybody's.
    assert_eq!(resources(&none), 1, "{none}");
    let uri = ann.login("Ann").await["inbox_uri"].clone();
    let listed = ann.ask("resources/list", json!({})).await;
    assert_eq!(listed["result"]["resources"][0]["uri"], uri);
    assert_eq!(resources(&listed), 2, "{listed}");
    let templates = ann.ask("resources/templates/list", json!({})).await;
    let template = &templates["result"]["resourceTemplates"][0]["uriTemplate"];
    assert_eq!(template, "chat://inbox/{reader_id}{?after}");
    let modern = world
        .modern("resources/list", json!({}))
        .await
        .answer()
        .await;
    assert_eq!(resources(&modern), 1, "{modern}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_offered_is_not_found() {
    let world = World::start().await;
    let ann = Session::open(&world).await;
    for method in [
        "prompts/list",
        "completion/complete",
        "logging/setLevel",
        "tasks/get",
        "no/such",
    ] {
        let params = json!({
            "level": "info", "ref": { "type": "ref/prompt", "name": "x" },
            "argument": { "name": "a", "value": "b" }, "taskId": "t"
        });
        let answer = ann.ask(method, params).await;
        assert_eq!(answer["error"]["code"], -32_601, "{method}: {answer}");
    }
    let unknown = ann
        .ask("tools/call", json!({ "name": "test_simple_text" }))
        .await;
    assert_eq!(unknown["error"]["code"], -32_602);
    for uri in ["chat://inbox/r_guessed", "file:///etc/passwd"] {
        let missing = ann.ask("resources/read", json!({ "uri": uri })).await;
        assert_eq!(missing["error"]["code"], -32_002, "{missing}");
        assert_eq!(missing["error"]["data"]["uri"], uri);
    }
}

/// Clients with the extension for skills find one, and its file says what it promises.
#[tokio::test(flavor = "multi_thread")]
async fn the_skill_is_a_file_that_names_only_tools_that_exist() {
    let world = World::start().await;
    let session = Session::open(&world).await;
    let listed = session.ask("skills/list", json!({})).await;
    let skill = listed["result"]["skills"][0].clone();
    let uri = json!({ "uri": "skill://talking-stick/SKILL.md" });
    assert_eq!(skill["uri"], uri["uri"]);
    let got = session.ask("skills/get", uri.clone()).await;
    assert_eq!(got["result"]["skill"], skill);
    let resources = session.ask("resources/list", json!({})).await;
    assert_eq!(resources["result"]["resources"][0]["uri"], uri["uri"]);
    let read = session.ask("resources/read", uri).await;
    let file = read["result"]["contents"][0]["text"].as_str().unwrap();
    let promised = skill["resources"][0].clone();
    let promised: SkillResource = serde_json::from_value(promised).unwrap();
    promised.verify(file.as_bytes()).unwrap();
    let front = &skill["frontmatter"];
    for field in ["name", "description"] {
        let line = format!("\n{field}: {}\n", front[field].as_str().unwrap());
        assert!(file.contains(&line), "{front}");
    }
    let mut called = 0;
    for call in file.split('`').skip(1).step_by(2) {
        let (name, arguments) = call.split_once(" {").unwrap_or((call, ""));
        let Some(tool) = Tool::named(name) else {
            assert!(arguments.is_empty(), "{call}");
            continue;
        };
        called += 1;
        let takes = tool.input();
        for name in arguments.split('"').skip(1).step_by(2) {
            assert!(takes["properties"].get(name).is_some(), "{call}");
        }
    }
    assert!(called > 8, "{called}");
    let other = json!({ "uri": "skill://talking-stick/OTHER.md" });
    let none = session.ask("skills/get", other.clone()).await;
    assert_eq!(none["error"]["code"], -32602, "{none}");
    let none = session.ask("resources/read", other).await;
    assert!(none["error"].is_object(), "{none}");
}
