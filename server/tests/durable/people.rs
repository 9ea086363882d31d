//! People stay logged in to the page over a restart.

use std::fs;
use std::path::{Path, PathBuf};

use crate::client::Server;
use crate::process::Answer;

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
        Server::start(&self.data(), &words)
    }
}

fn ask(server: &Server, method: &str, path: &str, header: (&str, &str)) -> Answer {
    ask_with(server, method, path, &[header])
}

fn ask_with(server: &Server, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let line = format!("{method} {path}");
    let answer = server.connect().exchange(&line, headers, "");
    answer.expect("it is answered")
}

/// An operator's cookie, with the secret that the page keeps beside it.
fn log_in_as_operator(server: &Server) -> (String, String) {
    let bearer = format!("Bearer {}", OPERATOR.0);
    let answer = ask(server, "POST", "/session", ("Authorization", &bearer));
    let cookie = answer.header("set-cookie").expect("a cookie");
    let proof: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
    let proof = proof["proof"].as_str().expect("a proof").to_owned();
    (cookie.split(';').next().expect("a text").to_owned(), proof)
}

/// The status of an operator's view.
fn view(server: &Server, (cookie, proof): &(String, String)) -> u16 {
    let headers = [("Cookie", &**cookie), ("Chat-Session", &**proof)];
    ask_with(server, "GET", "/admin/bans", &headers).status
}

fn log_in(server: &Server, token: &str) -> String {
    let bearer = format!("Bearer {token}");
    let answer = ask(server, "POST", "/session", ("Authorization", &bearer));
    assert_eq!(answer.status, 200, "{}", answer.body);
    let cookie = answer.header("set-cookie").expect("a cookie");
    cookie.split(';').next().expect("a text").to_owned()
}

fn status(server: &Server, path: &str, cookie: &str) -> u16 {
    ask(server, "GET", path, ("Cookie", cookie)).status
}

#[test]
fn people_stay_logged_in_over_a_kill_until_they_log_out() {
    let guarded = Guarded::new();
    let server = guarded.start();
    let (ann, left) = (log_in(&server, ANN.0), log_in(&server, ANN.0));
    let operator = log_in_as_operator(&server);
    assert_eq!(
        ask(&server, "DELETE", "/session", ("Cookie", &left)).status,
        200
    );
    server.kill();
    let server = guarded.start();
    assert_eq!(status(&server, "/users", &ann), 200);
    assert_eq!(status(&server, "/admin/bans", &ann), 401);
    assert_eq!(view(&server, &operator), 200);
    assert_eq!(status(&server, "/users", &left), 401, "it had logged out");
    server.kill();
    // A token that is gone takes its sessions with it.
    guarded.write("tokens", &format!("ben {}", "0".repeat(64)));
    let server = guarded.start();
    assert_eq!(status(&server, "/users", &ann), 401);
    assert_eq!(view(&server, &operator), 200);
}

#[test]
fn the_file_of_sessions_holds_no_secret_and_may_be_damaged() {
    let guarded = Guarded::new();
    let server = guarded.start();
    let ann = log_in(&server, ANN.0);
    let file = guarded.data().join("sessions.json");
    let text = fs::read_to_string(&file).expect("a file");
    let (_, secret) = ann.split_once('=').expect("a pair");
    assert!(!text.contains(secret) && !text.contains(ANN.0), "{text}");
    assert!(is_private(&file));
    server.kill();
    for damage in ["", "[", "[{}]", "null", "[{\"cookie\": \"x\"}]"] {
        fs::write(&file, damage).expect("a file");
        let server = guarded.start();
        assert_eq!(status(&server, "/users", &ann), 401, "{damage}");
        server.kill();
    }
}

fn is_private(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(file).expect("a file").permissions().mode();
    mode & 0o077 == 0
}
