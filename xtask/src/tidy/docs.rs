//! Rules on documents: the code map names every file, and the table of scenarios every scenario,
//! and neither names a file that does not exist. A folder with a trailing `/` covers all files in
//! it.

use super::{Finding, Source};

const SCENARIOS: &str = "docs/scenarios.md";
const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// The folders whose files the code map must name.
const MAPPED: [&str; 18] = [
    "benches/src/",
    "book/src/",
    "core/src/",
    "core/types/src/",
    "server/chat/src/",
    "server/settings/src/",
    "server/storage/src/",
    "server/src/",
    "sim/judge/src/",
    "sim/live/src/",
    "sim/model/src/",
    "sim/report/src/",
    "sim/scenario/src/",
    "sim/search/src/",
    "sim/src/",
    "sim/user/src/",
    "sim/world/src/",
    "xtask/src/",
];

/// Missing and unknown names in the documents.
pub(super) fn check(files: &[Source]) -> Vec<Finding> {
    let mut found = code_map(files);
    found.extend(scenario_table(files));
    found.extend(other_documents(files));
    found
}

/// Whether the path is of a source file that the code map names.
fn is_source(path: &str) -> bool {
    path.ends_with(".rs") && is_below(path)
}

fn is_below(path: &str) -> bool {
    MAPPED.iter().any(|folder| {
        path.strip_prefix(folder)
            .is_some_and(|rest| !rest.is_empty())
    })
}

/// The source files and folders that a text names, with their lines. `<its name>.rs` is no name.
fn sources(text: &str) -> Vec<(usize, String)> {
    quoted(text)
        .filter(|(_, path)| is_source(path) || (path.ends_with('/') && is_below(path)))
        .filter(|(_, path)| !path.contains('<'))
        .map(|(line, path)| (line, path.to_owned()))
        .collect()
}

fn code_map(files: &[Source]) -> Vec<Finding> {
    compare(files, ARCHITECTURE, "the code map", sources, is_source)
}

/// Source files that other documents name. The changelog tells of former ones, too.
fn other_documents(files: &[Source]) -> Vec<Finding> {
    let is_other =
        |path: &str| path.ends_with(".md") && path != ARCHITECTURE && path != "CHANGELOG.md";
    let documents = files.iter().filter(|file| is_other(&file.path));
    documents
        .flat_map(|document| compare(files, &document.path, "", sources, |_| false))
        .collect()
}

fn scenario_table(files: &[Source]) -> Vec<Finding> {
    let is_scenario = |path: &str| {
        path.strip_prefix("scenarios/")
            .is_some_and(|name| name.ends_with(".yaml") && !name.contains('/'))
    };
    let named = |text: &str| -> Vec<(usize, String)> {
        text.lines()
            .enumerate()
            .filter(|(_, line)| line.starts_with('|'))
            .flat_map(|(index, line)| {
                line.split(['(', ')'])
                    .filter_map(|target| target.strip_prefix("../"))
                    .filter(|path| is_scenario(path))
                    .map(move |path| (index + 1, path.to_owned()))
            })
            .collect()
    };
    compare(files, SCENARIOS, "the scenario table", named, is_scenario)
}

/// Compares the names in a document with the existing files.
fn compare(
    files: &[Source],
    document: &str,
    part: &str,
    named: impl Fn(&str) -> Vec<(usize, String)>,
    concerns: impl Fn(&str) -> bool,
) -> Vec<Finding> {
    let finding = |line, what| Finding {
        path: document.into(),
        line,
        what,
    };
    let there: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let Some(text) = files.iter().find(|file| file.path == document) else {
        return vec![finding(None, "the file is missing".into())];
    };
    let named = named(&text.text);
    let made_up = named
        .iter()
        .filter(|(_, name)| !there.iter().any(|path| stands_for(name, path)))
        .map(|(line, path)| finding(Some(*line), format!("{path} does not exist")));
    let left_out = there
        .iter()
        .filter(|path| concerns(path))
        .filter(|path| !named.iter().any(|(_, name)| stands_for(name, path)))
        .map(|path| finding(None, format!("{part} does not name {path}")));
    made_up.chain(left_out).collect()
}

/// Whether `name` in a document covers the file at `path`.
fn stands_for(name: &str, path: &str) -> bool {
    name == path || (name.ends_with('/') && path.starts_with(name))
}

