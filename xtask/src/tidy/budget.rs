//! The size of each crate: its lines of code, without tests, comments and blank lines. A budget only
//! falls. It rises in a commit whose message says what the added lines give to a user.

use std::collections::BTreeMap;

use super::{Finding, Source, finding};

/// The most lines of code of each crate, by its folder.
const BUDGETS: [(&str, usize); 22] = [
    ("benches", 2513),
    ("benches/turmoil", 94),
    ("docs/check", 168),
    ("core", 6769),
    ("core/cluster", 1396),
    ("core/journal", 932),
    ("core/types", 1755),
    ("server", 13684),
    ("server/chat", 6577),
    ("server/nats", 1039),
    ("server/settings", 1355),
    ("server/storage", 4333),
    ("sim", 2235),
    ("sim/judge", 10970),
    ("sim/live", 4438),
    ("sim/model", 4887),
    ("sim/report", 7150),
    ("sim/scenario", 4190),
    ("sim/search", 7287),
    ("sim/user", 2442),
    ("sim/world", 5937),
    ("xtask", 3486),
];

/// How far below its budget a crate may be before the budget has to fall.
const SLACK: usize = 100;

/// The endings of files that count.
const COUNTED: [&str; 4] = [".rs", ".js", ".css", ".html"];

/// Compares every crate with its budget.
pub(super) fn check(files: &[Source]) -> Vec<Finding> {
    compare(files, &BUDGETS)
}

fn compare(files: &[Source], budgets: &[(&str, usize)]) -> Vec<Finding> {
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    for Source { path, text } in files {
        if let Some((folder, rest)) = path.split_once("/src/")
            && COUNTED.iter().any(|ending| path.ends_with(ending))
            && !rest
                .split('/')
                .any(|name| matches!(name, "tests" | "tests.rs"))
        {
            *counted.entry(folder).or_default() += lines(text);
        }
    }
    let all = counted.iter().filter_map(|(folder, lines)| {
        let budget = budgets.iter().find(|(name, _)| name == folder);
        let what = match budget {
            None => format!("has {lines} lines and no budget"),
            Some((_, budget)) if lines > budget => format!(
                "{lines} lines of code, {} more than its budget: remove some, or raise it in {} and say in \
                 the commit what users get for it",
                lines - budget,
                file!()
            ),
            Some((_, budget)) if budget - lines > SLACK => {
                format!("{lines} lines of code: lower its budget of {budget} in {}", file!())
            }
            Some(_) => return None,
        };
        Some(finding(&format!("{folder}/src"), None, what))
    });
    all.collect()
}

/// How items begin that end with a semicolon.
const ITEMS: [&str; 5] = ["mod ", "pub", "use ", "const ", "static "];

/// The lines of code of a file.
fn lines(text: &str) -> usize {
    let (mut count, mut is_test, mut is_comment) = (0, false, false);
    for line in text.lines() {
        let code = line.trim();
        if line == "#[cfg(test)]" {
            is_test = true;
        } else if is_test {
            // Until the item ends that the attribute belongs to. A text in it may begin at the margin.
            let is_item = ITEMS.iter().any(|item| line.starts_with(item));
            is_test = line != "}" && !(is_item && line.ends_with(';'));
        } else if is_comment || code.starts_with("/*") || code.starts_with("<!--") {
            is_comment = !code.ends_with("*/") && !code.ends_with("-->");
        } else if !code.is_empty() && !code.starts_with("//") {
            count += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::super::tests::files;
    use super::{SLACK, compare, lines};

    #[test]
    fn code_counts_and_tests_comments_and_blank_lines_do_not() {
        let text = "//! A file.\n\nuse a::b;\n\n/// A function.\nfn f() {\n    // Why.\n    g(); // 1\n}\n\n\
                    #[cfg(test)]\nuse x::y;\n\n#[cfg(test)]\nmod tests {\n    const A: &str = \"\nb:\n\";\n    fn t() {\n    }\n}\nfn g() {}\n";
        assert_eq!(lines(text), 5);
        assert_eq!(lines("/* a\n b */\na {\n}\n<!-- c -->\n"), 2);
    }

    #[test]
    fn a_crate_stays_within_its_budget_and_its_budget_near_it() {
        let code = "let a = 1;\n".repeat(SLACK + 2);
        let files = files(&[
            ("core/src/hub.rs", &code),
            ("core/src/hub/tests.rs", "let a = 1;\n"),
            ("core/tests/a.rs", "let a = 1;\n"),
        ]);
        let found = |budgets: &[(&str, usize)]| {
            let found = compare(&files, budgets);
            found.into_iter().map(|one| one.what).collect::<Vec<_>>()
        };
        assert_eq!(found(&[("core", SLACK + 2)]), [""; 0]);
        assert!(found(&[("core", SLACK + 1)])[0].starts_with("102 lines of code, 1 more than"));
        assert!(found(&[("core", 2 * SLACK + 3)])[0].contains("lower its budget of 203"));
        assert!(found(&[])[0].contains("no budget"));
    }
}
