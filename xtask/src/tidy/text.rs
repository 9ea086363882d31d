//! Rules on one file's name and text.

use super::{Finding, Source, finding};

/// The largest number of lines of a source file.
const MOST_LINES: usize = 800;

/// The largest number of lines of the README.
const MOST_LINES_OF_README: usize = 150;

/// File names that do not describe the content.
const NAMELESS: [&str; 8] = [
    "common", "helper", "helpers", "manager", "misc", "mod", "util", "utils",
];

/// Marks of unfinished work. Each is assembled from parts, so that this file passes its own rule. Clippy
/// finds code that is left unwritten.
const UNDONE: [&str; 3] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
];

/// The findings in this file.
pub(super) fn check(file: &Source) -> Vec<Finding> {
    let Source { path, text } = file;
    let whole = [name(path), length(file), ending(text).map(str::to_owned)];
    let whole = whole.into_iter().flatten();
    let mut found: Vec<_> = whole.map(|what| finding(path, None, what)).collect();
    for (number, line) in (1..).zip(text.split('\n')) {
        if line.ends_with([' ', '\t', '\r']) {
            let what = "white space at the end of the line";
            found.push(finding(path, number, what));
        }
        if UNDONE.iter().any(|mark| has_word(line, mark)) {
            let what = "work left undone: do it, or open an issue";
            found.push(finding(path, number, what));
        }
    }
    found
}

fn name(path: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.strip_suffix(".rs")?;
    let last_word = stem.rsplit('_').next().unwrap_or(stem);
    NAMELESS
        .contains(&last_word)
        .then(|| format!("`{name}` says nothing of what is inside: name the idea"))
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

fn ending(text: &str) -> Option<&'static str> {
    if !text.is_empty() && !text.ends_with('\n') {
        return Some("the last line does not end");
    }
    text.ends_with("\n\n").then_some("empty lines at the end")
}

/// Whether `line` contains `word` as a whole word.
fn has_word(line: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(joins) && !after.is_some_and(joins)
    })
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
            ("x", "README.md: the last line does not end"),
            ("x\n\n", "README.md: empty lines at the end"),
        ] {
            assert_eq!(found("README.md", text), [told]);
        }
    }
}
