//! Rules on documents: each names sources that exist, the table of scenarios names every scenario, and a
//! source begins with what it holds.

use super::{Finding, Source, finding};

const SCENARIOS: &str = "docs/scenarios.md";

/// What documents leave out or make up.
pub(super) fn check(files: &[Source]) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in files {
        if file.path.ends_with(".md") && file.path != "docs/CHANGELOG.md" {
            found.extend(made_up(files, file, &sources(&file.text)));
        }
        if is_source(&file.path) && !file.text.starts_with("//! ") {
            let what = "say in a line `//! …` what the file holds";
            found.push(finding(&file.path, 1, what));
        }
    }
    found.extend(scenario_table(files));
    found
}

/// Whether the path is of a source file of a crate.
fn is_source(path: &str) -> bool {
    path.contains("/src/") && path.ends_with(".rs") && !path.ends_with("/tests.rs")
}

/// The source files and folders that a text names, with their lines. `<its name>.rs` is no name.
fn sources(text: &str) -> Vec<(usize, &str)> {
    quoted(text)
        .filter(|(_, path)| is_source(path) || (path.contains("/src/") && path.ends_with('/')))
        .filter(|(_, path)| !path.contains(['<', '…', ' ', '*']))
        .collect()
}

/// The names in a document that stand for no file.
fn made_up(files: &[Source], document: &Source, named: &[(usize, &str)]) -> Vec<Finding> {
    let stands_for =
        |name: &str, path: &str| name == path || (name.ends_with('/') && path.starts_with(name));
    let unknown = named
        .iter()
        .filter(|(_, name)| !files.iter().any(|file| stands_for(name, &file.path)));
    let missing = |(line, name): &(usize, &str)| {
        finding(&document.path, *line, format!("{name} does not exist"))
    };
    unknown.map(missing).collect()
}

fn scenario_table(files: &[Source]) -> Vec<Finding> {
    let is_scenario = |path: &str| {
        path.strip_prefix("scenarios/")
            .is_some_and(|name| name.ends_with(".yaml") && !name.contains('/'))
    };
    let Some(page) = files.iter().find(|file| file.path == SCENARIOS) else {
        return vec![finding(SCENARIOS, None, "the file is missing")];
    };
    let rows = page.text.lines().enumerate();
    let rows = rows.filter(|(_, line)| line.starts_with('|'));
    let targets = rows.flat_map(|(index, line)| {
        let targets = line.split(['(', ')']);
        targets.filter_map(move |target| Some((index + 1, target.strip_prefix("../")?)))
    });
    let named: Vec<_> = targets.filter(|(_, path)| is_scenario(path)).collect();
    let mut found = made_up(files, page, &named);
    let there = files.iter().filter(|file| is_scenario(&file.path));
    let left_out = there.filter(|file| !named.iter().any(|(_, name)| *name == file.path));
    found.extend(left_out.map(|file| {
        let what = format!("the scenario table does not name {}", file.path);
        finding(SCENARIOS, None, what)
    }));
    found
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
        let named = "`core/src/hub.rs` `core/src/` `<its name>/src/a.rs`\n";
        let map = ("ARCHITECTURE.md", named);
        let other = ("scenarios/regressions/stale_epoch.yaml", "\n");
        assert_eq!(found(&[HUB, BURST, TABLE, map, other]), [""; 0]);
    }

    #[test]
    fn a_scenario_left_out_or_made_up_is_found() {
        let churn = ("scenarios/churn.yaml", "\n");
        let made_up = "docs/scenarios.md:2: scenarios/burst.yaml does not exist";
        let left_out = "docs/scenarios.md: the scenario table does not name scenarios/churn.yaml";
        assert_eq!(found(&[churn, TABLE]), [made_up, left_out]);
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

    #[test]
    fn backticks_are_read_in_pairs() {
        let all: Vec<_> = quoted("`a` b `c`\nd\n`e").collect();
        assert_eq!(all, [(1, "a"), (1, "c"), (3, "e")]);
    }
}
