//! Token files: revoked, changed, expired and guessed tokens.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use server::guard::TokenFile;
use server_chat::metrics::Exposition;

use crate::http::client::Events;
use crate::http::guard::get;
use crate::http::world::{Setup, World};
use crate::stage::{file_with, token_line, within};

/// The lines of a token file with these tokens; the name of each is its number.
pub(crate) fn lines(all: &[&str]) -> String {
    let numbered = all.iter().enumerate();
    let lines = numbered.map(|(n, token)| token_line(&format!("name{n}"), token));
    lines.collect()
}

/// The tokens in this file, of a server with one realm.
fn token_file(path: &Path) -> Arc<TokenFile> {
    let realm = ("main".into(), Arc::from(["main".into()]));
    Arc::new(TokenFile::read(path, realm).expect("tokens"))
}

/// A token file with these tokens, which never changes.
pub(crate) fn tokens(all: &[&str]) -> Arc<TokenFile> {
    let (file, _) = file_with(&lines(all));
    token_file(file.path())
}

/// Opens the stream of the participant that belongs to a token.
async fn events_as(world: &World, token: &str) -> Events {
    let bearer = format!("Bearer {token}");
    let client = world.client().await;
    client
        .events("/events", &[("Authorization", &bearer)])
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_is_cut_off_at_once_and_the_others_keep_their_chats() {
    let (file, _) = file_with(&lines(&["sesame", "simsim"]));
    let keys = token_file(file.path());
    let world = World::free(|setup| setup.guard.tokens = Some(Arc::clone(&keys))).await;
    let (ann, ben) = (json!({ "username": "Ann" }), json!({ "username": "Ben" }));
    let ann = world.post_as("sesame", "/register", ann).await.json();
    world.post_as("simsim", "/register", ben).await;
    let mut kept = events_as(&world, "sesame").await;
    let mut cut = events_as(&world, "simsim").await;
    let bearer = [("Authorization", "Bearer simsim")];
    let (cookie, proof) = world.session_as("simsim").await;
    let cookie = [("Cookie", &*cookie), ("Chat-Session", &*proof)];
    assert_eq!(get(&world, "/users", &cookie).await.status, 200);
    // This read empties the inbox, so that the check waits.
    let read = json!({ "wait_seconds": 0 });
    world.post_as("simsim", "/tools/check", read).await;
    let wait = "{\"wait_seconds\":50}";
    let headers = [bearer[0], ("Content-Type", "application/json")];
    let mut waits = world.client().await;
    let head = waits.head("POST", "/tools/check", &headers, Some(wait.len()));
    waits.write(format!("{head}{wait}").as_bytes()).await;
    world.until_parked(1).await;
    std::fs::write(file.path(), lines(&["sesame"])).unwrap();
    keys.reload();
    assert_eq!(get(&world, "/users", &bearer).await.code(), "token_unknown");
    assert_eq!(
        get(&world, "/users", &cookie).await.code(),
        "token_required"
    );
    assert_eq!(waits.answer("POST").await.code(), "token_unknown");
    while cut.block().await.is_some() {}
    let back = world.post_as("sesame", "/reconnect", json!({})).await;
    assert_eq!(back.json()["user_id"], ann["user_id"]);
    world
        .post_as("sesame", "/register", json!({ "username": "Cid" }))
        .await;
    let is_cid = |event: &Value| event["user"]["display_name"] == "Cid";
    while !is_cid(&kept.event().await.expect("it is open").json()) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_is_read_by_itself_and_a_bad_one_keeps_the_tokens() {
    let (file, _) = file_with(&lines(&["sesame"]));
    let world = World::with(|setup| setup.guard.tokens = Some(token_file(file.path()))).await;
    let status = async |token: &str| world.get_as(token, "/users").await.status;
    std::fs::write(file.path(), lines(&["sesame", "simsim"])).unwrap();
    within(async { while status("simsim").await != 200 {} }).await;
    // The bad file would revoke both tokens; the good file after it shows that the bad one was
    // read.
    std::fs::write(file.path(), "name0 12ab\n").unwrap();
    let later = format!("{}name9 what\n", lines(&["sesame", "open"]));
    std::fs::write(file.path(), &later).unwrap();
    assert_eq!((status("sesame").await, status("simsim").await), (200, 200));
    std::fs::write(file.path(), lines(&["sesame", "open"])).unwrap();
    within(async { while status("open").await != 200 {} }).await;
    assert_eq!((status("sesame").await, status("simsim").await), (200, 429));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_whose_time_is_over_says_so() {
    let both = lines(&["sesame", "simsim"]);
    let (one, other) = both.split_once('\n').unwrap();
    let text = format!("{one} 2001-01-01\n{} 2999-01-01T00:00:00Z\n", other.trim());
    let (file, _) = file_with(&text);
    let world = World::with(|setup| setup.guard.tokens = Some(token_file(file.path()))).await;
    let answer = world.get_as("sesame", "/users").await;
    answer.refuses(401, "token_expired");
    assert_eq!(world.get_as("simsim", "/users").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn guessed_tokens_are_slowed_down_and_counted_and_a_right_one_is_not() {
    let world = World::with(|setup| setup.guard.tokens = Some(tokens(&["sesame"]))).await;
    let mut codes = Vec::new();
    for n in 0..200 {
        let answer = world.get_as(&format!("guess{n}"), "/users").await;
        if answer.status == 429 {
            assert!(answer.json()["error"]["retry_after_ms"].as_u64() > Some(0));
            assert!(answer.header("retry-after").is_some());
        }
        codes.push(answer.code());
    }
    let unknown = codes.iter().filter(|code| *code == "token_unknown").count();
    let limited = codes.iter().filter(|code| *code == "rate_limited").count();
    assert_eq!(
        unknown,
        server_chat::refused_requests::MAX_WRONG_TOKENS as usize
    );
    assert_eq!(unknown + limited, 200);
    assert_eq!(world.get_as("sesame", "/users").await.status, 200);
    get(&world, "/users", &[("Host", "evil.example")]).await;
    get(&world, "/users", &[("Origin", "https://evil.example")]).await;
    get(&world, "/users", &[("Sec-Fetch-Site", "cross-site")]).await;
    let node = world.service.node();
    let metrics = Exposition::Text.of(node.metrics().of_realm());
    for line in [
        "talking_stick_turned_away_total{why=\"wrong_token\"} 200",
        "talking_stick_turned_away_total{why=\"host\"} 1",
        "talking_stick_turned_away_total{why=\"origin\"} 1",
        "talking_stick_turned_away_total{why=\"site\"} 1",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_s_token_cannot_be_guessed_at_a_door_that_is_open() {
    let mut setup = Setup::default();
    setup.guard.operators = Some(tokens(&["boss"]));
    setup.http.operators = true;
    let world = World::start(setup).await;
    for path in ["/admin/overview", "/users"] {
        let answer = world.get_as("bos", path).await;
        answer.refuses(401, "token_unknown");
    }
    assert_eq!(get(&world, "/users", &[]).await.status, 200);
}