/// The texts between backticks, with their lines.
fn quoted(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(index, line)| {
        line.split('`')
            .skip(1)
            .step_by(2)
            .map(move |quoted| (index + 1, quoted))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::files;
    use super::{check, quoted};

    const MAP: (&str, &str) = ("ARCHITECTURE.md", "| `core/src/hub.rs` | the hub |\n");
    const TABLE: (&str, &str) = (
        "docs/scenarios.md",
        "text\n| [burst](../scenarios/burst.yaml) | two hundred at once |\n",
    );

    /// The findings for these files beside a valid map and table.
    fn found(of: &[(&str, &str)]) -> Vec<String> {
        check(&files(of)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn complete_documents_have_no_findings() {
        let all = [
            MAP,
            TABLE,
            ("core/src/hub.rs", "\n"),
            ("core/tests/stick.rs", "\n"),
            ("scenarios/burst.yaml", "\n"),
            ("scenarios/regressions/stale_epoch.yaml", "\n"),
        ];
        assert_eq!(found(&all), [""; 0]);
    }

    #[test]
    fn a_file_or_scenario_left_out_is_found() {
        let all = [
            MAP,
            TABLE,
            ("core/src/hub.rs", "\n"),
            ("core/src/queue.rs", "\n"),
            ("scenarios/burst.yaml", "\n"),
            ("scenarios/churn.yaml", "\n"),
        ];
        assert_eq!(
            found(&all),
            [
                "ARCHITECTURE.md: the code map does not name core/src/queue.rs",
                "docs/scenarios.md: the scenario table does not name scenarios/churn.yaml",
            ]
        );
    }

    #[test]
    fn a_folder_stands_for_what_is_in_it_and_must_hold_something() {
        let map = (
            "ARCHITECTURE.md",
            "`core/src/hub.rs` `core/src/hub/`\n`sim/src/report/` `core/src/` `target/`\n",
        );
        let all = [
            map,
            TABLE,
            ("core/src/hub.rs", "\n"),
            ("core/src/hub/rooms.rs", "\n"),
            ("core/src/queue.rs", "\n"),
            ("scenarios/burst.yaml", "\n"),
        ];
        assert_eq!(
            found(&all),
            [
                "ARCHITECTURE.md:2: sim/src/report/ does not exist",
                "ARCHITECTURE.md: the code map does not name core/src/queue.rs",
            ]
        );
    }

    #[test]
    fn a_former_name_in_another_document_is_found() {
        let all = [
            MAP,
            TABLE,
            ("core/src/hub.rs", "\n"),
            ("scenarios/burst.yaml", "\n"),
            (
                "CHANGELOG.md",
                "`core/src/agenda.rs` is `core/src/hub.rs` now.\n",
            ),
            (
                "CONTRIBUTING.md",
                "`core/src/hub.rs`, `core/src/<its name>.rs`\n`core/src/agenda.rs`\n",
            ),
        ];
        assert_eq!(
            found(&all),
            ["CONTRIBUTING.md:2: core/src/agenda.rs does not exist"]
        );
    }

    #[test]
    fn a_scenario_named_outside_the_table_is_not_listed() {
        let page = (
            "docs/scenarios.md",
            "Run [burst](../scenarios/burst.yaml).\n",
        );
        let all = [
            MAP,
            page,
            ("core/src/hub.rs", "\n"),
            ("scenarios/burst.yaml", "\n"),
        ];
        assert_eq!(
            found(&all),
            ["docs/scenarios.md: the scenario table does not name scenarios/burst.yaml"]
        );
    }

    #[test]
    fn a_named_file_that_does_not_exist_is_found() {
        assert_eq!(
            found(&[MAP, TABLE]),
            [
                "ARCHITECTURE.md:1: core/src/hub.rs does not exist",
                "docs/scenarios.md:2: scenarios/burst.yaml does not exist",
            ]
        );
    }

    #[test]
    fn missing_documents_are_found() {
        assert_eq!(
            found(&[]),
            [
                "ARCHITECTURE.md: the file is missing",
                "docs/scenarios.md: the file is missing"
            ]
        );
    }

    #[test]
    fn backticks_are_read_in_pairs() {
        let all: Vec<_> = quoted("`a` b `c`\nd\n`e").collect();
        assert_eq!(all, [(1, "a"), (1, "c"), (3, "e")]);
    }
}
