//! Every bad scenario gives an error with the place and the accepted values.

use std::path::Path;

use sim_scenario::{ErrorStyle, ScenarioError, load, parse, parse_bytes};

use crate::{BAD, BEYOND_A_SCHEMA, bad_scenario, yaml_files};

/// Run with `UPDATE_ERRORS=1` to rewrite the errors.
#[test]
fn errors_of_bad_scenarios_name_the_place_and_the_accepted_values() {
    let files = [yaml_files(BAD), yaml_files(BEYOND_A_SCHEMA)].concat();
    assert!(files.len() > 150, "{} files", files.len());
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap();
        let (scenario, wanted) = bad_scenario(&file);
        let error = parse_bytes(name, &scenario)
            .err()
            .unwrap_or_else(|| panic!("{name} is accepted"));
        for mistake in &error.mistakes {
            assert!(mistake.at.is_some(), "{error}");
            assert!(!mistake.accepted.is_empty(), "{error}");
        }
        let drawn = format!("{}\n", error.render(ErrorStyle::Plain, 80).trim_end());
        if std::env::var_os("UPDATE_ERRORS").is_some() {
            std::fs::write(&file, [&scenario, &b"---\n"[..], drawn.as_bytes()].concat()).unwrap();
        } else {
            assert_eq!(drawn, wanted, "{name}");
        }
    }
}

/// These would be binary files.
#[test]
fn a_file_in_another_encoding_or_with_a_control_character_is_refused() {
    let utf16 = "name: penpal\n".encode_utf16().flat_map(u16::to_le_bytes);
    let utf16 = [b"\xff\xfe".to_vec(), utf16.collect()].concat();
    for (bytes, what, help) in [
        (&utf16[..], "the byte 0xff is not UTF-8", "a file in UTF-8"),
        (
            b"about: a\0b\n",
            "the control character U+0000 is in the file",
            "text without control characters, tabs and line ends apart",
        ),
    ] {
        let drawn = parse_bytes("bytes.yaml", bytes).unwrap_err();
        let drawn = drawn.render(ErrorStyle::Plain, 80);
        assert!(drawn.starts_with(&format!("error: {what}\n")), "{drawn}");
        assert!(drawn.contains(&format!("help: {help}")), "{drawn}");
    }
}

fn parsed(file: &str) -> ScenarioError {
    let (scenario, _) = bad_scenario(&Path::new(BAD).join(file));
    parse_bytes(file, &scenario).expect_err(file)
}

/// The lines of the mistakes in a file, and the number of further ones.
fn lines_of(file: &str) -> (Vec<usize>, usize) {
    let error = parsed(file);
    let places = error.mistakes.iter().map(|mistake| mistake.at);
    let lines = places.map(|place| place.expect("a place").0);
    (lines.collect(), error.more)
}

#[test]
fn every_mistake_of_a_file_is_reported_in_its_order() {
    let lines = vec![
        1, 3, 3, 4, 7, 8, 8, 10, 11, 11, 13, 13, 15, 16, 16, 17, 17, 17, 18, 20,
    ];
    assert_eq!(lines_of("many_mistakes.yaml"), (lines, 1));
}

#[test]
fn a_mistake_that_only_follows_from_another_is_not_reported() {
    assert_eq!(lines_of("many_that_follow.yaml"), (vec![2, 3, 6], 0));
    assert_eq!(
        lines_of("many_counts_that_follow.yaml"),
        (vec![2, 5, 5, 6, 7], 0)
    );
}

#[test]
fn of_many_mistakes_the_first_are_drawn_and_the_others_counted() {
    let name = "many_more_than_shown.yaml";
    let drawn = parsed(name).render(ErrorStyle::Plain, 80);
    assert_eq!(drawn.matches("error: unknown verb").count(), 20);
    let last = format!("\n\n… 3 more mistakes in {name}\n");
    assert!(drawn.ends_with(&last), "{drawn}");
}

fn refused(text: &str) -> ScenarioError {
    parse("large.yaml", text).expect_err("it is refused")
}

#[test]
fn ten_megabytes_are_refused_at_once() {
    let error = refused(&"# a comment\n".repeat(900_000));
    assert_eq!(error.mistakes[0].at, None);
    insta::assert_snapshot!(error.render(ErrorStyle::Plain, 80), @r"
    error: the file is larger than a scenario may be
     ╭▸ large.yaml
     ╰ help: at most 1048576 bytes (1 MiB)
    ");
}

#[test]
fn parsing_a_mebibyte_of_any_character_terminates() {
    let most = 1 << 20;
    let units = [
        "[", "{", "- ", "? ", "a: ", "&a ", "*a ", "!!x ", "\"", "'", "|\n", "# ", ", ", "%", "\n",
        " ", "\r", "- - ", "a:\n ", "[[],", "{a: b, ", "a: 1\n", "- x\n", "---\n", "x", "é",
        "\u{feff}", "- &a b\n", "\\", ":", "<<: ", "~", "...\n", "> ", "`", "@",
    ];
    for unit in units.into_iter().chain(["- {p50: 1, p99: 2}\n"]) {
        let text = unit.repeat(most / unit.len());
        let error = refused(&text);
        assert!(!error.render(ErrorStyle::Colour, 80).is_empty());
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = load(Path::new("no/such/scenario.yaml")).unwrap_err();
    assert_eq!(error.file, "no/such/scenario.yaml");
    assert!(error.to_string().contains("there is no such file"));
    let folder = load(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap_err();
    assert!(folder.to_string().contains("it is a folder"), "{folder}");
}

#[test]
fn colours_are_for_terminals_only() {
    let error = parse("x.yaml", "stage: 1\n").unwrap_err();
    assert!(!error.render(ErrorStyle::Plain, 80).contains('\u{1b}'));
    assert!(error.render(ErrorStyle::Colour, 80).contains('\u{1b}'));
}

#[test]
fn foreign_line_breaks_do_not_move_the_cursor() {
    for text in ["# only a comment\r\n", "name: [\r\n", "durations: 5s\r\n"] {
        let drawn = refused(text).render(ErrorStyle::Plain, 80);
        assert!(!drawn.contains('\r'), "{drawn:?}");
    }
}

#[test]
fn an_error_fits_the_columns_of_the_terminal() {
    let users: String = (10..70).map(|n| format!("a{n}, ")).collect();
    let text = format!("name: a\nusers: [{users}]\nstages: 1\n");
    let drawn = refused(&text).render(ErrorStyle::Plain, 40);
    insta::assert_snapshot!(drawn, @r"
    error: unknown key `stages` in a
           scenario
      ╭▸ large.yaml:3:1
      │
    2 │ users: [a10, a11, a12, a13, a14, a1…
    3 │ stages: 1
      │ ━━━━━━ not a key of a scenario
      │
      ╰ help: accepted keys of a scenario:
              name, about, seed, duration,
              liveness, servers, reads,
              server, capacity, client,
              phases, scenarios, users,
              steps, network, schedule,
              recipe, faults, properties,
              expect_sometimes, thresholds,
              allow_stuck
    ");
    assert_eq!(refused(&text).render(ErrorStyle::Plain, 0), drawn);
    assert!(
        drawn.lines().all(|line| line.chars().count() <= 40),
        "{drawn}"
    );
    let wide = refused(&text).render(ErrorStyle::Plain, usize::MAX);
    assert_eq!(wide, refused(&text).render(ErrorStyle::Plain, 80));
}
