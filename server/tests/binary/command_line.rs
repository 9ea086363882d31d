//! Exit codes, and the help text.

use std::net::TcpListener;

use crate::program::ran;

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
    let wrong: [(&[&str], &str); 11] = [
        (&["--boss_alertness", "101"], "0..=100"),
        (&["--boss-alertness", "-1"], "0..=100"),
        (&["stdio", "--boss_alertness", "much"], "--boss-alertness"),
        (
            &["stdio", "--boss_alertness_cooldown", "-1"],
            "0..=31536000",
        ),
        (&["--boss-alertness-cooldown=99999999"], "0..=31536000"),
        (&["--limit", "boss_alertness=101"], "0 to 100"),
        (&["--limit", "max_members=1"], "2 to 65536"),
        (&["--listen", "0.0.0.0:0"], "--allow-hosts"),
        (&["--grace", "soon"], "1.5s"),
        (&["--no-such-flag"], "--help"),
        (&["--config", "no-such-file.yaml"], "no-such-file.yaml"),
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
    assert!(out.contains("listens on http://127.0.0.1:"), "{out}");
}
