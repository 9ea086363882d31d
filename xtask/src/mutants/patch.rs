//! A curated mutant: a patch file whose head describes the bug in plain words and names the
//! properties that must catch it.
//!
//! ```text
//! A waiter may be found as its own partner.
//! caught-by: single_match, panic
//! explore: scenarios/churn.yaml
//!
//! --- a/core/src/queue.rs
//! +++ b/core/src/queue.rs
//! @@ …
//! ```

use std::fs;
use std::path::Path;

/// The folder of the patches.
pub(crate) const FOLDER: &str = "mutants";

/// The folder that patches may change.
const CORE: [&str; 3] = ["core/src/", "core/cluster/src/", "core/journal/src/"];

/// The largest number of lines that a patch may add or remove: a larger one is more than one bug.
const LINES: usize = 12;

/// The word for a panic of the core's own invariant checks, beside the properties' names.
pub(crate) const PANIC: &str = "panic";

/// How the simulator hunts the mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hunt {
    /// By `sim explore` over these files; if none, over the shipped scenarios with drawn flows.
    Explore(Vec<String>),
    /// By `sim run` over these files as written, with their thresholds.
    Run(Vec<String>),
    /// By `sim cluster`: the head has the line `cluster:`.
    Cluster,
}

/// One bug to plant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mutant {
    pub(crate) name: String,
    pub(crate) about: String,
    /// The properties of which one must catch it.
    pub(crate) caught_by: Vec<String>,
    pub(crate) hunt: Hunt,
    /// The faults by which the nemesis of a real cluster must catch it, too.
    pub(crate) nemesis: Vec<String>,
    pub(crate) diff: String,
    /// The files that it changes.
    pub(crate) files: Vec<String>,
}

/// Reads every `*.patch` of the folder, by name.
///
/// # Errors
/// All patches that cannot be read, a line each.
pub(crate) fn read_all(root: &Path) -> Result<Vec<Mutant>, String> {
    let folder = root.join(FOLDER);
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("cannot read {FOLDER}/: {error}"))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".patch").map(str::to_owned))
        .collect();
    names.sort();
    let (mut mutants, mut wrong) = (Vec::new(), Vec::new());
    for name in names {
        let text = fs::read_to_string(folder.join(format!("{name}.patch")))
            .map_err(|error| error.to_string());
        match text.and_then(|text| read(&name, &text)) {
            Ok(mutant) => mutants.push(mutant),
            Err(why) => wrong.push(format!("{FOLDER}/{name}.patch: {why}")),
        }
    }
    if !wrong.is_empty() {
        return Err(wrong.join("\n"));
    }
    if mutants.is_empty() {
        return Err(format!("{FOLDER}/ holds no patch"));
    }
    Ok(mutants)
}

/// Reads one patch file.
///
/// # Errors
/// What is wrong with it, and the expected form.
pub(crate) fn read(name: &str, text: &str) -> Result<Mutant, String> {
    let start = if text.starts_with("--- ") {
        0
    } else {
        let place = text.find("\n--- ");
        place.ok_or("there is no diff: expected a line that starts with `--- a/core/src/…`")? + 1
    };
    let (head, diff) = text.split_at(start);
    let head = read_head(head)?;
    let files = changed_files(diff)?;
    for sign in ['+', '-'] {
        let count = changed_lines(diff, sign);
        if count > LINES {
            return Err(format!(
                "{count} lines start with `{sign}`; a bug has at most {LINES}"
            ));
        }
    }
    if changed_lines(diff, '+') + changed_lines(diff, '-') == 0 {
        return Err("the diff changes nothing".into());
    }
    Ok(Mutant {
        name: name.to_owned(),
        about: head.about,
        caught_by: head.caught_by,
        hunt: head.hunt,
        nemesis: head.nemesis,
        diff: diff.to_owned(),
        files,
    })
}

struct Head {
    about: String,
    caught_by: Vec<String>,
    hunt: Hunt,
    nemesis: Vec<String>,
}

fn read_head(head: &str) -> Result<Head, String> {
    let (mut about, mut caught_by, mut hunt) = (Vec::new(), Vec::new(), None);
    let mut nemesis = Vec::new();
    for line in head.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(names) = line.strip_prefix("caught-by:") {
            caught_by.extend(list(names));
        } else if let Some(files) = line.strip_prefix("explore:") {
            hunt = Some(Hunt::Explore(list(files)));
        } else if let Some(files) = line.strip_prefix("run:") {
            hunt = Some(Hunt::Run(list(files)));
        } else if let Some(faults) = line.strip_prefix("nemesis:") {
            nemesis.extend(list(faults));
        } else if line == "cluster:" {
            hunt = Some(Hunt::Cluster);
        } else if let Some((word, _)) = line.split_once(':').filter(|(word, _)| is_key(word)) {
            return Err(format!(
                "unknown key `{word}:`: expected `caught-by:`, `explore:`, `run:`, `cluster:` or `nemesis:`"
            ));
        } else {
            about.push(line);
        }
    }
    if about.is_empty() {
        return Err("its head does not say what the bug is".into());
    }
    if caught_by.is_empty() {
        return Err("its head lacks `caught-by: PROPERTY, …`".into());
    }
    Ok(Head {
        about: about.join(" "),
        caught_by,
        hunt: hunt.unwrap_or(Hunt::Explore(Vec::new())),
        nemesis,
    })
}

