//! Rules on one file's name and text.

use std::sync::LazyLock;

use regex::Regex;

use super::{Finding, Source, finding, line_of, pattern};

/// The largest number of lines of a source file.
const MOST_LINES: usize = 800;

/// The largest number of lines of the README.
const MOST_LINES_OF_README: usize = 150;

/// The path of a source whose name does not describe the content.
static NAMELESS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(^|[/_])(common|helpers?|manager|misc|mod|utils?)\.rs$"));

/// What no text has, and what to say of it. The marks of unfinished work are assembled from parts, so that
/// this file passes its own rule. Clippy finds code that is left unwritten.
static UNWANTED: LazyLock<[(Regex, &str); 4]> = LazyLock::new(|| {
    let undone = concat!(r"\b(TO", "DO|FIX", "ME|XX", r"X)\b");
    [
        (r"(?m)[ \t\r]$", "white space at the end of the line"),
        (undone, "work left undone: do it, or open an issue"),
        (r"[^\n]\z", "the last line does not end"),
        (r"\n\n\z", "empty lines at the end"),
    ]
    .map(|(unwanted, what)| (pattern(unwanted), what))
});

/// The findings in this file.
pub(super) fn check(file: &Source) -> Vec<Finding> {
    let Source { path, text } = file;
    let mut found = Vec::new();
    if NAMELESS.is_match(path) {
        let what = "its name says nothing of what is inside: name the idea";
        found.push(finding(path, None, what));
    }
    found.extend(length(file).map(|what| finding(path, None, what)));
    for (unwanted, what) in &*UNWANTED {
        let places = unwanted.find_iter(text).map(|place| place.start());
        found.extend(places.map(|at| finding(path, line_of(text, at), *what)));
    }
    found
}

fn length(file: &Source) -> Option<String> {
    let lines = file.text.lines().count();
    let (most, instead) = match file.path.as_str() {
        "README.md" => (MOST_LINES_OF_README, "move some to a page of the book"),
        path if path.ends_with(".rs") => (MOST_LINES, "take an idea out of it"),
        _ => return None,
    };
    (lines > most).then(|| format!("{lines} lines are more than {most}: {instead}"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::files;
    use super::{MOST_LINES, MOST_LINES_OF_README, check};

    /// The findings in a file, a line each.
    fn found(path: &str, text: &str) -> Vec<String> {
        let found = check(&files(&[(path, text)])[0]);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_good_file_has_no_findings() {
        let text = "//! The mastodon's todo list of XXXL methods.\nfn todos() {}\n";
        assert_eq!(found("core/src/stick.rs", text), [""; 0]);
        assert_eq!(found("core/src/stick_lease.rs", ""), [""; 0]);
    }

    #[test]
    fn meaningless_file_names_are_found() {
        for (path, count) in [
            ("core/src/hub/mod.rs", 1),
            ("sim/src/utils.rs", 1),
            ("sim/src/report_helpers.rs", 1),
            ("core/src/room_manager.rs", 1),
            ("core/src/model.rs", 0),
            ("core/src/managers.md", 0),
            ("sim/src/moderation.rs", 0),
        ] {
            assert_eq!(found(path, "x\n").len(), count, "{path}");
        }
    }

    #[test]
    fn a_file_may_be_as_long_as_the_limit_and_no_longer() {
        let of = |path: &str, lines: usize| found(path, &"x\n".repeat(lines));
        let idea = "core/src/hub.rs: 801 lines are more than 800: take an idea out of it";
        let page = "README.md: 151 lines are more than 150: move some to a page of the book";
        assert_eq!(of("core/src/hub.rs", MOST_LINES), [""; 0]);
        assert_eq!(of("core/src/hub.rs", MOST_LINES + 1), [idea]);
        assert_eq!(of("README.md", MOST_LINES_OF_README + 1), [page]);
        assert_eq!(of("docs/protocol.md", MOST_LINES + 1), [""; 0]);
    }

    #[test]
    fn marks_of_undone_work_are_found_where_they_stand() {
        for mark in [
            concat!("// TO", "DO: later"),
            concat!("// FIX", "ME(ann)"),
            concat!("// XX", "X"),
        ] {
            let found = found("core/src/hub.rs", &format!("fn a() {{}}\n{mark}\n"));
            assert_eq!(found.len(), 1, "{mark}: {found:?}");
            assert!(found[0].starts_with("core/src/hub.rs:2: "), "{found:?}");
        }
    }

    #[test]
    fn white_space_at_the_end_of_a_line_is_found() {
        let told = |line| format!("a.yaml:{line}: white space at the end of the line");
        let text = "name: burst \nseed: 42\t\nabout: x\r\n";
        assert_eq!(found("a.yaml", text), [1, 2, 3].map(told));
    }

    #[test]
    fn a_file_ends_with_one_line_end() {
        for (text, told) in [
            ("x", "README.md:1: the last line does not end"),
            ("x\n\n", "README.md:1: empty lines at the end"),
        ] {
            assert_eq!(found("README.md", text), [told]);
        }
    }
}
