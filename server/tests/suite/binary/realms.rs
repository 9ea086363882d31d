//! Several chats in one server.

use serde_json::{Value, json};

use crate::binary::program::{limited, says};
use crate::process::{Connection, LISTEN, Server};
use crate::stage::{file_with, hello, token_line};

/// Posts to the server, with this token unless it is empty; returns the status and the body.
fn post(server: &Server, (token, path): (&str, &str), handle: &str, body: &Value) -> (u16, Value) {
    let mut connection = Connection::with_token(server.address, token);
    let answer = connection.post(path, handle, body);
    answer.expect("it is answered")
}

/// Registers a participant at this path; returns its handle.
fn register(server: &Server, (token, path): (&str, &str), name: &str) -> String {
    let body = json!({ "username": name, "room": "lobby" });
    let (status, answer) = post(server, (token, &format!("{path}/register")), "", &body);
    assert_eq!(status, 200, "{answer}");
    answer["handle"].as_str().expect("a handle").to_owned()
}

/// The names in the room `lobby` of a realm.
fn names(server: &Server, path: &str, handle: &str) -> Vec<String> {
    let path = format!("{path}/tools/list_users");
    let (status, answer) = post(server, ("", &path), handle, &json!({}));
    assert_eq!(status, 200, "{answer}");
    let users = answer["users"].as_array().expect("a list");
    let name = |user: &Value| user["display_name"].as_str().expect("a name").to_owned();
    users.iter().map(name).collect()
}

#[test]
fn realms_share_neither_names_nor_rooms_nor_handles() {
    let server = Server::start(&["--realms", "arena,court"]);
    let ada = register(&server, ("", ""), "Ada");
    let other = register(&server, ("", "/r/arena"), "Ada");
    register(&server, ("", "/r/arena"), "Ben");
    assert_eq!(names(&server, "", &ada), ["Ada"]);
    assert_eq!(names(&server, "/r/main", &ada), ["Ada"]);
    assert_eq!(names(&server, "/r/arena", &other), ["Ada", "Ben"]);
    for path in ["/r/arena/send", "/r/court/send"] {
        let (_, answer) = post(&server, ("", path), &ada, &json!({ "message": "hello" }));
        assert_eq!(answer["error"]["code"], "unknown_handle", "{path}");
    }
    let answer = server.connect().exchange("POST /r/nowhere/send", &[], "{}");
    let answer = answer.expect("it is answered");
    assert_eq!(answer.status, 404);
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    for path in [
        "/r/arena",
        "/r/arena/",
        "/r/court/operator",
        "/r/arena/metrics",
        "/r/arena/readyz",
    ] {
        let answer = server.connect().exchange(&format!("GET {path}"), &[], "");
        assert_eq!(answer.expect("it is answered").status, 200, "{path}");
    }
}

