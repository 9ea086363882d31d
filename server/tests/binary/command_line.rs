//! Exit codes, and the help text.

use std::io::BufRead as _;
use std::net::TcpListener;
use std::process::Command;

use serde_json::{Value, json};

use crate::program::{Server, binary, ran};

#[test]
fn a_place_that_is_taken_is_told_with_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, _, said) = ran(&["--listen", &address]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains(&address) && said.contains("--listen"),
        "{said}"
    );
    assert!(!said.contains('\x1b'), "no colour in a pipe: {said}");
}

#[test]
fn a_setting_that_cannot_be_is_exit_2_and_says_what_could() {
    let wrong: [(&[&str], &str); 15] = [
        (&["--boss_alertness", "101"], "0 to 100"),
        (&["--boss-alertness", "-1"], "0 to 100"),
        (&["stdio", "--boss_alertness", "much"], "--boss-alertness"),
        (
            &["stdio", "--boss_alertness_cooldown", "-1"],
            "0 to 31536000",
        ),
        (&["--boss-alertness-cooldown=99999999"], "0 to 31536000"),
        (&["--limit", "boss_alertness=101"], "0 to 100"),
        (&["--limit", "max_members=1"], "2 to 65536"),
        (&["--listen", "0.0.0.0:0"], "--allow-hosts"),
        (&["--grace", "soon"], "1.5s"),
        (&["--no-such-flag"], "--help"),
        (&["--config", "no-such-file.yaml"], "no-such-file.yaml"),
        (&["--auth-tokens", "no-such-tokens"], "no-such-tokens"),
        (&["--listen", "here"], "127.0.0.1:8894"),
        (&["--log-level", "5"], "error, warn, info, debug or trace"),
        (&["--history-messages", "many"], "a number, or none"),
    ];
    for (words, wanted) in wrong {
        let (code, out, said) = ran(words);
        assert_eq!(code, Some(2), "{words:?}: {said}");
        assert!(said.contains(wanted), "{words:?}: {said}");
        assert_eq!(out, "", "{words:?}");
    }
}

#[test]
fn help_fits_a_terminal_of_eighty_columns() {
    for words in [&["--help"][..], &["stdio", "--help"], &["demo", "--help"]] {
        let (code, help, _) = ran(words);
        assert_eq!(code, Some(0));
        assert!(help.contains("Options:"), "{help}");
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{words:?}: {line}");
        }
    }
    let (_, help, _) = ran(&["--help"]);
    insta::assert_snapshot!(help);
}

#[test]
fn the_demonstration_plays_once_and_ends() {
    let (code, out, said) = ran(&["demo", "--once", "--pace", "1ms", "--listen", "127.0.0.1:0"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("listens on http://127.0.0.1:"), "{said}");
    assert!(out.contains("talking stick"), "{out}");
}

#[test]
fn a_wrong_value_of_a_variable_is_told_with_the_variable() {
    let mut command = binary(&["--grace=1s"]);
    let said = |command: &mut Command| {
        let output = command.output().expect("the binary starts");
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).expect("text")
    };
    command.env("TALKING_STICK_GRACE", "soon");
    command.arg("--no-such-flag");
    let flag = said(&mut command);
    assert!(!flag.contains("TALKING_STICK_GRACE"), "{flag}");
    let mut command = binary(&[]);
    let variable = said(command.env("TALKING_STICK_GRACE", "soon"));
    assert!(variable.contains("TALKING_STICK_GRACE"), "{variable}");
}

#[test]
fn completions_and_manual_pages_are_of_every_command() {
    let (code, script, _) = ran(&["completions", "bash"]);
    assert_eq!(code, Some(0));
    assert!(script.contains("healthcheck") && script.contains("--boss-alertness"));
    let folder = tempfile::tempdir().expect("a folder");
    let pages = folder.path().join("man1");
    let (code, _, said) = ran(&["man", pages.to_str().expect("text")]);
    assert_eq!(code, Some(0), "{said}");
    for name in ["talking-stick", "talking-stick-stdio"] {
        let page = std::fs::read_to_string(pages.join(format!("{name}.1"))).expect("a page");
        assert!(page.contains(".TH talking-stick"), "{page}");
    }
}

#[test]
fn a_server_that_takes_calls_is_healthy_and_none_is_not() {
    let server = Server::start(&[]);
    let address = server.address.to_string();
    assert_eq!(ran(&["healthcheck", "--listen", &address]).0, Some(0));
    drop(server);
    let (code, _, said) = ran(&["healthcheck", "--listen", &address]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains(&address) && said.contains("--listen"),
        "{said}"
    );
}

#[test]
fn requests_are_logged_by_their_routes_if_asked() {
    let mut server = Server::start(&["--access-log", "--log", "json", "--log-level", "error"]);
    let wanted = b"GET /users/h_secret?reader=r_secret HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut connection = server.connect();
    assert!(connection.write(wanted));
    assert!(connection.head().expect("a head")[0].contains("404"));
    let mut line = String::new();
    let log = server.log.as_mut().expect("a pipe");
    log.read_line(&mut line).expect("text");
    let line: Value = serde_json::from_str(&line).expect("an object");
    assert_eq!(line["target"], "talking_stick::access");
    let fields = &line["fields"];
    assert_eq!(fields["route"], "none");
    assert_eq!(
        (&fields["method"], &fields["source"]),
        (&json!("GET"), &json!("127.0.0.1"))
    );
    assert_eq!(fields["status"], 404);
    assert!(!line.to_string().contains("secret"), "{line}");
}
