//! The guard: hosts, origins, tokens, the page's cookie, and the limits on connections.

use std::io::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use server::capacity::Share;
use server::door::{AllowedHosts, TokenFile};
use server::http::Admin;

use crate::client::{Answer, Client};
use crate::world::{Setup, World, within};

/// The lines of a token file with these tokens; the name of each is its number.
pub(crate) fn lines(all: &[&str]) -> String {
    use sha2::{Digest as _, Sha256};
    let line = |(n, token): (usize, &&str)| {
        let hash = Sha256::digest(token.as_bytes());
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("name{n} {hex}\n")
    };
    all.iter().enumerate().map(line).collect()
}

/// A token file with these tokens, which never changes.
pub(crate) fn tokens(all: &[&str]) -> Arc<TokenFile> {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(lines(all).as_bytes()).expect("room");
    Arc::new(TokenFile::read(file.path()).expect("tokens"))
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
async fn the_page_keeps_a_session_and_not_its_token() {
    let mut setup = Setup::default();
    setup.door.tokens = Some(tokens(&["sesame"]));
    let world = World::start(setup).await;
    let mut client = world.client().await;
    let bearer = [("Authorization", "Bearer sesame")];
    let opened = client.request("POST", "/session", &bearer, b"").await;
    let cookie = opened.header("set-cookie").unwrap().to_owned();
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Strict");
    assert!(!cookie.contains("sesame") && pair.len() > 60, "{cookie}");
    let again = client.request("POST", "/session", &bearer, b"").await;
    assert!(!again.header("set-cookie").unwrap().starts_with(pair));
    let tls = [
        ("Authorization", "Bearer sesame"),
        ("Origin", "https://localhost"),
    ];
    let opened = client.request("POST", "/session", &tls, b"").await;
    let host_only = opened.header("set-cookie").unwrap();
    assert!(host_only.starts_with("__Host-talking_stick_session="));
    assert!(host_only.ends_with("; Secure"));
    let both = format!("theme=dark; {pair}");
    let kept = ("Cookie", &*both);
    assert_eq!(get(&world, "/users", &[kept]).await.status, 200);
    let own = format!("http://{}", world.address);
    let from_own = [kept, ("Origin", &*own)];
    assert_eq!(get(&world, "/users", &from_own).await.status, 200);
    let neighbour = [kept, ("Origin", "http://localhost:3000")];
    assert_eq!(
        get(&world, "/users", &neighbour).await.code(),
        "token_required"
    );
    // A token is no cookie, and a session cookie opens no other session.
    let token = ("Cookie", "talking_stick_session=sesame");
    assert_eq!(get(&world, "/users", &[token]).await.status, 401);
    let without = client.request("POST", "/session", &[kept], b"").await;
    assert_eq!(without.code(), "token_required");
    let closed = client.request("DELETE", "/session", &[kept], b"").await;
    assert_eq!(closed.status, 200);
    assert!(closed.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(get(&world, "/users", &[kept]).await.status, 401);
    let other = client.request("PUT", "/session", &bearer, b"").await;
    assert_eq!(
        (other.status, other.header("allow")),
        (405, Some("POST,DELETE"))
    );
}

/// Posts with this token.
async fn post_as(world: &World, token: &str, path: &str, body: Value) -> Answer {
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
}

/// Opens the stream of the participant that belongs to a token.
async fn events_as(world: &World, token: &str) -> crate::client::Events {
    let bearer = format!("Bearer {token}");
    let client: Client = world.client().await;
    client
        .events("/events", &[("Authorization", &bearer)])
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_is_cut_off_at_once_and_the_others_keep_their_chats() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), lines(&["sesame", "simsim"])).unwrap();
    let keys = Arc::new(TokenFile::read(file.path()).unwrap());
    let mut setup = Setup::free();
    setup.door.tokens = Some(Arc::clone(&keys));
    let world = World::start(setup).await;
    let (ann, ben) = (json!({ "username": "Ann" }), json!({ "username": "Ben" }));
    let ann = post_as(&world, "sesame", "/register", ann).await.json();
    post_as(&world, "simsim", "/register", ben).await;
    let mut kept = events_as(&world, "sesame").await;
    let mut cut = events_as(&world, "simsim").await;
    let bearer = [("Authorization", "Bearer simsim")];
    let mut client = world.client().await;
    let opened = client.request("POST", "/session", &bearer, b"").await;
    let cookie = opened.header("set-cookie").unwrap().to_owned();
    let cookie = [("Cookie", cookie.split(';').next().unwrap())];
    assert_eq!(get(&world, "/users", &cookie).await.status, 200);
    // This read empties the inbox, so that the check waits.
    let read = json!({ "wait_seconds": 0 });
    post_as(&world, "simsim", "/tools/check", read).await;
    let wait = "{\"wait_seconds\":50}";
    let json_type = ("Content-Type", "application/json");
    let mut waits = world.client().await;
    let head = waits.head(
        "POST",
        "/tools/check",
        &[bearer[0], json_type],
        Some(wait.len()),
    );
    waits.write(format!("{head}{wait}").as_bytes()).await;
    within(async {
        while world.service.node().look(|node| node.load().parked).await != Some(1) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    std::fs::write(file.path(), lines(&["sesame"])).unwrap();
    keys.reload();
    assert_eq!(get(&world, "/users", &bearer).await.code(), "token_unknown");
    assert_eq!(
        get(&world, "/users", &cookie).await.code(),
        "token_required"
    );
    assert_eq!(waits.answer("POST").await.code(), "token_unknown");
    while cut.block().await.is_some() {}
    let back = post_as(&world, "sesame", "/reconnect", json!({})).await;
    assert_eq!(back.json()["user_id"], ann["user_id"]);
    post_as(&world, "sesame", "/register", json!({ "username": "Cid" })).await;
    let is_cid = |event: &Value| event["user"]["display_name"] == "Cid";
    while !is_cid(&kept.event().await.expect("it is open").json()) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_is_read_by_itself_and_a_bad_one_keeps_the_tokens() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), lines(&["sesame"])).unwrap();
    let mut setup = Setup::default();
    setup.door.tokens = Some(Arc::new(TokenFile::read(file.path()).unwrap()));
    let world = World::start(setup).await;
    let status = async |token: &str| {
        let bearer = format!("Bearer {token}");
        get(&world, "/users", &[("Authorization", &bearer)])
            .await
            .status
    };
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
    let file = tempfile::NamedTempFile::new().unwrap();
    let both = lines(&["sesame", "simsim"]);
    let (one, other) = both.split_once('\n').unwrap();
    let text = format!("{one} 2001-01-01\n{} 2999-01-01T00:00:00Z\n", other.trim());
    std::fs::write(file.path(), text).unwrap();
    let mut setup = Setup::default();
    setup.door.tokens = Some(Arc::new(TokenFile::read(file.path()).unwrap()));
    let world = World::start(setup).await;
    let old = [("Authorization", "Bearer sesame")];
    let answer = get(&world, "/users", &old).await;
    assert_eq!(
        (answer.status, answer.code()),
        (401, "token_expired".into())
    );
    let young = [("Authorization", "Bearer simsim")];
    assert_eq!(get(&world, "/users", &young).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn guessed_tokens_are_slowed_down_and_counted_and_a_right_one_is_not() {
    let mut setup = Setup::default();
    setup.door.tokens = Some(tokens(&["sesame"]));
    let world = World::start(setup).await;
    let mut client = world.client().await;
    let mut codes = Vec::new();
    for n in 0..200 {
        let guess = format!("Bearer guess{n}");
        let headers = [("Authorization", &*guess)];
        let answer = client.request("GET", "/users", &headers, b"").await;
        if answer.status == 429 {
            assert!(answer.json()["error"]["retry_after_ms"].as_u64() > Some(0));
            assert!(answer.header("retry-after").is_some());
        }
        codes.push(answer.code());
    }
    let unknown = codes.iter().filter(|code| *code == "token_unknown").count();
    let limited = codes.iter().filter(|code| *code == "rate_limited").count();
    assert_eq!(unknown, server::turned_away::MAX_WRONG_TOKENS as usize);
    assert_eq!(unknown + limited, 200);
    let right = [("Authorization", "Bearer sesame")];
    assert_eq!(get(&world, "/users", &right).await.status, 200);
    get(&world, "/users", &[("Host", "evil.example")]).await;
    get(&world, "/users", &[("Origin", "https://evil.example")]).await;
    get(&world, "/users", &[("Sec-Fetch-Site", "cross-site")]).await;
    let node = world.service.node();
    let metrics = node
        .metrics()
        .render(node.now(), None, (0, world.service.capacity()));
    let metrics = metrics.unwrap();
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
    setup.door.operators = Some(tokens(&["boss"]));
    setup.http.admin = Admin::Served;
    let world = World::start(setup).await;
    let guess = [("Authorization", "Bearer bos")];
    for path in ["/admin/overview", "/users"] {
        let answer = get(&world, path, &guess).await;
        assert_eq!(
            (answer.status, answer.code()),
            (401, "token_unknown".into())
        );
    }
    assert_eq!(get(&world, "/users", &[]).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_other_sites_cause_reaches_the_page_s_files_alone() {
    let world = World::start(Setup::default()).await;
    for site in ["cross-site", "same-site", "unheard-of"] {
        let from = [("Sec-Fetch-Site", site)];
        for path in ["/users", "/events", "/healthz", "/openapi.json", "/nowhere"] {
            let answer = get(&world, path, &from).await;
            assert_eq!(
                (answer.status, answer.code()),
                (403, "site_not_allowed".into()),
                "{site} {path}"
            );
        }
        let mut client = world.client().await;
        let posted = client.request("POST", "/", &from, b"").await;
        assert_eq!(posted.status, 403, "{site}");
        for path in ["/", "/operator", "/app.js"] {
            assert_eq!(get(&world, path, &from).await.status, 200, "{site} {path}");
        }
    }
    for site in ["same-origin", "none"] {
        let from = [("Sec-Fetch-Site", site)];
        assert_eq!(get(&world, "/users", &from).await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_browser_guesses_what_an_answer_is() {
    let mut setup = Setup::default();
    setup.door.operators = Some(tokens(&["boss"]));
    let world = World::start(setup).await;
    let ann = world.register("Ann").await;
    for path in ["/", "/users", "/nowhere", "/openapi.json", "/admin/bans"] {
        let answer = get(&world, path, &[]).await;
        assert_eq!(
            answer.header("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
    }
    let refused = get(&world, "/users", &[("Host", "evil.example")]).await;
    assert_eq!(refused.header("x-content-type-options"), Some("nosniff"));
    let mut client = world.client().await;
    let handle = [("Chat-Handle", &*ann.handle)];
    let head = client.request("HEAD", "/events", &handle, b"").await;
    assert_eq!(head.header("x-content-type-options"), Some("nosniff"));
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
    setup.capacity.connections = Share::of(2, 1);
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

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_id_takes_nothing_from_its_owner() {
    let mut setup = Setup::free();
    setup.config.max_streams = 2;
    let world = World::start(setup).await;
    let (mut ann, mut ben) = (world.register("Ann").await, world.register("Ben").await);
    ben.say("one").await;
    ben.say("two").await;
    let path = format!("/events?reader={}", ann.reader);
    let mut readers = Vec::new();
    for _ in 0..2 {
        // The reader asks to resume behind everything. A reader id must not acknowledge for its
        // owner.
        let mut events = world
            .client()
            .await
            .events(&format!("{path}&after=1"), &[])
            .await;
        while !events
            .event()
            .await
            .expect("it is open")
            .is("message.received")
        {}
        readers.push(events);
    }
    let third = get(&world, &path, &[]).await;
    assert_eq!((third.status, third.code()), (429, "rate_limited".into()));
    let view = world.service.node().look(|node| {
        let user = node.hub().user_by_name("Ann")?;
        node.hub().participant_view(user)
    });
    assert_eq!(view.await.flatten().map(|view| view.streams), Some(0));
    let first = world.events(&ann.handle, None).await;
    let second = world.events(&ann.handle, None).await;
    let all = ann
        .post("/tools/check", json!({ "after": 0, "wait_seconds": 0 }))
        .await
        .json();
    assert_eq!(all["events"][0]["seq"], 1, "{all}");
    assert!(
        all["events"]
            .as_array()
            .is_some_and(|events| events.len() >= 3)
    );
    drop((first, second, readers));
}