#[test]
fn a_host_or_a_token_names_a_realm_and_a_token_of_one_is_unknown_in_others() {
    let of_arena = token_line("ben", "sesame").replace('\n', " realm=arena\n");
    let (_file, path) = file_with(&(token_line("ann", "sesame-too") + &of_arena));
    let realms = "arena,court=court.example.org";
    let server = Server::start(&["--realms", realms, "--auth-tokens", &path]);
    let code = |at: (&str, &str)| {
        let body = json!({ "username": "Cid", "room": "lobby" });
        let (_, answer) = post(&server, at, "", &body);
        let code = answer["error"]["code"].as_str();
        code.unwrap_or("none").to_owned()
    };
    assert_eq!(code(("sesame", "/register")), "none");
    assert_eq!(code(("sesame-too", "/r/arena/register")), "name_taken");
    // A token has a participant of its own in each realm.
    let of = |path: &str| register(&server, ("sesame-too", path), "Cid");
    let court = of("http://court.example.org");
    assert_eq!(of("/r/court"), court);
    assert_eq!(of("/r/main"), of(""));
    assert_ne!(of(""), court);
    // The token of one realm.
    for path in [
        "/r/court/register",
        "/r/main/register",
        "http://court.example.org/register",
    ] {
        assert_eq!(code(("sesame", path)), "token_unknown", "{path}");
    }
    assert_eq!(code(("open", "/r/arena/register")), "token_unknown");
    // No realm has this host: the token names the realm, and is enough for any host.
    assert_eq!(
        code(("sesame", "http://arena.example.org/register")),
        "none"
    );
    // A host is named by its header alone, too: in the first realm it would not be allowed.
    let mut connection = server.connect();
    assert!(connection.write(
        b"POST /register HTTP/1.1\r\nHost: court.example.org\r\nAuthorization: Bearer sesame\r\n\
          Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    ));
    let head = connection.head().expect("it is answered");
    assert!(head[0].contains("401"), "{head:?}");
    let cookie = |path: &str| {
        let mut connection = Connection::with_token(server.address, "sesame-too");
        let answer = connection.exchange(&format!("POST {path}"), &[], "{}");
        let answer = answer.expect("it is answered");
        let cookie = answer.header("set-cookie").expect("a cookie").to_owned();
        cookie.split('=').next().expect("a name").to_owned()
    };
    assert_eq!(cookie("/session"), "talking_stick_session");
    assert_eq!(cookie("/r/arena/session"), "talking_stick_session-arena");
}

/// One address guesses tokens in one realm after another.
#[test]
fn a_source_has_as_many_wrong_tokens_in_all_realms_as_in_one() {
    let (_file, path) = file_with(&token_line("ann", "sesame"));
    let server = Server::start(&["--realms", "arena", "--auth-tokens", &path]);
    let codes: Vec<_> = ["", "/r/arena"]
        .iter()
        .cycle()
        .take(12)
        .map(|realm| {
            let at = ("guess", &*format!("{realm}/send"));
            let (_, answer) = post(&server, at, "", &json!({}));
            answer["error"]["code"].as_str().expect("a code").to_owned()
        })
        .collect();
    assert_eq!(codes[..10], ["token_unknown"; 10]);
    assert_eq!(codes[10..], ["rate_limited"; 2]);
}

/// Of so small a server, one address has a quarter of 128 sessions.
#[test]
fn a_source_has_as_many_sessions_in_all_realms_as_in_one() {
    let server = Server::start(&["--realms", "arena", "--memory-limit", "128MiB"]);
    let hello = hello("2025-06-18", &json!({}));
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    // A session is in use until its client has the whole answer.
    let post = |realm: &str, headers: &[(&str, &str)], body: &Value| {
        let (line, body) = (format!("POST {realm}/mcp"), body.to_string());
        let mut connection = server.connect();
        let answer = connection.exchange(&line, headers, &body);
        let answer = answer.expect("it is answered");
        if answer.header("transfer-encoding").is_some() {
            connection.chunks().expect("the answer ends");
        }
        answer
    };
    let open = |realm: &str| {
        let answer = post(realm, &headers, &hello);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.header("mcp-session-id").expect("an id").to_owned()
    };
    let first = open("");
    let status = |id: &str| {
        let headers = [headers[0], headers[1], ("Mcp-Session-Id", id)];
        let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
        post("", &headers, &ping).status
    };
    let held = || server.figure("held{resource=\"sessions\"}");
    for _ in 1..32 {
        open("");
    }
    assert_eq!(held(), 32);
    assert_eq!(status(&first), 200);
    for _ in 0..32 {
        open("/r/arena");
    }
    assert_eq!(held(), 32, "the sessions of the other realm gave way");
    // The first one is taken up again, and one of the other realm gives way to it.
    assert_eq!(status(&first), 200);
    assert_eq!(held(), 32);
}

/// The metrics at this path.
fn metrics(server: &Server, path: &str, headers: &[(&str, &str)]) -> String {
    let answer = server
        .connect()
        .exchange(&format!("GET {path}"), headers, "");
    let answer = answer.expect("it is answered");
    assert_eq!(answer.status, 200, "{path}");
    answer.body
}

#[test]
fn metrics_without_a_realm_are_those_of_the_process_and_of_all_realms() {
    let server = Server::start(&["--realms", "arena"]);
    register(&server, ("", ""), "Ada");
    register(&server, ("", "/r/arena"), "Ben");
    register(&server, ("", "/r/arena"), "Cid");
    let of_main = "talking_stick_participants{realm=\"main\"} 1\n";
    let of_arena = "talking_stick_participants{realm=\"arena\"} 2\n";
    let of_process = "\nprocess_cpu_seconds_total ";
    for (path, wanted) in [
        ("/metrics", [true, true, true]),
        ("/r/main/metrics", [true, false, false]),
        ("/r/arena/metrics", [false, true, false]),
    ] {
        let text = metrics(&server, path, &[]);
        let found = [of_main, of_arena, of_process].map(|part| text.contains(part));
        assert_eq!(found, wanted, "{path}\n{text}");
    }
    let alone = metrics(&Server::start(&[]), "/metrics", &[]);
    assert!(alone.contains("talking_stick_participants 0\n") && alone.contains(of_process));
    assert!(!alone.contains("realm="), "{alone}");
}

#[test]
fn a_token_of_one_realm_shows_the_metrics_of_that_one() {
    let of_main = token_line("ben", "sesame").replace('\n', " realm=main\n");
    let (_file, path) = file_with(&(token_line("ann", "of-all") + &of_main));
    let server = Server::start(&["--realms", "arena", "--auth-tokens", &path]);
    let mut connection = Connection::with_token(server.address, "sesame");
    let answer = connection.exchange("POST /session", &[], "{}");
    let answer = answer.expect("it is answered");
    let cookie = answer.header("set-cookie").expect("a cookie");
    let cookie = cookie.split(';').next().expect("a value");
    let body: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
    let proof = body["proof"].as_str().expect("a proof");
    for (headers, shows) in [
        (&[("Authorization", "Bearer of-all")][..], true),
        (&[("Authorization", "Bearer sesame")], false),
        (&[("Cookie", cookie), ("Chat-Session", proof)], false),
    ] {
        let text = metrics(&server, "/metrics", headers);
        assert!(text.contains("{realm=\"main\"}"), "{text}");
        assert_eq!(text.contains("{realm=\"arena\"}"), shows, "{headers:?}");
    }
}

#[test]
fn every_realm_has_a_journal_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().to_str().expect("text");
    let words = ["--data", data, "--realms", "arena"];
    let server = Server::start(&words);
    let ada = register(&server, ("", ""), "Ada");
    let ben = register(&server, ("", "/r/arena"), "Ben");
    server.signal("TERM");
    assert_eq!(server.exit_code(), Some(0));
    let server = Server::start(&words);
    assert_eq!(names(&server, "", &ada), ["Ada"]);
    assert_eq!(names(&server, "/r/arena", &ben), ["Ben"]);
    server.signal("TERM");
    assert_eq!(server.exit_code(), Some(0));
    for folder in [data, &format!("{data}/realms/arena")] {
        says(&["inspect", "--data", folder], 0, &[]);
    }
}

#[test]
fn a_realm_that_cannot_be_is_refused_at_the_start() {
    let (_file, path) = file_with(&token_line("ben", "sesame").replace('\n', " realm=arean\n"));
    for (words, why) in [
        (&["--realms", "Arena"][..], "1 to 32 letters of a to z"),
        (&["--realms", "main"], "another realm of this name"),
        (&["--realms", "arena,arena"], "another realm of this name"),
        (
            &["--realms", "a=x.org,b=x.org", "--auth-tokens", &path],
            "its host is another realm's",
        ),
        (&["--realms", "a=x.org"], "--auth-tokens"),
        (
            &["stdio", "--realms", "arena"],
            "`talking-stick serve` alone",
        ),
        (
            &["--realms", "arena", "--auth-tokens", &path],
            "no such realm",
        ),
    ] {
        says(words, 2, &[why]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn silent_connections_leave_the_files_of_all_realms() {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::time::Instant;

    use socket2::{Domain, Socket, Type};

    use crate::process::PATIENCE;

    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().to_str().expect("text");
    let realms = "r1,r2,r3,r4,r5,r6,r7,r8";
    let words = [LISTEN, &["--realms", realms, "--data", data]].concat();
    let server = Server::start_as(&mut limited("-n 400", &words));
    let silent = |number: u16| {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        let [_, source] = (number / 100 + 2).to_be_bytes();
        let from = SocketAddr::from((Ipv4Addr::new(127, 0, 0, source), 0));
        socket.bind(&from.into()).expect("an address");
        socket.connect(&server.address.into()).expect("it listens");
        socket
    };
    let _silent: Vec<_> = (0..400).map(silent).collect();
    // One that comes while many are refused is closed without an answer.
    let began = Instant::now();
    let answer = loop {
        if let Some(answer) = server.connect().exchange("GET /healthz", &[], "") {
            break answer;
        }
        assert!(began.elapsed() < PATIENCE, "it is not answered");
    };
    assert_eq!(answer.status, 503);
}
