//! Files of tokens: what is read, refused, and replaced.

use super::*;

/// The output of `printf %s open-sesame | sha256sum`.
const SESAME: &str = "d7ecdf25eaf3deba0f2628771dbdd22d4138ab6cf38f91ed02a2ca0dec7c8ab7";

fn wrong(text: &str) -> (usize, Wrong) {
    Tokens::parse(text, &[]).unwrap_err()
}

#[test]
fn a_token_is_known_by_its_hash() {
    let text = format!("\u{feff}# staff\n\nann {SESAME} # drawn in May\n");
    let tokens = Tokens::parse(&text, &[]).unwrap();
    assert_eq!(tokens.all.len(), 1);
    assert_eq!(&*tokens.find("open-sesame").unwrap().name, "ann");
    assert!(tokens.find("open-sesame ").is_none());
    assert!(tokens.find(SESAME).is_none());
    assert!(tokens.find(&"x".repeat(10_000)).is_none());
}

#[test]
fn a_wrong_line_is_named() {
    let of = |line: &str| wrong(&format!("# one\n{line}"));
    assert_eq!(of("ann"), (2, Wrong::Shape));
    assert_eq!(
        of(&format!("ann {SESAME} 2026-12-31 more")),
        (2, Wrong::Shape)
    );
    for end in [
        "more",
        "2026-13-01",
        "2026-1-1",
        "31.12.2026",
        "2026-12-31T18:00:00",
    ] {
        assert_eq!(of(&format!("ann {SESAME} {end}")), (2, Wrong::End), "{end}");
    }
    let elsewhere = of(&format!("ann {SESAME} 2026-12-31T18:00:00+02:00"));
    assert_eq!(elsewhere, (2, Wrong::End));
    assert_eq!(of(&format!("a/b {SESAME}")), (2, Wrong::Name));
    assert_eq!(wrong(&format!("\u{feff}a/b {SESAME}")), (1, Wrong::Name));
    assert_eq!(of("ann 12ab"), (2, Wrong::Hash));
    assert_eq!(of(&format!("ann {}", "g".repeat(64))), (2, Wrong::Hash));
    assert_eq!(of(&format!("ann {}", "é".repeat(32))), (2, Wrong::Hash));
    let twice = format!("ann {SESAME}\nben {SESAME}");
    assert_eq!(wrong(&twice), (2, Wrong::Twice));
    let (one, two) = ("0".repeat(64), "1".repeat(64));
    let both = format!("ann {SESAME}\nann {one}");
    assert_eq!(wrong(&both), (2, Wrong::NameTwice));
    let three = format!("ann {SESAME} 2026-12-31\nann {one}\nann {two} 2027-12-31");
    assert_eq!(wrong(&three), (3, Wrong::NameTwice));
}

#[test]
fn more_tokens_than_can_be_compared_are_refused() {
    let mut text = String::new();
    for n in 0..=MAX_TOKENS {
        text += &format!("t{n} {n:064x}\n");
    }
    assert_eq!(wrong(&text), (MAX_TOKENS + 1, Wrong::TooMany));
}

#[test]
fn a_file_says_where_it_is_wrong() {
    let error = Tokens::read(Path::new("/nonexistent/tokens"), &[]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot read the tokens in /nonexistent/tokens: ")
    );
}

#[test]
fn a_token_ends_when_its_line_says() {
    let of = |end: &str| Tokens::parse(&format!("ann {SESAME} {end}"), &[]).unwrap();
    let second = |unix: u64| Time(unix * 1_000_000);
    let day = of("2026-12-31");
    let token = day.find("open-sesame").unwrap();
    assert!(!token.has_ended(second(1_798_761_599)));
    assert!(token.has_ended(second(1_798_761_600)));
    assert_eq!(day.retire(second(1_798_761_600)), ["ann".into()]);
    assert!(!token.is_open() && !token.scope.is_open());
    assert!(day.retire(second(1_798_761_600)).is_empty());
    let instant = of("2026-12-31T18:00:00Z");
    let token = instant.find("open-sesame").unwrap();
    assert!(!token.has_ended(second(1_798_739_999)));
    assert!(token.has_ended(second(1_798_740_000)));
}

