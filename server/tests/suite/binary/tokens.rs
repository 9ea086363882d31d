//! Token files, and the log's lines about callers.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::ChildStderr;

use crate::binary::program::{limited, ran, ran_as};
use crate::process::{Connection, Server};
use crate::stage::{file_with, token_line};

/// Posts with this token; returns the status of the response.
fn status(server: &Server, token: &str, line: &str, body: &str) -> u16 {
    let answer = Connection::with_token(server.address, token).exchange(line, &[], body);
    answer.expect("it is answered").status
}

/// A server whose guest Ann has the token `sesame` and whose operator Olga has `the-boss`.
struct Guarded {
    server: Server,
    guests: tempfile::NamedTempFile,
    log: std::io::Lines<BufReader<ChildStderr>>,
    _operators: tempfile::NamedTempFile,
}

impl Guarded {
    fn start() -> Self {
        let (guests, path) = file_with(&token_line("ann", "sesame"));
        let (operators, of_operators) = file_with(&token_line("olga", "the-boss"));
        let tokens = ["--auth-tokens", &path, "--operator-tokens", &of_operators];
        let mut server = Server::start(&[&tokens[..], &["--log", "json"]].concat());
        let log = server.log.take().expect("a pipe");
        Self {
            server,
            guests,
            log: log.lines(),
            _operators: operators,
        }
    }

    /// The lines of the log up to the one that contains `wanted`.
    fn until(&mut self, wanted: &str) -> Vec<String> {
        self.until_all(&[wanted])
    }

    fn until_all(&mut self, wanted: &[&str]) -> Vec<String> {
        let mut seen: Vec<String> = Vec::new();
        for line in self.log.by_ref().map_while(Result::ok) {
            seen.push(line);
            let has = |line: &String| wanted.iter().all(|word| line.contains(word));
            if seen.last().is_some_and(has) {
                return seen;
            }
        }
        panic!("no {wanted:?} in {seen:#?}");
    }

    /// Waits until the metrics say that this many files of callers' tokens are stale.
    fn until_stale(&self, number: u64) {
        let wanted = format!("talking_stick_stale_token_files{{of=\"callers\"}} {number}\n");
        loop {
            let mut connection = Connection::with_token(self.server.address, "sesame");
            let answer = connection.exchange("GET /metrics", &[], "");
            if answer.expect("it is answered").body.contains(&wanted) {
                return;
            }
        }
    }

    /// Makes the server reload its token file with these lines, and returns the log line that
    /// contains `wanted`.
    fn read(&mut self, guests: &str, wanted: &str) -> String {
        std::fs::write(self.guests.path(), guests).expect("room on the disk");
        self.server.signal("HUP");
        let file = self.guests.path().to_str().expect("text").to_owned();
        self.until_all(&[&file, wanted]).pop().expect("a line")
    }
}

#[test]
fn a_hangup_reads_the_tokens_again_and_keeps_the_chats() {
    let mut guarded = Guarded::start();
    let body = "{\"username\": \"Ann\"}";
    let answered = |guarded: &Guarded, token: &str, line: &str, body: &str| {
        status(&guarded.server, token, line, body)
    };
    assert_eq!(answered(&guarded, "sesame", "POST /register", body), 200);
    let told = guarded.read("ann 12ab\n", "stay as they were");
    assert!(told.contains(":1: ") && told.contains("ERROR"), "{told}");
    guarded.until_stale(1);
    assert_eq!(answered(&guarded, "sesame", "POST /reconnect", "{}"), 200);
    let both = token_line("ann", "sesame") + &token_line("ben", "simsim");
    guarded.read(&both, "read again");
    guarded.until_stale(0);
    assert_eq!(answered(&guarded, "simsim", "GET /users", ""), 200);
    let told = guarded.read(&token_line("ann", "sesame"), "read again");
    assert!(told.contains("revoked") && told.contains("ben"), "{told}");
    assert_eq!(answered(&guarded, "simsim", "GET /users", ""), 401);
    assert_eq!(answered(&guarded, "sesame", "POST /reconnect", "{}"), 200);
    let told = guarded.read("", "no token");
    assert!(told.contains("WARN"), "{told}");
    assert_eq!(answered(&guarded, "sesame", "POST /reconnect", "{}"), 401);
    let unnamed = Connection::open(guarded.server.address).exchange("GET /users", &[], "");
    assert_eq!(unnamed.expect("it is answered").status, 401);
    guarded.read(&token_line("ann", "sesame"), "read again");
    assert_eq!(answered(&guarded, "sesame", "GET /users", ""), 200);
    guarded.server.signal("TERM");
    assert_eq!(guarded.server.exit_code(), Some(0));
}

