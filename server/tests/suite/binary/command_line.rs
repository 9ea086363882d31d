//! Exit codes, and the help text.

use std::io::BufRead as _;
use std::net::TcpListener;
use std::process::Command;

use serde_json::{Value, json};

use crate::binary::program::{ran, ran_as, says};
use crate::process::{LISTEN, Server, binary_with};
use crate::stage::file_with;

#[test]
fn a_place_that_is_taken_is_told_with_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = says(&["--listen", &address], 1, &[&address, "--listen"]);
    assert!(!said.contains('\x1b'), "no colour in a pipe: {said}");
}

#[test]
fn a_setting_that_cannot_be_is_exit_2_and_says_what_could() {
    let wrong: [(&[&str], &str); 21] = [
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
        (
            &["--auth-tokens", "no-such-tokens"],
            "no-such-tokens: no such file or directory; --auth-tokens",
        ),
        (&["--in-memory", "extra"], "there is no command `extra`"),
        (&["--in-memory", "stdio"], "`stdio` goes before its flags"),
        (&["--history-messages", "-1"], "a number, or none"),
        (&["--journal-entries", "-1"], "a number, or none"),
        (&["--grace", "-1"], "1.5s"),
        (&["--listen", "localhost:x"], "127.0.0.1:8894"),
        (&["--listen", "here"], "127.0.0.1:8894"),
        (&["--log-level", "5"], "error, warn, info, debug or trace"),
        (&["--history-messages", "many"], "a number, or none"),
    ];
    for (words, wanted) in wrong {
        let (code, out, said) = ran(words);
        assert_eq!(code, Some(2), "{words:?}: {said}");
        assert!(said.contains(wanted), "{words:?}: {said}");
        assert!(!said.contains("os error"), "{words:?}: {said}");
        assert_eq!(out, "", "{words:?}");
    }
}

#[test]
fn what_is_no_regular_file_is_refused_and_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let large = folder.path().join("large");
    std::fs::write(&large, vec![b'#'; 2 << 20]).unwrap();
    let here = folder.path().to_str().unwrap();
    for (file, wanted) in [
        (pipe.to_str().unwrap(), "a regular file is wanted"),
        ("/dev/zero", "a regular file is wanted"),
        (here, "is a directory"),
        (large.to_str().unwrap(), "more than 1 MiB"),
    ] {
        for words in [
            &["--config", file][..],
            &["--auth-tokens", file],
            &["--operator-tokens", file],
            &["token", "ann", file],
            &["--cluster", "nats://127.0.0.1:1", "--cluster-ca", file],
        ] {
            if words[0] == "--cluster" && !cfg!(feature = "cluster") {
                continue;
            }
            let (code, _, said) = ran(words);
            assert!(matches!(code, Some(1 | 2)), "{words:?}: {said}");
            assert!(said.contains(wanted), "{words:?}: {said}");
            assert!(!said.contains("os error"), "{words:?}: {said}");
        }
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
    for name in [
        "LISTEN",
        "LIMITS",
        "IN_MEMORY",
        "BOSS_ALERTNESS_COOLDOWN",
        "ACCESS_LOG",
    ] {
        assert!(help.contains(&format!("TALKING_STICK_{name}")), "{name}");
    }
    insta::assert_snapshot!(help);
}

#[test]
fn a_wrong_value_of_a_variable_is_told_with_the_variable() {
    let mut command = binary_with(&["--grace=1s"]);
    let said = |command: &mut Command| {
        let (code, _, said) = ran_as(command);
        assert_eq!(code, Some(2), "{said}");
        said
    };
    command.env("TALKING_STICK_GRACE", "soon");
    command.arg("--no-such-flag");
    let flag = said(&mut command);
    assert!(!flag.contains("TALKING_STICK_GRACE"), "{flag}");
    for (name, value, flag) in [
        ("TALKING_STICK_GRACE", "soon", "--grace"),
        ("TALKING_STICK_LIMITS", "foo=1", "--limit"),
        ("TALKING_STICK_LISTEN", "here", "--listen"),
        (
            "TALKING_STICK_ALLOW_HOSTS",
            "chat.example.org",
            "--allow-hosts",
        ),
        ("TALKING_STICK_DATA", "d9", "--data"),
        ("TALKING_STICK_ACCESS_LOG", "maybe", "--access-log"),
    ] {
        let variable = said(binary_with(&[]).env(name, value));
        assert!(
            variable.contains(name) && !variable.contains(flag),
            "{variable}"
        );
    }
}

