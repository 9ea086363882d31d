//! Checks that every property and every file of the core has a curated mutant, or a reason to have
//! none.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::mutant::{Mutant, PANIC};

const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// Files in which no planted bug would show to a client, with the reason.
const WITHOUT: [(&str, &str); 8] = [
    ("core/src/lib.rs", "lists the modules"),
    (
        "core/src/reject.rs",
        "codes and sentences, which the simulator takes from here",
    ),
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
        "core/src/hub/overview.rs",
        "what operators and visitors look at, and no simulated user does",
    ),
    (
        "core/src/hub/outline.rs",
        "views for those who look for new states, and no client does",
    ),
    ("core/src/node/output.rs", "types alone"),
];

/// The properties and files to cover.
#[derive(Debug)]
pub(crate) struct CoverageTargets {
    pub(crate) properties: Vec<String>,
    pub(crate) files: Vec<String>,
}

impl CoverageTargets {
    /// The properties of the table, and the files of the core.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(crate) fn collect(root: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(root.join(ARCHITECTURE))
            .map_err(|error| format!("cannot read {ARCHITECTURE}: {error}"))?;
        let mut properties = table(&text, "\n## Properties\n");
        properties.extend(table(&text, "\n### Rules of a cluster\n"));
        if properties.is_empty() {
            return Err(format!("{ARCHITECTURE} has no table of properties"));
        }
        let mut files = Vec::new();
        gather(root, "core/src", &mut files)?;
        files.sort();
        Ok(Self { properties, files })
    }

    /// The uncovered properties and files, and unknown names.
    pub(crate) fn check(&self, mutants: &[Mutant]) -> Vec<String> {
        let mut found = self.check_names(mutants);
        let caught: BTreeSet<&str> = mutants
            .iter()
            .flat_map(|mutant| &mutant.caught_by)
            .map(String::as_str)
            .collect();
        let changed: BTreeSet<&str> = mutants.iter().flat_map(Mutant::files).collect();
        found.extend(compare("property", &self.properties, &caught, &[]));
        found.extend(compare("file", &self.files, &changed, &WITHOUT));
        found
    }

    fn check_names(&self, mutants: &[Mutant]) -> Vec<String> {
        let mut found = Vec::new();
        for mutant in mutants {
            for name in &mutant.caught_by {
                if name != PANIC && !self.properties.contains(name) {
                    found.push(format!(
                        "{}: `{name}` is not a property of {ARCHITECTURE}",
                        mutant.name
                    ));
                }
            }
        }
        found
    }
}

fn compare(
    what: &str,
    there: &[String],
    covered: &BTreeSet<&str>,
    excused: &[(&str, &str)],
) -> Vec<String> {
    let is_excused = |name: &str| excused.iter().any(|(other, _)| *other == name);
    let missing = there
        .iter()
        .filter(|name| !covered.contains(name.as_str()) && !is_excused(name))
        .map(|name| format!("no curated mutant covers the {what} {name}"));
    let stale = excused.iter().filter_map(|(name, why)| {
        if !there.iter().any(|other| other == name) {
            return Some(format!(
                "the {what} {name} is excused ({why}), and is not there"
            ));
        }
        covered
            .contains(name)
            .then(|| format!("the {what} {name} is excused ({why}), and has a mutant"))
    });
    missing.chain(stale).collect()
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

/// Every `.rs` file below a folder, by its path from the root.
fn gather(root: &Path, folder: &str, files: &mut Vec<String>) -> Result<(), String> {
    let entries = fs::read_dir(root.join(folder))
        .map_err(|error| format!("cannot read {folder}: {error}"))?;
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = format!("{folder}/{name}");
        if entry.path().is_dir() {
            gather(root, &path, files)?;
        } else if name.ends_with(".rs") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::mutant::tests::mutant;
    use super::{CoverageTargets, WITHOUT, compare, table};

    fn targets() -> CoverageTargets {
        let mut files: Vec<String> = WITHOUT.map(|(file, _)| file.to_owned()).to_vec();
        files.push("core/src/queue.rs".into());
        let properties = vec!["bounded".to_owned()];
        CoverageTargets { properties, files }
    }

    #[test]
    fn full_coverage_has_no_findings() {
        let one = mutant("a", "core/src/queue.rs", "bounded, panic");
        assert_eq!(targets().check(&[one]), [""; 0]);
    }

    #[test]
    fn a_property_or_file_without_a_mutant_is_found() {
        assert_eq!(
            targets().check(&[]),
            [
                "no curated mutant covers the property bounded",
                "no curated mutant covers the file core/src/queue.rs",
            ]
        );
    }

    #[test]
    fn an_unknown_property_is_found() {
        let one = mutant("a", "core/src/queue.rs", "bounded, bonded");
        assert_eq!(
            targets().check(&[one]),
            ["a: `bonded` is not a property of ARCHITECTURE.md"]
        );
    }

    #[test]
    fn a_needless_exception_is_found() {
        let there = ["a", "b"].map(str::to_owned);
        let covered = ["a", "b"].into();
        assert_eq!(
            compare("file", &there, &covered, &[("b", "why"), ("c", "why")]),
            [
                "the file b is excused (why), and has a mutant",
                "the file c is excused (why), and is not there",
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