#[test]
fn the_log_tells_of_guesses_once_and_of_operators_each_time() {
    let mut guarded = Guarded::start();
    let body = "{\"username\": \"Ann\"}";
    assert_eq!(
        status(&guarded.server, "sesame", "POST /register", body),
        200
    );
    for _ in 0..50 {
        let refused = status(&guarded.server, "guess", "GET /users", "");
        assert!(matches!(refused, 401 | 429), "{refused}");
    }
    let mute = "{\"name\": \"Ann\", \"reason\": \"too loud\"}";
    let done = status(&guarded.server, "the-boss", "POST /admin/mute", mute);
    assert_eq!(done, 200);
    let nobody = "{\"name\": \"Nobody\", \"reason\": \"too loud\"}";
    let refused = status(&guarded.server, "the-boss", "POST /admin/mute", nobody);
    assert_eq!(refused, 404);
    let seen = guarded.until("an operator acted");
    let told = seen.last().expect("a line");
    let next = guarded.until("olga").pop().expect("a line");
    assert!(
        next.contains("act is refused") && next.contains("404"),
        "{next}"
    );
    for wanted in [
        "talking_stick::operators",
        "INFO",
        "olga",
        "mute",
        "\"whom\":\"name Ann\"",
        "\"why\":\"too loud\"",
        "200",
    ] {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    let of_guard = |line: &&String| line.contains("talking_stick::guard");
    let refused: Vec<_> = seen.iter().filter(of_guard).collect();
    assert_eq!(refused.len(), 1, "{refused:#?}");
    assert!(refused[0].contains("wrong_token") && refused[0].contains("127.0.0.1"));
    guarded.server.signal("TERM");
    let rest = guarded.until("stopped");
    let all = seen.iter().chain(&rest);
    for line in all {
        assert!(
            !line.contains("guess") && !line.contains("the-boss"),
            "{line}"
        );
    }
    assert_eq!(guarded.server.exit_code(), Some(0));
}

#[test]
fn a_token_is_made_with_its_line_and_changed_while_its_owner_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tokens.txt");
    let path = file.to_str().expect("text");
    let make = |name: &str| {
        let (code, out, said) = ran(&["token", name, path]);
        (code, out.trim_end().to_owned(), said)
    };
    for name in ["a/b", "a b", "#c", ""] {
        let (code, out, said) = ran(&["token", name, path]);
        assert_eq!((code, &*out), (Some(1), ""), "{name}: {said}");
        assert!(
            said.contains("a name has 1 to 64 letters"),
            "{name}: {said}"
        );
        assert_eq!(ran(&["token", name]).0, Some(1), "{name}");
    }
    assert!(!file.exists());
    let (code, old, said) = make("ann");
    assert_eq!((code, old.len()), (Some(0), 43), "{said}");
    let mode = fs::metadata(&file)
        .expect("it was made")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let before = fs::read_to_string(&file).expect("text");
    let (code, _, said) = make("ann");
    assert_eq!(code, Some(1));
    assert!(
        said.contains("tokens.txt:2: ") && said.contains("2026-12-31"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(&file).expect("text"), before);
    let (code, out, _) = ran(&["token", "ann"]);
    assert_eq!(code, Some(0));
    assert!(
        out.lines()
            .nth(1)
            .is_some_and(|line| line.starts_with("ann ")),
        "{out}"
    );

    let mut server = Server::start(&["--auth-tokens", path]);
    let log = server.log.take().expect("a pipe");
    let mut log = log.lines().map_while(Result::ok);
    let ended = format!("{} 2999-12-31", before.trim_end());
    fs::write(&file, &ended).expect("room on the disk");
    let (code, new, said) = make("ann");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(make("ben").0, Some(0));
    let body = "{\"username\": \"Ann\"}";
    assert_eq!(status(&server, &old, "POST /register", body), 200);
    server.signal("HUP");
    assert!(log.any(|line| line.contains("added=\"ann ben\"")));
    for token in [&old, &new] {
        assert_eq!(status(&server, token, "POST /reconnect", "{}"), 200);
    }
    let all = fs::read_to_string(&file).expect("text");
    let rest: String = all
        .lines()
        .skip(1)
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(&file, rest).expect("room on the disk");
    server.signal("HUP");
    assert!(log.any(|line| line.contains("revoked=\"ann\"")));
    assert_eq!(status(&server, &old, "GET /users", ""), 401);
    assert_eq!(status(&server, &new, "POST /reconnect", "{}"), 200);
}

#[test]
fn a_file_beyond_the_size_limit_of_the_system_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let words: [&[&str]; 2] = [
        &["token", "ann", &path("tokens")],
        &["serve", "--listen", "127.0.0.1:0", "--data", &path("data")],
    ];
    for words in words {
        let (code, out, said) = ran_as(&mut limited("-f 0", words));
        assert_eq!((code, out.as_str()), (Some(1), ""), "{words:?}: {said}");
        assert!(said.contains("error: "), "{words:?}: {said}");
    }
}

#[test]
fn a_line_that_does_not_fit_on_the_disk_leaves_the_file_as_it_was() {
    // A block has 512 bytes.
    let before = format!("{}\n", "#".repeat(490));
    let (_file, path) = file_with(&before);
    let (code, _, said) = ran_as(&mut limited("-f 1", &["token", "ann", &path]));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("cannot write"), "{said}");
    assert_eq!(fs::read_to_string(path).expect("text"), before);
}

#[cfg(target_os = "linux")]
#[test]
fn a_reading_of_tokens_that_failed_is_repeated_until_it_succeeds() {
    use rlimit::Resource;

    let mut guarded = Guarded::start();
    let (mut soft, mut hard) = (0, 0);
    let id = guarded.server.id().try_into().expect("a process");
    let old = Some((&mut soft, &mut hard));
    rlimit::prlimit(id, Resource::NOFILE, None, old).expect("its limit");
    let limit = |files| rlimit::prlimit(id, Resource::NOFILE, Some((files, hard)), None);
    limit(3).expect("a lower limit");
    guarded.read(&token_line("ben", "simsim"), "too many open files");
    limit(soft).expect("the limit of before");
    // The operators' file is read again, too.
    let file = guarded.guests.path().to_str().expect("text").to_owned();
    let told = guarded.until_all(&[&file, "were read again"]).pop();
    let told = told.expect("a line");
    assert!(told.contains("\"revoked\":\"ann\""), "{told}");
    assert_eq!(status(&guarded.server, "sesame", "GET /users", ""), 401);
}