#[test]
fn an_unknown_variable_is_refused_with_the_closest_one() {
    let mut command = binary_with(&[]);
    let (code, _, said) = ran_as(command.env("TALKING_STICK_LIMIT", "stick=optional"));
    assert_eq!(code, Some(2));
    assert!(
        said.contains("`TALKING_STICK_LIMIT`; did you mean `TALKING_STICK_LIMITS`?"),
        "{said}"
    );
}

#[test]
fn a_switch_takes_one_and_zero_from_its_variable() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let words = ["--data", data.to_str().expect("text"), "--grace", "soon"];
    for (value, wanted) in [
        ("1", "TALKING_STICK_IN_MEMORY keeps nothing"),
        ("true", "keeps nothing"),
    ] {
        let mut command = binary_with(&words[..2]);
        let (_, _, said) = ran_as(command.env("TALKING_STICK_IN_MEMORY", value));
        assert!(said.contains(wanted), "{said}");
    }
    // Nothing is wrong but the grace.
    let mut command = binary_with(&words);
    let (_, _, said) = ran_as(command.env("TALKING_STICK_IN_MEMORY", "0"));
    assert!(said.contains("--grace"), "{said}");
}

#[test]
fn a_folder_that_cannot_be_used_is_told_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("q1.yaml");
    std::fs::write(&file, "stick: optional").expect("room on the disk");
    let file = file.to_str().expect("text");
    let absent = folder.path().join("nope");
    let absent = absent.to_str().expect("text");
    let new = folder.path().join("new");
    let new = new.to_str().expect("text");
    let below = format!("{file}/below");
    for (words, wanted) in [
        (
            vec!["--data", file, "--listen", "127.0.0.1:0"],
            "it is not a folder; --data takes",
        ),
        (
            vec!["--data", &below, "--listen", "127.0.0.1:0"],
            "it is not a folder; --data takes",
        ),
        (vec!["inspect", "--data", file], "it is not a folder"),
        (vec!["export", "--data", file], "it is not a folder"),
        (
            vec!["backup", new, "--data", absent],
            "--data names its folder",
        ),
        (vec!["restore", absent, "--data", new], "there is no backup"),
        (vec!["restore", file, "--data", new], "it is not a folder"),
        (vec!["man", &below], "not a directory"),
    ] {
        says(&words, 1, &[wanted]);
    }
    let words = ["--data", new, "--auth-tokens", absent];
    says(&[&words[..], LISTEN].concat(), 2, &[]);
    assert!(!std::path::Path::new(new).exists());
}

#[test]
fn an_address_that_is_not_of_this_machine_is_told_as_such() {
    let (_file, tokens) = file_with(&format!("ann {:064}", 7));
    // An address of RFC 5737, which no machine has.
    let listen = ["--listen", "192.0.2.1:8894"];
    let allow = [
        "--allow-hosts",
        "chat.example.org",
        "--auth-tokens",
        &tokens,
    ];
    let words = [listen.as_slice(), &allow].concat();
    let said = says(&words, 1, &["this machine has no such address"]);
    assert!(!said.contains("another server"), "{said}");
}

/// Another server may be there for good, and the next start would tell of the file.
#[test]
fn a_wrong_file_is_told_before_a_taken_address() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let words = ["--listen", &address, "--auth-tokens", "no-such-tokens"];
    says(&words, 2, &["no-such-tokens"]);
}

#[test]
fn the_demonstration_plays_once_and_ends_and_localhost_is_an_address() {
    let (code, out, said) = ran(&["demo", "--once", "--pace", "1ms", "--listen", "localhost:0"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("listens on http://127.0.0.1:"), "{said}");
    assert!(!said.contains("fewer connections"), "{said}");
    assert!(out.contains("talking stick"), "{out}");
}

#[test]
fn completions_and_manual_pages_are_of_every_command() {
    let (code, script, _) = ran(&["completions", "bash"]);
    assert_eq!(code, Some(0));
    assert!(script.contains("healthcheck") && script.contains("--boss-alertness"));
    let folder = tempfile::tempdir().expect("a folder");
    let pages = folder.path().join("man1");
    says(&["man", pages.to_str().expect("text")], 0, &[]);
    for name in ["talking-stick", "talking-stick-stdio"] {
        let page = std::fs::read_to_string(pages.join(format!("{name}.1"))).expect("a page");
        assert!(page.contains(".TH talking-stick"), "{page}");
    }
}

#[test]
fn a_server_that_takes_calls_is_healthy_and_none_is_not() {
    let server = Server::start(&[]);
    let address = server.address.to_string();
    let words = ["healthcheck", "--listen", &address];
    says(&words, 0, &[]);
    drop(server);
    says(&words, 1, &[&address, "--listen"]);
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
