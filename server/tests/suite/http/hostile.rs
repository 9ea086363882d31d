//! Hostile input: the server always refuses clearly, and other clients are undisturbed.

use std::time::Duration;

use serde_json::{Value, json};
use server_chat::capacity::Share;

use crate::http::client::Client;
use crate::http::world::{Setup, World};

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// The server still serves clients.
async fn serves(world: &World) {
    let mut client = world.client().await;
    let answer = client.get("/readyz").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// Posts this, which has to be refused with this status and code.
async fn refused(
    (world, path): (&World, &str),
    headers: &[(&str, &str)],
    body: &[u8],
    (status, code): (u16, &str),
) {
    let mut client = world.client().await;
    let answer = client.request("POST", path, headers, body).await;
    let given = (answer.status, &*answer.code());
    assert_eq!(given, (status, code), "{path} {body:?}");
}

const INVALID: (u16, &str) = (400, "invalid_arguments");

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_no_arguments_are_refused() {
    let world = World::start(Setup::default()).await;
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let deep = format!("{{\"username\":{deep}}}");
    let bodies: &[&[u8]] = &[
        b"{",
        b"[]",
        b"null",
        b"\"x\"",
        b"{\"username\":}",
        b"{} {}",
        b"\xff\xfe{}",
        b"{\"username\":\"\xc3\x28\"}",
        b"\0",
        deep.as_bytes(),
    ];
    for body in bodies {
        for path in [
            "/register",
            "/send",
            "/tools/login",
            "/unregister",
            "/check_event",
        ] {
            refused((&world, path), &[JSON], body, INVALID).await;
        }
    }
    for headers in [&[("Content-Type", "text/plain")][..], &[]] {
        let body = b"{\"username\":\"Ann\"}";
        refused((&world, "/register"), headers, body, INVALID).await;
    }
    serves(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_body_is_refused_as_one() {
    let world = World::start(Setup::default()).await;
    let body = b"{\"username\":\"Ann\"}";
    let zipped = [JSON, ("Content-Encoding", "gzip")];
    for path in ["/register", "/mcp"] {
        let zip = b"\x1f\x8b\x08";
        refused((&world, path), &zipped, zip, (415, "body_encoded")).await;
    }
    let plain = [JSON, ("Content-Encoding", "identity")];
    let mut client = world.client().await;
    let taken = client.request("POST", "/register", &plain, body).await;
    assert_eq!(taken.status, 200, "{}", taken.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_of_wrong_types_are_named() {
    let world = World::start(Setup::free()).await;
    let mut ann = world.register("Ann").await;
    let wrong = [
        Value::from(7),
        json!([1]),
        json!({ "a": 1 }),
        true.into(),
        json!(1e300),
    ];
    for value in wrong {
        for (path, name) in [
            ("/send", "message"),
            ("/send", "room_id"),
            ("/send", "request_key"),
            ("/check_event", "handle"),
            ("/tools/login", "username"),
            ("/tools/report_user", "reason"),
        ] {
            let mut body = json!({ "message": "x", "username": "Ann", "user_id": "user_9" });
            if path != "/send" {
                body.as_object_mut().unwrap().remove("message");
            }
            body[name] = value.clone();
            let answer = ann.post(path, body).await;
            answer.refuses(400, "invalid_arguments");
        }
    }
    for delay in [json!(-1), json!("5"), json!(0.5), json!(1e300)] {
        let answer = ann.post("/check_event", json!({ "delay": delay })).await;
        answer.refuses(400, "invalid_arguments");
        assert!(answer.text().contains("`delay`"), "{}", answer.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_large_is_answered_413() {
    let world = World::free(|setup| setup.guard.max_body = 10_000).await;
    let mut ann = world.register("Ann").await;
    let long = ann
        .post("/send", json!({ "message": "x".repeat(5_000) }))
        .await;
    long.refuses(413, "message_too_long");
    let huge = vec![b' '; 60_000];
    let too_large = (413, "body_too_large");
    for path in ["/send", "/mcp"] {
        refused((&world, path), &[JSON], &huge, too_large).await;
    }
    // The body has no announced length, and never ends.
    let mut client = world.client().await;
    let chunked = [JSON, ("Transfer-Encoding", "chunked")];
    let head = client.head("POST", "/send", &chunked, None);
    client.write(head.as_bytes()).await;
    let chunk = [b"4000\r\n", &vec![b' '; 0x4000][..], b"\r\n"].concat();
    for _ in 0..3 {
        client.write(&chunk).await;
    }
    client.write(b"0\r\n\r\n").await;
    let answer = client.answer("POST").await;
    answer.refuses(413, "body_too_large");
    // A client that asks before it sends is refused before it sends.
    let mut client = world.client().await;
    let asks = [
        JSON,
        ("Expect", "100-continue"),
        ("Content-Length", "99999999999"),
    ];
    let head = client.head("POST", "/send", &asks, None);
    client.write(head.as_bytes()).await;
    assert_eq!(client.answer("POST").await.status, 413);
    serves(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_goes_on_behind_no_text_that_is_longer_than_a_name() {
    let world = World::start(Setup::default()).await;
    let of = async |length: usize| {
        let path = format!("/users?limit=1&after={}", "%EF%B7%BA".repeat(length));
        let answer = world.client().await.get(&path).await;
        (answer.status, answer.text())
    };
    assert_eq!(of(64).await.0, 200);
    let (status, told) = of(1_000).await;
    assert!(status == 400 && told.contains("`after`"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_come_byte_by_byte_or_not_at_all_are_given_up() {
    let world = World::with(|setup| setup.guard.body_within = Duration::from_millis(200)).await;
    let mut slow = world.client().await;
    let head = slow.head("POST", "/register", &[JSON], Some(100));
    slow.write(head.as_bytes()).await;
    slow.write(b"{").await;
    let answer = slow.answer("POST").await;
    answer.refuses(408, "body_too_slow");
    let mut gone = world.client().await;
    let head = gone.head("POST", "/register", &[JSON], Some(100));
    gone.write(head.as_bytes()).await;
    drop(gone);
    serves(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heads_that_do_not_end_or_are_none_end_the_connection() {
    let world = World::with(|setup| setup.limits.head = Duration::from_millis(200)).await;
    let mut half = Vec::new();
    for _ in 0..300 {
        let mut client = world.client().await;
        client
            .write(b"GET /users HTTP/1.1\r\nHost: localhost\r\n")
            .await;
        half.push(client);
    }
    serves(&world).await;
    for client in &mut half {
        let rest = client.rest().await;
        assert!(
            rest.is_empty() || rest.starts_with(b"HTTP/1.1 4"),
            "{rest:?}"
        );
    }
    let many: String = (0..500).map(|n| format!("X-{n}: y\r\n")).collect();
    let long = format!("X-Long: {}\r\n", "y".repeat(1_000_000));
    for headers in [many, long] {
        let mut client = world.client().await;
        let head = format!("GET /users HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        client.write(head.as_bytes()).await;
        assert_eq!(client.answer("GET").await.status, 431);
    }
    for nonsense in [
        &b"\x16\x03\x01\x02\x00"[..],
        b"hello\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
    ] {
        let mut client = world.client().await;
        client.write(nonsense).await;
        let rest = client.rest().await;
        assert!(
            rest.is_empty() || rest.starts_with(b"HTTP/1.1 400"),
            "{nonsense:?}"
        );
    }
    serves(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn guessed_handles_open_nothing() {
    let world = World::start(Setup::free()).await;
    let mut ann = world.register("Ann").await;
    let reader = ann.reader.clone();
    let long = "h".repeat(200);
    for (guess, status) in [
        ("h_AAAAAAAAAAAAAAAAAAAAAA", 401),
        ("user_1", 401),
        (&*reader, 401),
        (&*long, 400),
        ("", 401),
    ] {
        let mut client = world.client().await;
        for (path, body) in [
            ("/send", json!({ "message": "x" })),
            ("/reconnect", json!({})),
        ] {
            let answer = client.post(path, Some(guess), &body).await;
            assert_eq!(answer.status, status, "{path} {guess}");
        }
    }
    let twice = [
        JSON,
        ("Chat-Handle", &*ann.handle),
        ("Chat-Handle", "h_other"),
    ];
    refused((&world, "/reconnect"), &twice, b"{}", INVALID).await;
    assert_eq!(ann.post("/reconnect", json!({})).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_s_room_is_closed_and_a_sender_cannot_be_forged() {
    let world = World::start(Setup::free()).await;
    let (mut ann, mut ben) = (world.register("Ann").await, world.register("Ben").await);
    let den = ann
        .post("/tools/login", json!({ "username": "Ann", "room": "den" }))
        .await;
    let den = den.json()["room_id"].clone();
    for (path, body) in [
        ("/send", json!({ "message": "x", "room_id": den })),
        ("/talking_stick", json!({ "room_id": den })),
        ("/tools/list_users", json!({ "room_id": den })),
        ("/tools/history", json!({ "room_id": den })),
    ] {
        let answer = ben.post(path, body).await;
        answer.refuses(403, "not_in_room");
    }
    for forged in [
        "sender",
        "user_id",
        "username",
        "from",
        "timestamp",
        "message_id",
    ] {
        let mut body = json!({ "message": "x" });
        body[forged] = "Ann".into();
        let answer = ben.post("/send", body).await;
        answer.refuses(400, "invalid_arguments");
    }
    ben.say("event: x\n\ndata: y").await;
    let lobby = ann.room.clone();
    let history = ann
        .post("/tools/history", json!({ "room_id": lobby }))
        .await;
    assert_eq!(
        history.json()["messages"][0]["sender"]["display_name"],
        "Ben"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_name_passes_for_another_s_or_for_the_server() {
    let world = World::start(Setup::free()).await;
    let refused = async |name: &str| {
        let body = json!({ "username": name });
        let answer = world.client().await.post("/register", None, &body).await;
        answer.code()
    };
    for name in [
        "Server",
        "SYSTEM",
        "Sеrver",
        "",
        "a\nb",
        "\u{202e}x",
        "SYSТEМ",
        "SEᎡVEᎡ",
        "Server\u{70f}",
        "Server:",
        "[Server]",
        "the ser-ver",
        "Operator",
        "ADMlN",
        "you",
        "Вob",
        "Ηolly",
        "Ꭱita",
        "🦀",
        "?!",
        "\u{301}",
    ] {
        assert_eq!(refused(name).await, "name_not_allowed", "{name:?}");
    }
    for name in ["Alice", "bob", "Алиса GPT", "太郎 Tシャツ", "Ann 🦀"] {
        let mut user = world.register(name).await;
        user.post("/tools/leave_queue", json!({})).await;
    }
    for name in ["AIice", "ALlCE", "A l i c e", "ВОВ", "B0B"] {
        assert_eq!(refused(name).await, "name_taken", "{name:?}");
    }
    let enter = async |id: &str| {
        let body = json!({ "user_id": id });
        let mut client = world.client().await;
        client.post("/tools/enter_queue", None, &body).await
    };
    let dan = enter("Dan.1").await.json();
    let mut client = world.client().await;
    let handle = dan["handle"].as_str();
    client.post("/tools/leave_queue", handle, &json!({})).await;
    for id in ["dan.l", "AIice", "b0b", "system", "the-server", "you"] {
        assert_eq!(enter(id).await.code(), "user_id_taken", "{id}");
    }
    assert_eq!(refused("DAN.1").await, "name_taken");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_is_told_when_to_come_again_and_others_are_served() {
    let world = World::start(Setup::default()).await;
    let (mut ann, mut ben) = (world.register("Ann").await, world.register("Ben").await);
    let mut refusals = 0;
    for _ in 0..200 {
        let answer = ann.post("/tools/list_users", json!({})).await;
        if answer.status == 429 {
            assert_eq!(answer.code(), "rate_limited");
            assert!(answer.json()["error"]["retry_after_ms"].as_u64().unwrap() > 0);
            assert_eq!(answer.header("retry-after"), Some("1"));
            refusals += 1;
        }
    }
    assert!(refusals > 0);
    assert_eq!(ben.post("/tools/list_users", json!({})).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_on_one_connection_do_not_mix() {
    let world = World::start(Setup::default()).await;
    let mut client: Client = world.client().await;
    let mut both = client.head("GET", "/healthz", &[], None);
    both += &client.head("GET", "/nowhere", &[], None);
    client.write(both.as_bytes()).await;
    assert_eq!(client.answer("GET").await.status, 200);
    assert_eq!(client.answer("GET").await.status, 404);
    // Request smuggling past a proxy uses two lengths that disagree.
    let lengths = [JSON, ("Content-Length", "2"), ("Content-Length", "3")];
    let head = client.head("POST", "/register", &lengths, None);
    client.write(format!("{head}{{}}x").as_bytes()).await;
    assert_eq!(client.answer("POST").await.status, 400);
}

/// Far more half-open connections than honest clients need, and twice as many file descriptors of
/// this process.
const HALF_OPEN: usize = 3_000;

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_half_open_connections_hold_up_nobody_and_end() {
    let files = server::listener::raise_file_limit();
    assert!(
        files > 2 * HALF_OPEN as u64,
        "the machine allows {files} open files"
    );
    let mut setup = Setup::free();
    setup.capacity.connections = Share {
        all: HALF_OPEN as u64 + 100,
        each: HALF_OPEN as u64 + 100,
    };
    setup.limits.head = Duration::from_secs(5);
    setup.guard.body_within = Duration::from_secs(5);
    let world = World::start(setup).await;
    let (ann, ben) = (world.register("Ann").await, world.register("Ben").await);
    // Each on a new connection: the server closes one that is idle for as long as `head`.
    let say = async |handle: &str, message: String| {
        let body = json!({ "message": message });
        let answer = world
            .client()
            .await
            .post("/send", Some(handle), &body)
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    let mut events = world.events(&ben.handle, None).await;
    let mut half = Vec::new();
    for n in 0..HALF_OPEN {
        let mut client = world.client().await;
        // Nothing at all, half of the headers, half a body, and half of a stream's headers.
        let begun: &[u8] = match n % 4 {
            0 => b"",
            1 => b"POST /register HTTP/1.1\r\nHost: loc",
            2 => {
                b"POST /send HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                  Content-Length: 100\r\n\r\n{"
            }
            _ => b"GET /events HTTP/1.1\r\nHost: localhost\r\nChat-Handle: h_",
        };
        client.write(begun).await;
        half.push(client);
        if n % 500 == 0 {
            say(&ann.handle, format!("over {n}")).await;
            events.until("message.received").await;
        }
    }
    serves(&world).await;
    say(&ben.handle, "still here".to_owned()).await;
    // The server gives up each of them by itself, with or without a response.
    for mut client in half {
        client.rest().await;
    }
    serves(&world).await;
}