#[test]
fn a_token_that_stays_keeps_its_seat_and_one_that_goes_closes_it() {
    let other = "0".repeat(64);
    let parse = |text: &str| Tokens::parse(text, &[]).unwrap();
    let old = parse(&format!("ann {SESAME}\nben {other}"));
    let new = parse(&format!("cid {}\nann {SESAME} 2999-12-31", "1".repeat(64)));
    let (new, changes) = new.replace(&old);
    let ann = Arc::clone(&new.find("open-sesame").unwrap().scope);
    assert!(Arc::ptr_eq(&ann, &old.all[0].scope) && ann.is_open());
    assert!(!old.all[1].scope.is_open());
    let expected = Changes {
        kept: 1,
        added: vec!["cid".into()],
        revoked: vec!["ben".into()],
    };
    assert_eq!(changes, expected);
    // A name with another token keeps its scope, and the token of before ends.
    let (next, changes) = parse(&format!("ann {other}")).replace(&new);
    assert_eq!((changes.kept, changes.added), (0, vec!["ann".into()]));
    assert!(!new.find("open-sesame").unwrap().is_open());
    assert!(Arc::ptr_eq(&ann, &next.all[0].scope) && ann.is_open());
    let _ = parse("").replace(&next);
    assert!(!ann.is_open());
}

#[test]
fn a_name_has_two_tokens_while_it_changes_them() {
    let other = "0".repeat(64);
    let parse = |text: &str| Tokens::parse(text, &[]).unwrap();
    let old = parse(&format!("ann {SESAME}"));
    let both = parse(&format!("ann {other}\nann {SESAME} 2026-12-31"));
    let (both, changes) = both.replace(&old);
    assert_eq!((changes.kept, changes.revoked), (1, Vec::new()));
    let ann = Arc::clone(&old.all[0].scope);
    assert!(both.all.iter().all(|one| Arc::ptr_eq(&one.scope, &ann)));
    let over = Time(1_798_761_600_000_000);
    assert_eq!(both.retire(over), ["ann".into()]);
    assert!(!old.all[0].is_open() && both.all[0].is_open() && ann.is_open());
}

/// Reads the tokens of a server with one realm.
fn read(file: &tempfile::NamedTempFile) -> Result<TokenFile, TokensError> {
    TokenFile::read(file.path(), ("main".into(), Arc::from(["main".into()])))
}

fn line(name: &str, token: &str) -> String {
    let hash = Sha256::digest(token.as_bytes());
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{name} {hex}\n")
}

fn is_known(file: &TokenFile, token: &str) -> bool {
    file.find(token).is_some_and(|token| token.is_valid())
}

#[test]
fn a_change_is_read_when_it_has_settled_and_a_bad_file_changes_nothing() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(line("ann", "a").as_bytes()).unwrap();
    let tokens = read(&file).unwrap();
    file.write_all(line("ben", "b").as_bytes()).unwrap();
    tokens.look(Time(0));
    assert!(!is_known(&tokens, "b"));
    tokens.look(Time(0));
    assert!(is_known(&tokens, "a") && is_known(&tokens, "b"));
    file.write_all(b"cid\n").unwrap();
    tokens.look(Time(0));
    tokens.look(Time(0));
    assert!(is_known(&tokens, "a") && is_known(&tokens, "b"));
    std::fs::write(file.path(), line("ann", "a")).unwrap();
    tokens.look(Time(0));
    tokens.look(Time(0));
    assert!(is_known(&tokens, "a") && !is_known(&tokens, "b"));
}

#[test]
fn an_emptied_file_revokes_every_token_and_a_missing_one_none() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), line("ann", "a")).unwrap();
    let tokens = read(&file).unwrap();
    std::fs::write(file.path(), "# none\n").unwrap();
    tokens.look(Time(0));
    assert!(is_known(&tokens, "a"));
    tokens.look(Time(0));
    assert!(!is_known(&tokens, "a"));
    assert!(matches!(read(&file), Err(TokensError::Empty(_))));
    std::fs::write(file.path(), line("ben", "b")).unwrap();
    tokens.reload();
    assert!(is_known(&tokens, "b") && !is_known(&tokens, "a"));
    drop(file);
    tokens.reload();
    assert!(is_known(&tokens, "b"));
}
