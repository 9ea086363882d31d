//! The committed JSON Schema of scenarios is the one that `sim schema` prints, and the scenarios
//! that the README shows are ones that `sim validate` accepts.

use std::fs;

use crate::cargo::{self, Build, Cargo};
use crate::outcome::Outcome;

const SCHEMA: &str = "scenarios/schema.json";
const README: &str = "README.md";

/// Compares the schemas byte for byte, then tries every example.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    cargo
        .build_sim(Build::Quick)
        .and_then(|| match cargo.sim_prints(Build::Quick, &["schema"]) {
            Ok(printed) => compare(
                fs::read(cargo.root().join(SCHEMA)).ok().as_deref(),
                &printed,
            ),
            Err(why) => Outcome::Failed(why),
        })
        .and_then(|| match try_examples(cargo) {
            Ok(findings) => Outcome::of_findings(&findings),
            Err(why) => Outcome::Failed(why),
        })
}

fn compare(committed: Option<&[u8]>, printed: &[u8]) -> Outcome {
    let write = format!("write it: cargo run --release -p sim -- schema > {SCHEMA}");
    match committed {
        Some(committed) if committed == printed => Outcome::Passed,
        Some(_) => Outcome::Failed(format!("{SCHEMA} is not what `sim schema` prints; {write}")),
        None => Outcome::Failed(format!("{SCHEMA} is missing; {write}")),
    }
}

/// Has the simulator validate every example, and says which it refuses.
fn try_examples(cargo: &Cargo) -> Result<Vec<String>, String> {
    let readme = fs::read_to_string(cargo.root().join(README))
        .map_err(|error| format!("cannot read {README}: {error}"))?;
    let folder = cargo.scratch()?;
    let mut findings = Vec::new();
    for (line, text) in examples(&readme) {
        let file = folder.join(format!("readme-line-{line}.yaml"));
        fs::write(&file, text)
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        let path = file.to_str().ok_or("the workspace's path is not Unicode")?;
        let status = cargo.sim(Build::Quick, &["validate", path])?;
        if !status.success() {
            let ended = cargo::ended(status);
            findings.push(format!("{README}:{line}: `sim validate` {ended}"));
        }
    }
    Ok(findings)
}

/// The fenced blocks of YAML, each with the line on which it starts.
fn examples(markdown: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut inside = false;
    for (index, line) in markdown.lines().enumerate() {
        if line == "```yaml" {
            inside = true;
            found.push((index + 2, String::new()));
        } else if line == "```" {
            inside = false;
        } else if inside && let Some((_, text)) = found.last_mut() {
            text.push_str(line);
            text.push('\n');
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{compare, examples};
    use crate::outcome::Outcome;

    #[test]
    fn examples_are_the_yaml_blocks_and_no_others() {
        let markdown =
            "a\n```yaml\nname: x\nseed: 1\n```\n```sh\nls\n```\n\n```yaml\nname: y\n```\n";
        assert_eq!(
            examples(markdown),
            [(3, "name: x\nseed: 1\n".into()), (11, "name: y\n".into())]
        );
        assert_eq!(examples("no blocks\n"), []);
    }

    #[test]
    fn the_same_bytes_pass() {
        assert_eq!(compare(Some(b"{}\n"), b"{}\n"), Outcome::Passed);
    }

    #[test]
    fn other_bytes_or_no_file_fail_and_say_how_to_write_it() {
        for committed in [Some(&b"{}"[..]), Some(&b""[..]), None] {
            let outcome = compare(committed, b"{}\n");
            assert!(
                matches!(&outcome, Outcome::Failed(why) if why.contains("-- schema > scenarios/")),
                "{outcome:?}"
            );
        }
    }
}