/// Whether a word at the start of a line is a key. In prose, spaces precede a colon.
fn is_key(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
}

fn list(text: &str) -> Vec<String> {
    text.split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The files that a diff changes, all of them in the core, its journal or its cluster.
fn changed_files(diff: &str) -> Result<Vec<String>, String> {
    let mut files = Vec::new();
    for line in diff.lines() {
        let Some(path) = line.strip_prefix("+++ ") else {
            continue;
        };
        let path = path.strip_prefix("b/").unwrap_or(path);
        if !CORE.iter().any(|folder| path.starts_with(folder)) {
            let folders = CORE.join(" or ");
            return Err(format!("it changes {path}, which is not below {folders}"));
        }
        files.push(path.to_owned());
    }
    if files.is_empty() {
        return Err("the diff names no file: expected `+++ b/core/src/…`".into());
    }
    Ok(files)
}

fn changed_lines(diff: &str, sign: char) -> usize {
    let heads = ["--- ", "+++ "];
    diff.lines()
        .filter(|line| line.starts_with(sign) && !heads.iter().any(|head| line.starts_with(head)))
        .count()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Hunt, Mutant, read};

    const DIFF: &str = "\
--- a/core/src/queue.rs
+++ b/core/src/queue.rs
@@ -1,3 +1,3 @@
 a
-b
+c
 d
";

    /// A mutant of this file that this property must catch.
    pub(crate) fn mutant(name: &str, file: &str, caught_by: &str) -> Mutant {
        let text = format!(
            "A bug.\ncaught-by: {caught_by}\n\n{}",
            DIFF.replace("core/src/queue.rs", file)
        );
        read(name, &text).expect("a good patch")
    }

    #[test]
    fn a_head_names_the_bug_its_properties_and_its_scenarios() {
        let head = "Who waits\nmay be its own: partner.\ncaught-by: single_match, panic\n\
                    explore: scenarios/churn.yaml\n\n";
        let mutant = read("self", &format!("{head}{DIFF}")).expect("a good patch");
        assert_eq!(mutant.about, "Who waits may be its own: partner.");
        assert_eq!(mutant.caught_by, ["single_match", "panic"]);
        assert_eq!(
            mutant.hunt,
            Hunt::Explore(vec!["scenarios/churn.yaml".into()])
        );
        assert_eq!(mutant.files, ["core/src/queue.rs"]);
        assert_eq!(mutant.diff, DIFF);
    }

    #[test]
    fn a_patch_without_scenarios_explores_the_shipped_ones() {
        let explored = mutant("a", "core/src/a.rs", "bounded").hunt;
        assert_eq!(explored, Hunt::Explore(Vec::new()));
        let text = format!("A bug.\ncaught-by: latency\nrun: a.yaml, b.yaml\n{DIFF}");
        assert_eq!(
            read("a", &text).expect("a good patch").hunt,
            Hunt::Run(vec!["a.yaml".into(), "b.yaml".into()])
        );
        let text = format!(
            "A bug.\ncaught-by: cluster_refused\ncluster:\nnemesis: owner killed, all killed\n{DIFF}"
        );
        let mutant = read("a", &text).expect("a good patch");
        assert_eq!(mutant.hunt, Hunt::Cluster);
        assert_eq!(mutant.nemesis, ["owner killed", "all killed"]);
    }

    #[test]
    fn errors_of_wrong_patches_name_what_is_expected() {
        let long = format!(
            "A bug.\ncaught-by: bounded\n{DIFF}{}",
            "+x\n".repeat(12) // one more than may be
        );
        for (text, told) in [
            (
                "A bug.\ncaught-by: bounded\n".to_owned(),
                "there is no diff",
            ),
            (format!("caught-by: bounded\n{DIFF}"), "does not say what"),
            (format!("A bug.\n{DIFF}"), "lacks `caught-by"),
            (
                format!("A bug.\ncaught-by: x\nseeds: 4\n{DIFF}"),
                "unknown key `seeds:`",
            ),
            (
                format!(
                    "A bug.\ncaught-by: x\n{}",
                    DIFF.replace("core/src", "sim/src")
                ),
                "sim/src/queue.rs, which is not below core/src/",
            ),
            (
                format!("A bug.\ncaught-by: x\n{}", DIFF.replace("-b\n+c\n", "")),
                "changes nothing",
            ),
            (long, "13 lines start with `+`"),
        ] {
            let why = read("bad", &text).expect_err(told);
            assert!(why.contains(told), "{why}");
        }
    }
}
