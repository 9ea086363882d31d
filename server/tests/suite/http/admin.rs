//! What operators can see and do.

use std::sync::Arc;

use serde_json::{Value, json};
use server_chat::identity::Secrets;
use server_chat::metrics::Exposition;

use crate::http::client::Answer;
use crate::http::tokens::tokens;
use crate::http::world::{Registered, Setup, World};

pub(crate) async fn operated() -> World {
    let mut setup = Setup::free();
    setup.guard.operators = Some(tokens(&["boss"]));
    setup.http.operators = true;
    World::start(setup).await
}

async fn act(world: &World, path: &str, body: Value) -> Answer {
    world.post_as("boss", path, body).await
}

/// What an act of an operator is about.
fn about(user: &str, reason: &str) -> Value {
    json!({ "user_id": user, "reason": reason })
}

pub(crate) async fn done(world: &World, path: &str, body: Value) {
    let answer = act(world, path, body).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
}

async fn seen(world: &World, path: &str) -> Value {
    let answer = world.get_as("boss", path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()
}

async fn says(one: &mut Registered) -> (u16, Option<String>) {
    let answer = one.post("/send", json!({ "message": "x" })).await;
    (answer.status, (answer.status != 200).then(|| answer.code()))
}

#[tokio::test(flavor = "multi_thread")]
async fn one_who_is_muted_is_heard_again_when_unmuted() {
    let world = operated().await;
    let (mut ann, ben) = (world.register("Ann").await, world.register("Ben").await);
    let mut events = world.events(&ben.handle, None).await;
    done(&world, "/admin/mute", about(&ann.user, "shouting")).await;
    let told = events.event().await.unwrap();
    assert!(told.is("moderation.muted"), "{told:?}");
    assert_eq!(told.json()["reason"], "shouting");
    assert_eq!(says(&mut ann).await, (403, Some("muted".into())));
    let all = seen(&world, "/admin/participants").await;
    assert_eq!(all["participants"][0]["display_name"], "Ann");
    assert_eq!(all["participants"][0]["muted"], true);
    let named = json!({ all["participants"][0]["rooms"][0].as_str().unwrap(): "lobby" });
    assert_eq!(all["participants"][0]["room_names"], named);
    assert_eq!(all["participants"][1]["streams"], 1);
    done(&world, "/admin/unmute", json!({ "name": "ANN" })).await;
    assert_eq!(says(&mut ann).await, (200, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_act_that_finds_nothing_to_lift_says_so() {
    let world = operated().await;
    let ann = world.register("Ann").await;
    let lifted = async |path: &str, body: Value| {
        let answer = act(&world, path, body).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()["lifted"].clone()
    };
    let address = "00000000000000aa";
    for (path, body, measure) in [
        ("/admin/unmute", json!({ "name": "Ann" }), "/admin/mute"),
        ("/admin/unban", json!({ "address": address }), "/admin/ban"),
        ("/admin/unban", json!({ "name": "ann" }), "/admin/ban"),
    ] {
        assert_eq!(lifted(path, body.clone()).await, false, "{path} {body}");
        let mut reasoned = body.clone();
        reasoned["reason"] = "spam".into();
        assert_eq!(lifted(measure, reasoned).await, Value::Null);
        assert_eq!(lifted(path, body.clone()).await, true, "{path} {body}");
        assert_eq!(lifted(path, body).await, false, "again");
    }
    drop(ann);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_who_is_kicked_is_out_of_the_room_and_a_closed_room_is_over() {
    let world = operated().await;
    let (mut ann, mut ben) = (world.register("Ann").await, world.register("Ben").await);
    let kick = json!({ "user_id": ann.user, "room_id": ann.room, "reason": "spam" });
    done(&world, "/admin/kick", kick.clone()).await;
    assert_eq!(says(&mut ann).await.0, 409);
    let refused = act(&world, "/admin/kick", kick).await;
    assert_eq!(refused.code(), "not_in_room");
    let message = &refused.json()["error"]["message"];
    assert_eq!(message, "That participant is not in that room");
    let rooms = seen(&world, "/admin/rooms").await;
    assert_eq!(rooms["rooms"][0]["members"], 1);
    let close = json!({ "room_id": ben.room, "reason": "late" });
    done(&world, "/admin/close", close).await;
    assert_eq!(says(&mut ben).await.0, 409);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_banned_name_does_not_come_back_until_it_may() {
    let world = operated().await;
    let mut ann = world.register("Ann").await;
    let ban = json!({ "name": "ann", "reason": "spam" });
    done(&world, "/admin/ban", ban).await;
    assert_eq!(says(&mut ann).await, (401, Some("unknown_handle".into())));
    let body = json!({ "username": "Ann" });
    let back = world.client().await.post("/register", None, &body).await;
    assert_eq!(back.code(), "name_not_allowed");
    let bans = seen(&world, "/admin/bans").await;
    assert_eq!(bans["bans"][0]["by"], "name0");
    assert_eq!(bans["bans"][0]["reason"], "spam");
    let unban = json!({ "name": bans["bans"][0]["name"] });
    done(&world, "/admin/unban", unban).await;
    world.register("Ann").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_banned_hears_why() {
    let world = operated().await;
    let (mut ann, mut ben) = (world.register("Ann").await, world.register("Ben").await);
    let reason = "selling things";
    let name = json!({ "name": "Ann", "reason": reason });
    done(&world, "/admin/ban", name).await;
    let barred = "An operator has banned you from this server";
    let refused = ann.post("/reconnect", json!({})).await;
    refused.refuses(401, "unknown_handle");
    assert_eq!(refused.json()["error"]["message"], barred);
    assert_eq!(refused.json()["error"]["reason"], reason);
    let here = json!({ "address": "127.0.0.1", "reason": reason });
    done(&world, "/admin/ban", here).await;
    let refused = ben.post("/reconnect", json!({})).await;
    refused.refuses(403, "blocked");
    assert_eq!(refused.json()["error"]["reason"], reason);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_banned_address_is_shut_out_but_for_operators() {
    let world = operated().await;
    let mut ann = world.register("Ann").await;
    let ban = json!({ "address": "127.0.0.1", "reason": "flood" });
    done(&world, "/admin/ban", ban).await;
    assert_eq!(says(&mut ann).await, (403, Some("blocked".into())));
    let bans = seen(&world, "/admin/bans").await;
    let hash = bans["bans"][0]["address"].as_str().unwrap();
    let address = Secrets::new(&[1; 32]).address("127.0.0.1".parse().unwrap());
    assert_eq!(hash, format!("{:016x}", address.0));
    done(&world, "/admin/unban", json!({ "address": hash })).await;
    assert_eq!(says(&mut ann).await, (200, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_muted_address_listens_and_does_not_speak() {
    let world = operated().await;
    let mut ann = world.register("Ann").await;
    let mute = json!({ "address": "127.0.0.1", "reason": "flood" });
    done(&world, "/admin/mute", mute).await;
    assert_eq!(says(&mut ann).await, (403, Some("muted".into())));
    let mut ben = world.register("Ben").await;
    assert_eq!(says(&mut ben).await, (403, Some("muted".into())));
    let seen = seen(&world, "/admin/bans").await;
    assert_eq!(seen["bans"][0]["measure"], "mute");
    let hash = seen["bans"][0]["address"].as_str().unwrap();
    done(&world, "/admin/unban", json!({ "address": hash })).await;
    assert_eq!(says(&mut ann).await, (200, None));
    assert_eq!(says(&mut ben).await, (200, None));
}

/// Registers with this name and key, and sends a message. Returns the status and error code of the
/// last response.
async fn comes_back(world: &World, name: &str, key: &str) -> (u16, Option<String>) {
    let body = json!({ "username": name, "request_key": key });
    let mut client = world.client().await;
    let answer = client.post("/register", None, &body).await;
    if answer.status != 200 {
        return (answer.status, Some(answer.code()));
    }
    let handle = answer.json()["handle"].as_str().expect("text").to_owned();
    let said = json!({ "message": "back" });
    let answer = client.post("/send", Some(&handle), &said).await;
    (answer.status, (answer.status != 200).then(|| answer.code()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mute_and_a_ban_outlive_another_registration() {
    let world = operated().await;
    // One that is muted opens no room, and joins one that exists.
    let _member = world.register("Cid").await;
    let keys = ["kJ3v9QmX2hTz7pLw8RbYcA", "zzzv9QmX2hTz7pLw8RbYcA"];
    for (name, key, path) in [("Ann", keys[0], "mute"), ("Ben", keys[1], "ban")] {
        let body = json!({ "username": name, "request_key": key });
        let mut client = world.client().await;
        let answer = client.post("/register", None, &body).await.json();
        let act = about(answer["user_id"].as_str().unwrap(), "spam");
        done(&world, &format!("/admin/{path}"), act).await;
        let handle = answer["handle"].as_str();
        client.post("/unregister", handle, &json!({})).await;
    }
    let muted = (403, Some("muted".to_owned()));
    assert_eq!(comes_back(&world, "Ann", keys[0]).await, muted);
    let other = "aaav9QmX2hTz7pLw8RbYcA";
    let taken = (409, Some("name_taken".to_owned()));
    assert_eq!(comes_back(&world, "ANN", other).await, taken);
    let blocked = (403, Some("blocked".to_owned()));
    for name in ["Ben", "Benjamin"] {
        assert_eq!(comes_back(&world, name, keys[1]).await, blocked, "{name}");
    }
    let refused = (400, Some("name_not_allowed".to_owned()));
    assert_eq!(comes_back(&world, "BEN", other).await, refused);
}

#[tokio::test(flavor = "multi_thread")]
async fn false_reports_push_out_no_true_one() {
    let mut setup = Setup::free();
    setup.guard.operators = Some(tokens(&["boss"]));
    setup.http.operators = true;
    setup.config.max_reports = 10;
    setup.config.max_reports_per_address = 5;
    let world = World::start(setup).await;
    let (mut ann, eve) = (world.register("Ann").await, world.register("Eve").await);
    for reason in ["she shouts", "again", "and again"] {
        let report = about(&eve.user, reason);
        let reported = ann.post("/tools/report_user", report).await;
        assert_eq!(reported.status, 200, "{}", reported.text());
    }
    let mut statuses = Vec::new();
    for n in 0..20 {
        let mut one = world.register(&format!("Liar {n}")).await;
        let lie = about(&ann.user, &format!("lie {n}"));
        statuses.push(one.post("/tools/report_user", lie).await.status);
    }
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 4);
    let seen = seen(&world, "/admin/reports").await;
    assert_eq!(seen["kept"], 5);
    let oldest = &seen["reports"][4];
    assert_eq!(
        (&oldest["reason"], &oldest["by"]["display_name"]),
        (&json!("she shouts"), &json!("Ann"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_are_read_newest_first() {
    let world = operated().await;
    let mut ann = world.register("Ann").await;
    let mut last = String::new();
    for (name, reason) in [("Ben", "first"), ("Cat", "second"), ("Dan", "third")] {
        last = world.register(name).await.user;
        // A second report about the same participant is not stored.
        for reason in [reason, "again"] {
            let report = about(&last, reason);
            assert_eq!(ann.post("/tools/report_user", report).await.status, 200);
        }
    }
    let reports = seen(&world, "/admin/reports?limit=2").await;
    assert_eq!(reports["kept"], 3);
    let listed = reports["reports"].as_array().unwrap();
    let reasons: Vec<_> = listed.iter().map(|report| &report["reason"]).collect();
    assert_eq!(reasons, ["third", "second"]);
    assert_eq!(listed[0]["by"]["display_name"], "Ann");
    assert_eq!(listed[0]["about"]["user_id"], last);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_figures_and_sizes_are_shown() {
    let world = operated().await;
    world.register("Ann").await;
    let overview = seen(&world, "/admin/overview").await;
    assert_eq!(overview["participants"], 1);
    assert!(overview["sizes"]["pending"]["limit"].as_u64().unwrap() > 0);
    assert!(overview["stick_moves"]["granted_at_once"].is_u64());
    assert!(
        overview["timers_fired"]
            .as_object()
            .is_some_and(|kinds| !kinds.is_empty())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_cannot_mean_is_told() {
    let world = operated().await;
    let (nobody, wrong) = ("user_not_found", "invalid_arguments");
    for (act_of, body, code) in [
        ("mute", json!({ "reason": "x" }), wrong),
        ("mute", about("user_9", "x"), nobody),
        ("mute", json!({ "name": "Nobody", "reason": "x" }), nobody),
        ("mute", json!({ "user_id": "user_9" }), wrong),
        (
            "mute",
            json!({ "user_id": "a", "name": "b", "reason": "x" }),
            wrong,
        ),
        (
            "ban",
            json!({ "address": "localhost", "reason": "x" }),
            wrong,
        ),
        ("ban", json!({ "address": 7, "reason": "x" }), wrong),
        ("ban", json!({ "address": "10.0.0.1" }), wrong),
        ("unban", json!({}), wrong),
        ("unban", json!({ "name": "Ann", "why": "x" }), wrong),
        (
            "close",
            json!({ "room_id": "room_9", "reason": "x" }),
            "room_not_found",
        ),
        ("close", json!({ "reason": "x" }), wrong),
        ("kick", about("user_1", "x"), wrong),
    ] {
        let refused = act(&world, &format!("/admin/{act_of}"), body.clone()).await;
        assert_eq!(refused.code(), code, "{act_of} {body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_act_without_a_target_is_told_what_it_takes() {
    let world = operated().await;
    for (path, body, takes) in [
        ("/admin/mute", json!({ "reason": "x" }), "or by `address`"),
        ("/admin/ban", json!({ "reason": "x" }), "or by `address`"),
        ("/admin/unban", json!({}), "by `name`, or by `address`"),
        (
            "/admin/unmute",
            json!({ "address": "10.0.0.1" }),
            "call /admin/unban",
        ),
    ] {
        let refused = act(&world, path, body).await.json();
        let message = refused["error"]["message"].as_str().expect("a sentence");
        assert!(message.contains(takes), "{path}: {message}");
    }
}

/// All bans, read page by page.
async fn all_bans(world: &World, limit: usize) -> Vec<Value> {
    let mut all = Vec::new();
    let mut after = String::new();
    loop {
        let mut page = seen(world, &format!("/admin/bans?limit={limit}{after}")).await;
        all.append(page["bans"].as_array_mut().expect("a list"));
        let Some(next) = page["next"].as_str() else {
            return all;
        };
        after = format!("&after={}", next.replace(' ', "%20"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_ban_and_mute_is_found_in_the_list_and_lifted_by_what_it_shows() {
    let world = operated().await;
    let reason = "spam";
    // A client with a name, a client with a name and its own id, and a client with neither.
    let named = world.register("Modern Ann").await;
    let mut client = world.client().await;
    let enter = json!({ "user_id": "pest.1", "display_name": "Pest" });
    let pest = client.post("/tools/enter_queue", None, &enter).await;
    assert_eq!(pest.json()["user_id"], "pest.1");
    let given = client.post("/tools/chimaek", None, &json!({})).await;
    let given = given.json()["user_id"].clone();
    done(&world, "/admin/mute", about(&named.user, reason)).await;
    for whom in ["pest.1", given.as_str().unwrap()] {
        done(&world, "/admin/ban", about(whom, reason)).await;
    }
    let address = json!({ "address": "192.0.2.7", "reason": reason });
    done(&world, "/admin/ban", address).await;
    for limit in [1, 2, 500] {
        let bans = all_bans(&world, limit).await;
        let of = |key| {
            let found = bans.iter().filter_map(|ban| ban.get(key));
            found.cloned().collect::<Vec<Value>>()
        };
        let names = of("name");
        assert_eq!(
            names,
            ["Pest", "pest.1", "Modern Ann"],
            "as they were spelled"
        );
        let mut owners: Vec<_> = of("handle_of")
            .iter()
            .map(|who| who["user_id"].clone())
            .collect();
        owners.sort_by_key(Value::to_string);
        assert_eq!(owners, [json!("pest.1"), json!(named.user), given.clone()]);
        assert_eq!(of("address").len(), 1);
        assert_eq!(bans.len(), 7);
    }
    for ban in all_bans(&world, 500).await {
        let name = ban
            .get("name")
            .or_else(|| ban["handle_of"].get("display_name"));
        let which = match name {
            Some(name) => json!({ "name": name }),
            None => json!({ "address": ban["address"] }),
        };
        done(&world, "/admin/unban", which).await;
    }
    assert_eq!(all_bans(&world, 500).await, Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_is_let_in() {
    let world = operated().await;
    let mut client = world.client().await;
    for path in ["/admin/overview", "/admin/bans", "/admin/reports"] {
        client.get(path).await.refuses(401, "operator_required");
    }
    let stranger = client.post("/admin/mute", None, &json!({})).await;
    assert_eq!(stranger.code(), "operator_required");
    let turned_away = "talking_stick_turned_away_total{why=\"no_token\"} 4";
    assert!(figures(&world).contains(turned_away));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_another_token_is_no_operator_and_leaves_a_trace() {
    let mut setup = Setup::free();
    setup.guard.tokens = Some(tokens(&["sesame"]));
    setup.guard.operators = Some(tokens(&["boss"]));
    setup.http.operators = true;
    let world = World::start(setup).await;
    for path in ["/admin/overview", "/admin/nowhere"] {
        let answer = world.get_as("sesame", path).await;
        answer.refuses(401, "operator_required");
    }
    for path in ["/admin/overview", "/users"] {
        assert_eq!(world.get_as("boss", path).await.status, 200, "{path}");
    }
    let unnamed = world.client().await.get("/admin/overview").await;
    assert_eq!(unnamed.code(), "token_required");
    let turned_away = "talking_stick_turned_away_total{why=\"no_operator\"} 2";
    assert!(figures(&world).contains(turned_away));
}

/// The metrics as text.
fn figures(world: &World) -> String {
    let node = world.service.node();
    Exposition::Text.of(node.metrics().of_realm())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_act_bears_the_operator_s_name() {
    let world = operated().await;
    let ann = world.register("Ann").await;
    done(&world, "/admin/ban", about(&ann.user, "spam")).await;
    let node = world.service.node();
    let by = node.look(|node| {
        let kept = node.hub.kept(None);
        kept.map(|(.., ban)| Arc::clone(&ban.by)).collect()
    });
    let two: Vec<Arc<str>> = vec!["name0".into(); 2];
    assert_eq!(by.await, Ok(two), "the name and the handle");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_around_a_report_can_be_read() {
    let world = operated().await;
    let (mut ann, _ben) = (world.register("Ann").await, world.register("Ben").await);
    for n in 0..25 {
        let sent = ann.post("/send", json!({ "message": format!("rude {n}") }));
        assert_eq!(sent.await.status, 200);
    }
    let path = format!("/admin/context?user_id={}", ann.user);
    let seen = seen(&world, &path).await;
    assert_eq!(seen["rooms"][0]["room_id"], ann.room);
    let said = seen["rooms"][0]["messages"].as_array().unwrap();
    assert_eq!(said.len(), 20);
    assert_eq!(said[19]["message"], "rude 24");
    assert_eq!(said[19]["sender"]["display_name"], "Ann");
    for (path, status) in [("?user_id=none", 404), ("", 400)] {
        let path = format!("/admin/context{path}");
        let answer = world.get_as("boss", &path).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        let answer = world.client().await.get(&path).await;
        assert_eq!(answer.code(), "operator_required", "{path}");
    }
}
