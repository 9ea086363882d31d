//! Checks that every property and every file of the core has a curated mutant, or a reason to have
//! none.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use xshell::Shell;

use super::mutant::{Mutant, PANIC};
use crate::workspace_copy::below;

const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// Files in which no planted bug would show to a client, with the reason.
const WITHOUT: [(&str, &str); 5] = [
    ("core/src/lib.rs", "lists the modules"),
    (
        "core/src/counters.rs",
        "counts for shells, and no part of the state",
    ),
    (
        "core/src/digest.rs",
        "the simulator hashes by the same function",
    ),
    (
        "core/src/hub/validate.rs",
        "checks the state, and changes none of it",
    ),
    (
        "core/src/hub/outline.rs",
        "views for those who look for new states, and no client does",
    ),
];

/// The uncovered properties of the table and files of the core, and unknown names.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn check(sh: &Shell, mutants: &[Mutant]) -> Result<Vec<String>> {
    let text = sh.read_file(ARCHITECTURE)?;
    let mut properties = table(&text, "\n## Properties\n");
    properties.extend(table(&text, "\n### Rules of a cluster\n"));
    ensure!(
        !properties.is_empty(),
        "{ARCHITECTURE} has no table of properties"
    );
    let files = below(sh, "core/src")?;
    Ok(uncovered(&properties, &files, mutants))
}

fn uncovered(properties: &[String], files: &[String], mutants: &[Mutant]) -> Vec<String> {
    let mut found = Vec::new();
    for mutant in mutants {
        let is_known = |name: &String| name == PANIC || properties.contains(name);
        for unknown in mutant.caught_by.iter().filter(|name| !is_known(name)) {
            let name = &mutant.name;
            found.push(format!(
                "{name}: `{unknown}` is not a property of {ARCHITECTURE}"
            ));
        }
    }
    let changed: BTreeSet<&str> = mutants.iter().flat_map(Mutant::files).collect();
    let mut missing = |what: &str, name: &str| {
        found.push(format!("no curated mutant covers the {what} {name}"));
    };
    let is_caught = |property: &String| mutants.iter().any(|mutant| mutant.names(property));
    for property in properties.iter().filter(|property| !is_caught(property)) {
        missing("property", property);
    }
    for file in files.iter().filter(|one| !changed.contains(&***one)) {
        if !WITHOUT.iter().any(|(excused, _)| excused == file) {
            missing("file", file);
        }
    }
    for (file, why) in WITHOUT {
        let is_there = files.iter().any(|other| other == file);
        let what = match changed.contains(file) {
            _ if !is_there => "is not there",
            true => "has a mutant",
            false => continue,
        };
        found.push(format!("the file {file} is excused ({why}), and {what}"));
    }
    found
}

/// The names in the first column of the table below a heading.
fn table(markdown: &str, heading: &str) -> Vec<String> {
    let Some((_, section)) = markdown.split_once(heading) else {
        return Vec::new();
    };
    section
        .lines()
        .take_while(|line| !line.starts_with("## "))
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::mutant::tests::mutant;
    use super::{Mutant, WITHOUT, table, uncovered};

    /// What these mutants leave uncovered of one property and one file.
    fn found(mutants: &[Mutant]) -> Vec<String> {
        let mut files: Vec<String> = WITHOUT.map(|(file, _)| file.to_owned()).to_vec();
        files.push("core/src/queue.rs".into());
        uncovered(&["bounded".to_owned()], &files, mutants)
    }

    #[test]
    fn what_no_mutant_covers_and_unknown_properties_are_found() {
        let one = |caught_by| [mutant("a", "core/src/queue.rs", caught_by)];
        assert_eq!(found(&one("bounded, panic")), [""; 0]);
        let unknown = "a: `bonded` is not a property of ARCHITECTURE.md";
        assert_eq!(found(&one("bounded, bonded")), [unknown]);
        let missing = ["property bounded", "file core/src/queue.rs"]
            .map(|what| format!("no curated mutant covers the {what}"));
        assert_eq!(found(&[]), missing);
    }

    #[test]
    fn a_needless_exception_is_found() {
        let [(first, why), (second, reason), ..] = WITHOUT;
        let mutants = [
            mutant("a", "core/src/queue.rs", "bounded"),
            mutant("b", second, "bounded"),
        ];
        let mut files: Vec<String> = WITHOUT.map(|(file, _)| file.to_owned()).to_vec();
        files.remove(0);
        assert_eq!(
            uncovered(&["bounded".to_owned()], &files, &mutants),
            [
                format!("the file {first} is excused ({why}), and is not there"),
                format!("the file {second} is excused ({reason}), and has a mutant"),
            ]
        );
    }

    #[test]
    fn the_table_is_read_by_its_first_column() {
        let markdown = "# A\n| `x` |\n\n## Properties\n\n| name | holds |\n|---|---|\n\
                        | `bounded` | no `x` passes |\n| `latency` | y |\n\n## Next\n| `z` |\n";
        assert_eq!(table(markdown, "\n## Properties\n"), ["bounded", "latency"]);
    }
}
