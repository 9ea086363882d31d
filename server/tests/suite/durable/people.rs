//! People stay logged in to the page over a restart.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::Answer;
use crate::process::Server;

/// The tokens of ann, ben and the operator, with their hashes.
pub(crate) const ANN: (&str, &str) = (
    "open-sesame",
    "d7ecdf25eaf3deba0f2628771dbdd22d4138ab6cf38f91ed02a2ca0dec7c8ab7",
);
pub(crate) const BEN: (&str, &str) = (
    "simsim",
    "af15619a69e0dc30eb22e152c9674f8653974449103f250852bb37694f5a1b10",
);
const OPERATOR: (&str, &str) = (
    "operator-secret",
    "ec585b7be286a5088d8687af4ce027f389cd098e2bb0dee876d5521fa4468f59",
);

/// A server with token files, which are written first.
pub(crate) struct Guarded {
    folder: tempfile::TempDir,
}

impl Guarded {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let guarded = Self { folder };
        guarded.write("tokens", &format!("ann {}\nben {}", ANN.1, BEN.1));
        guarded.write("operators", &format!("root {}", OPERATOR.1));
        guarded
    }

    fn write(&self, name: &str, line: &str) {
        fs::write(self.folder.path().join(name), line).expect("a file");
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn start(&self) -> Server {
        let path = |name: &str| {
            let path = self.folder.path().join(name);
            path.to_str().expect("text").to_owned()
        };
        let (tokens, operators) = (path("tokens"), path("operators"));
        let words = ["--auth-tokens", &tokens, "--operator-tokens", &operators];
        Server::on(&self.data(), &words)
    }
}

fn ask(server: &Server, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let line = format!("{method} {path}");
    let answer = server.connect().exchange(&line, headers, "");
    answer.expect("it is answered")
}

/// The two secrets of a session: the cookie, and what the page keeps beside it.
type Secrets = (String, String);

fn log_in(server: &Server, token: &str) -> Secrets {
    let bearer = format!("Bearer {token}");
    let answer = ask(server, "POST", "/session", &[("Authorization", &bearer)]);
    secrets(&answer)
}

/// The secrets of the session that this answer begins.
fn secrets(answer: &Answer) -> Secrets {
    assert_eq!(answer.status, 200, "{}", answer.body);
    let cookie = answer.header("set-cookie").expect("a cookie");
    let body: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
    let proof = body["proof"].as_str().expect("a proof").to_owned();
    (cookie.split(';').next().expect("a text").to_owned(), proof)
}

fn status(server: &Server, request: &str, (cookie, proof): &Secrets) -> u16 {
    let (method, path) = request.split_once(' ').expect("two words");
    let headers = [("Cookie", &**cookie), ("Chat-Session", &**proof)];
    ask(server, method, path, &headers).status
}

#[test]
fn people_stay_logged_in_over_a_kill_until_they_log_out() {
    let guarded = Guarded::new();
    let server = guarded.start();
    let (ann, left) = (log_in(&server, ANN.0), log_in(&server, ANN.0));
    let operator = log_in(&server, OPERATOR.0);
    assert_eq!(status(&server, "DELETE /session", &left), 200);
    server.kill();
    let server = guarded.start();
    assert_eq!(status(&server, "GET /users", &ann), 200);
    assert_eq!(status(&server, "GET /admin/bans", &ann), 401);
    assert_eq!(status(&server, "GET /admin/bans", &operator), 200);
    assert_eq!(
        status(&server, "GET /users", &left),
        401,
        "it had logged out"
    );
    server.kill();
    // A token that is gone takes its sessions with it.
    guarded.write("tokens", &format!("ben {}", "0".repeat(64)));
    let server = guarded.start();
    assert_eq!(status(&server, "GET /users", &ann), 401);
    assert_eq!(status(&server, "GET /admin/bans", &operator), 200);
}

#[test]
fn an_operator_that_logs_out_is_the_user_that_it_was() {
    let guarded = Guarded::new();
    let server = guarded.start();
    let (cookie, proof) = log_in(&server, ANN.0);
    let bearer = format!("Bearer {}", OPERATOR.0);
    let user = [("Cookie", &*cookie), ("Chat-Session", &*proof)];
    let headers = [user[0], user[1], ("Authorization", &bearer)];
    let both = secrets(&ask(&server, "POST", "/session", &headers));
    assert_eq!(status(&server, "GET /admin/bans", &both), 200);
    let headers = [("Cookie", &*both.0), ("Chat-Session", &*both.1)];
    let left = secrets(&ask(&server, "DELETE", "/session", &headers));
    assert_eq!(status(&server, "GET /users", &left), 200);
    assert_eq!(status(&server, "GET /admin/bans", &left), 401);
    assert_eq!(status(&server, "GET /admin/bans", &both), 401);
}

#[test]
fn the_file_of_sessions_holds_no_secret_and_may_be_damaged() {
    let guarded = Guarded::new();
    let server = guarded.start();
    let ann = log_in(&server, ANN.0);
    let file = guarded.data().join("sessions.json");
    let text = fs::read_to_string(&file).expect("a file");
    let (_, cookie) = ann.0.split_once('=').expect("a pair");
    for secret in [cookie, &ann.1, ANN.0] {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(is_private(&file));
    server.kill();
    for damage in ["", "[", "[{}]", "null", "[{\"secrets\": \"x\"}]"] {
        fs::write(&file, damage).expect("a file");
        let server = guarded.start();
        assert_eq!(status(&server, "GET /users", &ann), 401, "{damage}");
        server.kill();
    }
}

fn is_private(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(file).expect("a file").permissions().mode();
    mode & 0o077 == 0
}
