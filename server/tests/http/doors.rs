//! The door: hosts, origins, tokens, the page's cookie, and how many may come in.

use std::io::Write as _;

use serde_json::{Value, json};
use server::door::{AllowedHosts, Tokens};
use server::http::Admin;

use crate::client::Answer;
use crate::world::{Setup, World};

/// A file with these tokens, each under the name of the same number.
pub(crate) fn tokens(all: &[&str]) -> Tokens {
    use sha2::{Digest as _, Sha256};
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    for (n, token) in all.iter().enumerate() {
        let hash = Sha256::digest(token.as_bytes());
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(file, "name{n} {hex}").expect("room on the disk");
    }
    Tokens::read(file.path()).expect("tokens")
}

async fn get(world: &World, path: &str, headers: &[(&str, &str)]) -> Answer {
    world
        .client()
        .await
        .request("GET", path, headers, b"")
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_and_origins_are_checked_on_every_route() {
    let mut setup = Setup::default();
    setup.door.hosts = AllowedHosts::new(&["chat.example"]).unwrap();
    let world = World::start(setup).await;
    for path in ["/users", "/healthz", "/events", "/openapi.json", "/nowhere"] {
        let rebound = get(&world, path, &[("Host", "evil.example")]).await;
        assert_eq!(
            (rebound.status, rebound.code()),
            (403, "host_not_allowed".into()),
            "{path}"
        );
        let foreign = get(&world, path, &[("Origin", "https://evil.example")]).await;
        assert_eq!(
            (foreign.status, foreign.code()),
            (403, "origin_not_allowed".into()),
            "{path}"
        );
    }
    for headers in [
        &[("Host", "chat.example")][..],
        &[("Host", "localhost:1")],
        &[("Origin", "https://chat.example")],
        &[
            ("Host", "chat.example"),
            ("Origin", "http://localhost:3000"),
        ],
    ] {
        assert_eq!(
            get(&world, "/users", headers).await.status,
            200,
            "{headers:?}"
        );
    }
    let mut client = world.client().await;
    client.write(b"GET /users HTTP/1.1\r\n\r\n").await;
    assert_eq!(client.answer("GET").await.code(), "invalid_request");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_tokens_everything_but_health_asks_for_one() {
    let mut setup = Setup::default();
    setup.door.tokens = Some(tokens(&["sesame", "simsim"]));
    let world = World::start(setup).await;
    for path in [
        "/users",
        "/events",
        "/overview",
        "/openapi.json",
        "/nowhere",
    ] {
        let none = get(&world, path, &[]).await;
        assert_eq!(
            (none.status, none.code()),
            (401, "token_required".into()),
            "{path}"
        );
        assert_eq!(none.header("www-authenticate"), Some("Bearer"));
        for wrong in [
            "Bearer sesam",
            "Bearer sesame1",
            "Basic sesame",
            "sesame",
            "Bearer ",
        ] {
            let answer = get(&world, path, &[("Authorization", wrong)]).await;
            assert_eq!(answer.status, 401, "{path} {wrong}");
        }
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(get(&world, path, &[]).await.status, 200);
    }
    for right in ["Bearer sesame", "bearer simsim"] {
        assert_eq!(
            get(&world, "/users", &[("Authorization", right)])
                .await
                .status,
            200
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_alone_behind_its_token_need_not_say_its_handle() {
    let mut setup = Setup::default();
    setup.door.tokens = Some(tokens(&["sesame", "simsim"]));
    let world = World::start(setup).await;
    let post = async |token: &str, path: &str, body: Value| {
        let bearer = format!("Bearer {token}");
        let headers = [
            ("Authorization", &*bearer),
            ("Content-Type", "application/json"),
        ];
        let body = body.to_string();
        let mut client = world.client().await;
        client
            .request("POST", path, &headers, body.as_bytes())
            .await
    };
    let ann = post("sesame", "/register", json!({ "username": "Ann" })).await;
    assert_eq!(ann.status, 200, "{}", ann.text());
    let back = post("sesame", "/reconnect", json!({})).await;
    assert_eq!(back.json()["user_id"], ann.json()["user_id"]);
    let other = post("simsim", "/reconnect", json!({})).await;
    assert_eq!(other.code(), "handle_required");
    let again = post("sesame", "/register", json!({ "username": "Ann" })).await;
    assert_eq!(again.json()["user_id"], ann.json()["user_id"]);
    post("sesame", "/register", json!({ "username": "Ben" })).await;
    for path in ["/reconnect", "/tools/list_users"] {
        assert_eq!(
            post("sesame", path, json!({})).await.code(),
            "handle_required"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_keeps_its_token_in_a_cookie_of_its_own() {
    let mut setup = Setup::default();
    setup.door.tokens = Some(tokens(&["sesame"]));
    let world = World::start(setup).await;
    let mut client = world.client().await;
    let bearer = [("Authorization", "Bearer sesame")];
    let opened = client.request("POST", "/session", &bearer, b"").await;
    let cookie = opened.header("set-cookie").unwrap().to_owned();
    assert_eq!(
        cookie,
        "talking_stick_token=sesame; Path=/; HttpOnly; SameSite=Strict"
    );
    let tls = [
        ("Authorization", "Bearer sesame"),
        ("Origin", "https://localhost"),
    ];
    let opened = client.request("POST", "/session", &tls, b"").await;
    assert!(opened.header("set-cookie").unwrap().ends_with("; Secure"));
    let kept = ("Cookie", "theme=dark; talking_stick_token=sesame");
    assert_eq!(get(&world, "/users", &[kept]).await.status, 200);
    let own = format!("http://{}", world.address);
    assert_eq!(
        get(&world, "/users", &[kept, ("Origin", &own)])
            .await
            .status,
        200
    );
    let neighbour = [kept, ("Origin", "http://localhost:3000")];
    assert_eq!(
        get(&world, "/users", &neighbour).await.code(),
        "token_required"
    );
    let without = client.request("POST", "/session", &[kept], b"").await;
    assert_eq!(without.code(), "token_required");
    let closed = client.request("DELETE", "/session", &[], b"").await;
    assert_eq!(closed.status, 200);
    assert!(closed.header("set-cookie").unwrap().contains("Max-Age=0"));
    let other = client.request("PUT", "/session", &bearer, b"").await;
    assert_eq!(
        (other.status, other.header("allow")),
        (405, Some("POST,DELETE"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_s_token_opens_the_door_and_the_operators_routes() {
    let mut setup = Setup::default();
    setup.door.tokens = Some(tokens(&["sesame"]));
    setup.door.operators = Some(tokens(&["boss"]));
    setup.http.admin = Admin::Served;
    let world = World::start(setup).await;
    let of = async |path: &str, token: &str| {
        let bearer = format!("Bearer {token}");
        get(&world, path, &[("Authorization", &bearer)]).await
    };
    assert_eq!(of("/users", "boss").await.status, 200);
    assert_eq!(of("/admin/overview", "boss").await.status, 200);
    let other = of("/admin/overview", "sesame").await;
    assert_eq!(
        (other.status, other.code()),
        (401, "operator_required".into())
    );
    assert_eq!(
        get(&world, "/admin/overview", &[]).await.code(),
        "token_required"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_cookie_is_made_of_a_token_that_nobody_has() {
    let mut setup = Setup::default();
    setup.door.operators = Some(tokens(&["boss"]));
    let world = World::start(setup).await;
    let mut client = world.client().await;
    for (bearer, status) in [("Bearer boss", 200), ("Bearer bos", 401)] {
        let headers = [("Authorization", bearer)];
        let answer = client.request("POST", "/session", &headers, b"").await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("set-cookie").is_some(), status == 200);
    }
    let none = client.request("POST", "/session", &[], b"").await;
    assert_eq!(none.code(), "token_required");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_too_many_is_told_so() {
    let mut setup = Setup::default();
    setup.limits.connections = 2;
    let world = World::start(setup).await;
    let (mut one, mut other) = (world.client().await, world.client().await);
    assert_eq!(one.get("/healthz").await.status, 200);
    assert_eq!(other.get("/healthz").await.status, 200);
    let mut third = world.client().await;
    let answer = third.get("/healthz").await;
    assert_eq!((answer.status, answer.code()), (503, "overloaded".into()));
    assert_eq!(answer.header("retry-after"), Some("1"));
    drop(one);
    crate::world::within(async {
        loop {
            if world.client().await.get("/healthz").await.status == 200 {
                break;
            }
        }
    })
    .await;
    assert_eq!(other.get("/healthz").await.status, 200);
}
