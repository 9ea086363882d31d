//! Several chats in one server.

use serde_json::{Value, json};

use crate::process::{Answer, Connection};
use crate::program::{Server, ran};
use crate::tokens::token_line;

const HANDLE: &str = "Chat-Handle";

/// Posts to the server, with this token unless it is empty.
fn post(server: &Server, (token, path): (&str, &str), handle: &str, body: &Value) -> Answer {
    let mut connection = Connection::with_token(server.address, token);
    let answer = connection.exchange(
        &format!("POST {path}"),
        &[(HANDLE, handle)],
        &body.to_string(),
    );
    answer.expect("it is answered")
}

/// Registers a participant at this path; returns its handle.
fn register(server: &Server, at: (&str, &str), name: &str) -> String {
    let body = json!({ "username": name, "room": "lobby" });
    let path = format!("{}/register", at.1);
    let answer = post(server, (at.0, &path), "", &body);
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()["handle"]
        .as_str()
        .expect("a handle")
        .to_owned()
}

/// The names in the room `lobby` of a realm.
fn names(server: &Server, path: &str, handle: &str) -> Vec<String> {
    let answer = post(
        server,
        ("", &format!("{path}/tools/list_users")),
        handle,
        &json!({}),
    );
    assert_eq!(answer.status, 200, "{}", answer.body);
    let users = answer.json()["users"].as_array().expect("a list").clone();
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
        let answer = post(&server, ("", path), &ada, &json!({ "message": "hello" }));
        assert_eq!(answer.json()["error"]["code"], "unknown_handle", "{path}");
    }
    let answer = post(
        &server,
        ("", "/r/nowhere/send"),
        &ada,
        &json!({ "message": "hello" }),
    );
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
    let file = tempfile::NamedTempFile::new().expect("a file");
    let of_arena = token_line("ben", "sesame").replace('\n', " realm=arena\n");
    let lines = token_line("ann", "sesame-too") + &of_arena;
    std::fs::write(file.path(), lines).expect("room on the disk");
    let path = file.path().to_str().expect("text");
    let server = Server::start(&[
        "--realms",
        "arena,court=court.example.org",
        "--auth-tokens",
        path,
    ]);
    let code = |at: (&str, &str)| {
        let body = json!({ "username": "Cid", "room": "lobby" });
        let answer = post(&server, at, "", &body);
        answer.json()["error"]["code"]
            .as_str()
            .unwrap_or("none")
            .to_owned()
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
    assert_eq!(
        code(("sesame", "http://arena.example.org/register")),
        "host_not_allowed"
    );
    let cookie = |path: &str| {
        let answer = post(&server, ("sesame-too", path), "", &json!({}));
        let cookie = answer.header("set-cookie").expect("a cookie").to_owned();
        cookie.split('=').next().expect("a name").to_owned()
    };
    assert_eq!(cookie("/session"), "talking_stick_session");
    assert_eq!(cookie("/r/arena/session"), "talking_stick_session-arena");
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
    let of_arena = folder.path().join("realms/arena");
    for folder in [data, of_arena.to_str().expect("text")] {
        let (code, told, _) = ran(&["inspect", "--data", folder]);
        assert_eq!(code, Some(0), "{told}");
    }
}

#[test]
fn a_realm_that_cannot_be_is_refused_at_the_start() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let line = token_line("ben", "sesame").replace('\n', " realm=arean\n");
    std::fs::write(file.path(), line).expect("room on the disk");
    let path = file.path().to_str().expect("text");
    for (words, why) in [
        (vec!["--realms", "Arena"], "1 to 32 letters of a to z"),
        (vec!["--realms", "main"], "another realm of this name"),
        (
            vec!["--realms", "arena,arena"],
            "another realm of this name",
        ),
        (
            vec!["--realms", "a=x.org,b=x.org", "--auth-tokens", path],
            "its host is another realm's",
        ),
        (vec!["--realms", "a=x.org"], "--auth-tokens"),
        (
            vec!["stdio", "--realms", "arena"],
            "`talking-stick serve` alone",
        ),
        (
            vec!["--realms", "arena", "--auth-tokens", path],
            "no such realm",
        ),
    ] {
        let (code, _, told) = ran(&words);
        assert_eq!(code, Some(2), "{words:?}: {told}");
        assert!(told.contains(why), "{words:?}: {told}");
    }
}
