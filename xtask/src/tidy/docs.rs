//! Rules on documents: each names sources that exist, the table of scenarios names every scenario, and a
//! source begins with what it holds.

use std::sync::LazyLock;

use regex::Regex;

use super::{Finding, Source, finding, line_of, pattern};

const SCENARIOS: &str = "docs/scenarios.md";

/// A source file or a folder of such in code. `<its name>.rs` is no name.
static SOURCE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"`([^`\s<…*]*/src/(?:[^`\s<…*]*(?:\.rs|/))?)`"));

/// What documents leave out or make up.
pub(super) fn check(files: &[Source]) -> Vec<Finding> {
    let mut found = Vec::new();
    let is_there = |name: &str| {
        let mut paths = files.iter().map(|file| file.path.as_str());
        paths.any(|path| path == name || (name.ends_with('/') && path.starts_with(name)))
    };
    for Source { path, text } in files {
        if path.ends_with(".md") && path != "docs/CHANGELOG.md" {
            for named in SOURCE.captures_iter(text) {
                let (_, [name]) = named.extract();
                if !is_there(name) && !name.ends_with("/tests.rs") {
                    let line = line_of(text, named.get_match().start());
                    found.push(finding(path, line, format!("{name} does not exist")));
                }
            }
        }
        let is_source = path.contains("/src/") && path.ends_with(".rs");
        if is_source && !path.ends_with("/tests.rs") && !text.starts_with("//! ") {
            let what = "say in a line `//! …` what the file holds";
            found.push(finding(path, 1, what));
        }
    }
    let Some(page) = files.iter().find(|file| file.path == SCENARIOS) else {
        found.push(finding(SCENARIOS, None, "the file is missing"));
        return found;
    };
    let is_named = |path: &str| {
        let link = format!("(../{path})");
        let mut rows = page.text.lines().filter(|line| line.starts_with('|'));
        rows.any(|row| row.contains(&link))
    };
    let is_scenario = |path: &str| {
        let name = path.strip_prefix("scenarios/");
        name.is_some_and(|name| name.ends_with(".yaml") && !name.contains('/'))
    };
    for Source { path, .. } in files {
        if is_scenario(path) && !is_named(path) {
            let what = format!("the scenario table does not name {path}");
            found.push(finding(SCENARIOS, None, what));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::files;
    use super::check;

    const HUB: (&str, &str) = ("core/src/hub.rs", "//! The hub.\n");
    const BURST: (&str, &str) = ("scenarios/burst.yaml", "\n");
    const TABLE: (&str, &str) = (
        "docs/scenarios.md",
        "text\n| [burst](../scenarios/burst.yaml) | two hundred at once |\n",
    );

    fn found(of: &[(&str, &str)]) -> Vec<String> {
        check(&files(of)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn complete_documents_have_no_findings() {
        let named =
            "`core/src/hub.rs` `core/src/` `<its name>/src/a.rs` `x` y/src/z.rs `core/src/*`\n";
        let map = ("ARCHITECTURE.md", named);
        let other = ("scenarios/regressions/stale_epoch.yaml", "\n");
        assert_eq!(found(&[HUB, BURST, TABLE, map, other]), [""; 0]);
    }

    #[test]
    fn a_scenario_left_out_is_found() {
        let churn = ("scenarios/churn.yaml", "\n");
        let left_out = "docs/scenarios.md: the scenario table does not name scenarios/churn.yaml";
        assert_eq!(found(&[churn, TABLE]), [left_out]);
        assert_eq!(found(&[]), ["docs/scenarios.md: the file is missing"]);
    }

    #[test]
    fn a_former_name_in_a_document_is_found_except_in_the_changelog() {
        let former = "`core/src/hub.rs`\n`core/src/agenda.rs` `core/src/agenda/`\n";
        let documents = [("docs/CHANGELOG.md", former), ("CONTRIBUTING.md", former)];
        let all = [&[HUB, BURST, TABLE], &documents[..]].concat();
        let told = ["core/src/agenda.rs", "core/src/agenda/"]
            .map(|name| format!("CONTRIBUTING.md:2: {name} does not exist"));
        assert_eq!(found(&all), told);
    }

    #[test]
    fn a_source_without_its_line_is_found() {
        let all = [BURST, TABLE, ("core/src/queue.rs", "use a::b;\n")];
        let told = "core/src/queue.rs:1: say in a line `//! …` what the file holds";
        assert_eq!(found(&all), [told]);
    }
}
