//! The guard: hosts, origins, required tokens, the page's cookie, and the limits on connections.

use serde_json::{Value, json};
use server::guard::AllowedHosts;

use crate::http::client::Answer;
use crate::http::tokens::tokens;
use crate::http::world::{Setup, World};

pub(crate) async fn get(world: &World, path: &str, headers: &[(&str, &str)]) -> Answer {
    world
        .client()
        .await
        .request("GET", path, headers, b"")
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_and_origins_are_checked_on_every_route() {
    let world =
        World::with(|setup| setup.guard.hosts = AllowedHosts::new(&["chat.example"]).unwrap())
            .await;
    for path in ["/users", "/metrics", "/events", "/openapi.json", "/nowhere"] {
        let rebound = get(&world, path, &[("Host", "evil.example")]).await;
        rebound.refuses(403, "host_not_allowed");
        let foreign = get(&world, path, &[("Origin", "https://evil.example")]).await;
        foreign.refuses(403, "origin_not_allowed");
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

/// Monitors find a server by its address, and some speak HTTP/1.0 without a host.
#[tokio::test(flavor = "multi_thread")]
async fn health_answers_any_host_and_a_monitor_s_token_is_enough_for_the_rest() {
    let world = World::with(|setup| setup.guard.tokens = Some(tokens(&["sesame"]))).await;
    let pod = ("Host", "10.244.0.5:8894");
    for path in ["/healthz", "/readyz"] {
        assert_eq!(get(&world, path, &[pod]).await.status, 200, "{path}");
        let mut old = world.client().await;
        old.write(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes())
            .await;
        assert_eq!(old.answer("GET").await.status, 200, "{path}");
    }
    let scrape = async |token: &str| get(&world, "/users", &[pod, ("Authorization", token)]).await;
    assert_eq!(scrape("Bearer sesame").await.status, 200);
    assert_eq!(scrape("Bearer guess").await.code(), "token_unknown");
    let without = get(&world, "/users", &[pod]).await;
    assert_eq!(without.code(), "host_not_allowed");
    let foreign = [
        pod,
        ("Authorization", "Bearer sesame"),
        ("Origin", "http://10.244.0.5:8894"),
    ];
    assert_eq!(
        get(&world, "/users", &foreign).await.code(),
        "origin_not_allowed"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_oauth_client_finds_nothing_and_reads_why() {
    let metadata = json!({ "client_name": "x", "redirect_uris": ["http://localhost/callback"] });
    for is_guarded in [true, false] {
        let mut setup = Setup::default();
        setup.guard.tokens = is_guarded.then(|| tokens(&["sesame"]));
        let world = World::start(setup).await;
        for path in [
            "/.well-known/oauth-protected-resource/mcp",
            "/.well-known/oauth-authorization-server",
            "/mcp/.well-known/openid-configuration",
        ] {
            assert_eq!(get(&world, path, &[]).await.status, 404, "{path}");
        }
        let register =
            async |body: &Value| world.client().await.post("/register", None, body).await;
        let refused = register(&metadata).await;
        assert_eq!(refused.status, 400);
        assert_eq!(refused.json()["error"], "access_denied");
        let told = refused.json()["error_description"].to_string();
        assert!(told.contains("Authorization: Bearer"), "{told}");
        let ann = register(&json!({ "username": "Ann" })).await;
        assert_eq!(ann.status, if is_guarded { 401 } else { 200 });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_tokens_everything_but_health_asks_for_one() {
    let world = World::with(|setup| setup.guard.tokens = Some(tokens(&["sesame", "simsim"]))).await;
    for path in [
        "/users",
        "/events",
        "/overview",
        "/openapi.json",
        "/nowhere",
    ] {
        let none = get(&world, path, &[]).await;
        none.refuses(401, "token_required");
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
async fn a_sole_participant_of_a_token_may_omit_its_handle() {
    let world = World::with(|setup| setup.guard.tokens = Some(tokens(&["sesame", "simsim"]))).await;
    let post = async |token: &str, path: &str, body| world.post_as(token, path, body).await;
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
    let world = World::with(|setup| setup.guard.tokens = Some(tokens(&["sesame"]))).await;
    let mut client = world.client().await;
    let bearer = [("Authorization", "Bearer sesame")];
    let opened = client.request("POST", "/session", &bearer, b"").await;
    let cookie = opened.header("set-cookie").unwrap().to_owned();
    let proof = opened.json()["proof"].as_str().unwrap().to_owned();
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
    let kept = [("Cookie", &*both), ("Chat-Session", &*proof)];
    assert_eq!(get(&world, "/users", &kept).await.status, 200);
    let own = format!("http://{}", world.address);
    let from_own = [kept[0], kept[1], ("Origin", &*own)];
    assert_eq!(get(&world, "/users", &from_own).await.status, 200);
    // A token is no cookie, and a session opens no other one.
    let token = [("Cookie", "talking_stick_session=sesame"), kept[1]];
    assert_eq!(get(&world, "/users", &token).await.status, 401);
    let without = client.request("POST", "/session", &kept, b"").await;
    assert_eq!(without.code(), "token_required");
    // The cookie alone ends nothing.
    client.request("DELETE", "/session", &kept[..1], b"").await;
    assert_eq!(get(&world, "/users", &kept).await.status, 200);
    let closed = client.request("DELETE", "/session", &kept, b"").await;
    assert_eq!(closed.status, 200);
    assert!(closed.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(get(&world, "/users", &kept).await.status, 401);
    let other = client.request("PUT", "/session", &bearer, b"").await;
    assert_eq!(
        (other.status, other.header("allow")),
        (405, Some("POST,DELETE"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_other_sites_cause_reaches_the_page_s_files_alone() {
    let world = World::start(Setup::default()).await;
    for site in ["cross-site", "same-site", "unheard-of"] {
        let from = [("Sec-Fetch-Site", site)];
        for path in ["/users", "/events", "/healthz", "/openapi.json", "/nowhere"] {
            let answer = get(&world, path, &from).await;
            answer.refuses(403, "site_not_allowed");
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
    let world = World::with(|setup| setup.guard.operators = Some(tokens(&["boss"]))).await;
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

/// A browser sends a host's cookies to each of its ports, and whatever listens there can send them here.
#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_alone_is_nobody_s() {
    let mut setup = Setup::default();
    setup.guard.tokens = Some(tokens(&["sesame"]));
    setup.guard.operators = Some(tokens(&["boss"]));
    setup.http.operators = true;
    let world = World::start(setup).await;
    let (ann, anns) = world.session_as("sesame").await;
    let (boss, bosses) = world.session_as("boss").await;
    for (path, cookie, proof, other) in [
        ("/users", &ann, &anns, &bosses),
        ("/admin/overview", &boss, &bosses, &anns),
    ] {
        assert!(!cookie.contains(proof));
        let (secret, proof) = (("Cookie", &**cookie), ("Chat-Session", &**proof));
        let value = cookie.split_once('=').unwrap().1;
        for headers in [
            &[secret][..],
            &[secret, ("Chat-Session", value)],
            &[secret, ("Chat-Session", other)],
            &[proof],
        ] {
            let refused = get(&world, path, headers).await;
            refused.refuses(401, "token_required");
        }
        assert_eq!(get(&world, path, &[secret, proof]).await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_token_gets_no_cookie() {
    let world = World::with(|setup| setup.guard.operators = Some(tokens(&["boss"]))).await;
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
async fn a_reader_id_takes_nothing_from_its_owner() {
    let world = World::free(|setup| setup.config.max_streams = 2).await;
    let (mut ann, mut ben) = (world.register("Ann").await, world.register("Ben").await);
    ben.say("one").await;
    ben.say("two").await;
    let path = format!("/events?reader={}", ann.reader);
    let mut readers = Vec::new();
    for _ in 0..2 {
        // The reader asks to resume behind everything. A reader id must not acknowledge for its
        // owner.
        let client = world.client().await;
        let mut events = client.events(&format!("{path}&after=1"), &[]).await;
        events.until("message.received").await;
        readers.push(events);
    }
    let third = get(&world, &path, &[]).await;
    third.refuses(429, "rate_limited");
    let view = world.service.node().look(|node| {
        let user = node.hub.user_by_name("Ann")?;
        node.hub.participant_view(user)
    });
    assert_eq!(view.await.ok().flatten().map(|view| view.streams), Some(0));
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
