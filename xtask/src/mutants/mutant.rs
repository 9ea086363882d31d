//! A curated mutant: a row of a file in `core/mutants`. It says what the bug is, which properties must
//! catch it, and which text of a source it replaces:
//!
//! ```yaml
//! file: core/src/queue.rs
//! mutants:
//!   queue_own_partner:
//!     about: A waiter may be found as its own partner.
//!     caught_by: [single_match, panic]
//!     edits:
//!       - find: if other != user {
//!         replace: if other <= user {
//! ```
//!
//! White space does not count where `find` is looked for, and it must be there once. So a row outlives
//! changes around it, and those of its file's layout.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, bail, ensure};
use regex::Regex;
use serde::Deserialize;
use xshell::Shell;

use crate::scenarios::files;
use crate::workspace_copy::WorkspaceCopy;

/// The folder of the files.
pub(crate) const FOLDER: &str = "core/mutants";

/// The folders of the sources that mutants may change.
const CORE: [&str; 4] = [
    "core/src/",
    "core/cluster/src/",
    "core/journal/src/",
    "core/types/src/",
];

/// The word for a panic of the core's own invariant checks, beside the properties' names.
pub(crate) const PANIC: &str = "panic";

/// How the simulator hunts the mutant.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Hunt {
    /// By `sim explore` over these files; if none, over the shipped scenarios with drawn flows.
    Explore(Vec<String>),
    /// By `sim run` over these files as written, with their thresholds.
    Run(Vec<String>),
    /// By `sim exhaust --world cluster`.
    Exhaust,
}

impl Default for Hunt {
    fn default() -> Self {
        Self::Explore(Vec::new())
    }
}

/// One bug to plant.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mutant {
    /// The key of its row.
    #[serde(skip)]
    pub(crate) name: String,
    pub(crate) about: String,
    /// The properties of which one must catch it.
    pub(crate) caught_by: Vec<String>,
    #[serde(default)]
    pub(crate) hunt: Hunt,
    /// The faults by which the nemesis of a real cluster must catch it, too.
    #[serde(default)]
    pub(crate) nemesis: Vec<String>,
    edits: Vec<Edit>,
}

/// A text of a source, and what takes its place.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// The source that the file of mutants names, if the row names none.
    #[serde(default)]
    file: String,
    find: String,
    replace: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileOfMutants {
    file: String,
    mutants: BTreeMap<String, Mutant>,
}

/// Reads every file of the folder. The mutants are in the order of their names.
///
/// # Errors
/// The first file that cannot be read.
pub(crate) fn read_all(sh: &Shell) -> Result<Vec<Mutant>> {
    let mut mutants = BTreeMap::new();
    for path in files(sh, FOLDER)? {
        for mutant in read(&sh.read_file(&path)?).with_context(|| path.clone())? {
            if let Some(other) = mutants.insert(mutant.name.clone(), mutant) {
                bail!("{path}: {} stands twice", other.name);
            }
        }
    }
    ensure!(!mutants.is_empty(), "{FOLDER}/ holds no mutant");
    Ok(mutants.into_values().collect())
}

/// Reads the mutants of one file.
///
/// # Errors
/// What is wrong with it.
fn read(text: &str) -> Result<Vec<Mutant>> {
    let FileOfMutants { file, mutants } = serde_saphyr::from_str(text)?;
    let rows = mutants.into_iter().map(|(name, mut mutant)| {
        let is_whole = !mutant.caught_by.is_empty() && !mutant.edits.is_empty();
        ensure!(is_whole, "{name} needs a property and an edit");
        let runs_something = mutant.hunt != Hunt::Run(Vec::new());
        ensure!(runs_something, "{name} needs a scenario to run");
        for edit in &mut mutant.edits {
            if edit.file.is_empty() {
                edit.file.clone_from(&file);
            }
            let (changed, folders) = (&edit.file, CORE.join(" or "));
            let is_core = CORE.iter().any(|folder| changed.starts_with(folder));
            ensure!(
                is_core,
                "{name} changes {changed}, which is not below {folders}"
            );
        }
        Ok(Mutant { name, ..mutant })
    });
    rows.collect()
}

impl Mutant {
    /// The files that it changes, each once.
    pub(crate) fn files(&self) -> BTreeSet<&str> {
        self.edits.iter().map(|edit| edit.file.as_str()).collect()
    }

    /// The changed sources, by their paths from the root.
    ///
    /// # Errors
    /// A file that cannot be read, or a text that is not there once.
    pub(crate) fn changed(&self, sh: &Shell) -> Result<BTreeMap<&str, String>> {
        let mut sources = BTreeMap::new();
        for edit in &self.edits {
            let source = match sources.remove(edit.file.as_str()) {
                Some(source) => source,
                None => sh.read_file(&edit.file)?,
            };
            sources.insert(edit.file.as_str(), edit.apply(&source)?);
        }
        Ok(sources)
    }

    /// Whether a violation of this property catches it.
    pub(crate) fn names(&self, property: &str) -> bool {
        self.caught_by.iter().any(|name| name == property)
    }

    /// Plants it.
    ///
    /// # Errors
    /// As of `changed`, or a file that cannot be written.
    pub(crate) fn plant(&self, copy: &WorkspaceCopy) -> Result<()> {
        for (file, source) in self.changed(&copy.sh)? {
            copy.sh.write_file(file, source)?;
        }
        Ok(())
    }
}

impl Edit {
    fn apply(&self, source: &str) -> Result<String> {
        let dark = self.find.chars().filter(|letter| !letter.is_whitespace());
        let dark: Vec<_> = dark
            .map(|letter| regex::escape(&letter.to_string()))
            .collect();
        let find = Regex::new(&dark.join(r"\s*"))?;
        let found: Vec<_> = find.find_iter(source).collect();
        let [place] = found[..] else {
            let (file, times, find) = (&self.file, found.len(), &self.find);
            bail!("{times} times in {file}, and not once:\n{find}");
        };
        let (before, after) = (&source[..place.start()], &source[place.end()..]);
        Ok([before, &self.replace, after].concat())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Edit, Hunt, Mutant, read};

    /// A mutant of this file that this property must catch.
    pub(crate) fn mutant(name: &str, file: &str, caught_by: &str) -> Mutant {
        let text = format!(
            "file: {file}\nmutants:\n  {name}:\n    about: A bug.\n    caught_by: [{caught_by}]\n    \
             edits: [{{ find: a, replace: b }}]\n"
        );
        let mut read = read(&text).expect("a good file");
        read.remove(0)
    }

    #[test]
    fn a_row_names_the_bug_its_properties_and_how_it_is_hunted() {
        let one = mutant("self", "core/src/queue.rs", "single_match, panic");
        assert_eq!((&*one.name, &*one.about), ("self", "A bug."));
        assert_eq!(one.caught_by, ["single_match", "panic"]);
        assert_eq!(one.hunt, Hunt::Explore(Vec::new()), "the shipped scenarios");
        assert!(one.files().contains("core/src/queue.rs"));
        let rows = read(
            "file: core/src/a.rs\nmutants:\n  b:\n    about: x\n    caught_by: [y]\n    hunt: exhaust\n    \
             nemesis: [owner killed]\n    edits: [{ file: core/cluster/src/b.rs, find: a, replace: b }]\n  \
             a:\n    about: x\n    caught_by: [y]\n    hunt: { run: [a.yaml] }\n    \
             edits: [{ find: a, replace: b }]\n",
        );
        let rows = rows.expect("a good file");
        assert_eq!(rows[0].hunt, Hunt::Run(vec!["a.yaml".into()]));
        assert_eq!(rows[1].hunt, Hunt::Exhaust);
        assert_eq!(rows[1].nemesis, ["owner killed"]);
        assert!(rows[1].files().contains("core/cluster/src/b.rs"));
    }

    #[test]
    fn errors_of_wrong_rows_name_what_is_expected() {
        for (row, told) in [
            ("caught_by: [x], edits: [{ find: a, replace: b }]", "about"),
            (
                "about: x, caught_by: [], edits: []",
                "needs a property and an edit",
            ),
            ("about: x, caught_by: [x], edits: [], seeds: 4", "seeds"),
            (
                "about: x, caught_by: [x], hunt: { run: [] }, edits: [{ find: a, replace: b }]",
                "needs a scenario to run",
            ),
            (
                "about: x, caught_by: [x], edits: [{ file: sim/src/a.rs, find: a, replace: b }]",
                "changes sim/src/a.rs, which is not below core/src/",
            ),
        ] {
            let text = format!("file: core/src/a.rs\nmutants:\n  a: {{ {row} }}\n");
            let why = read(&text).expect_err(told);
            assert!(why.to_string().contains(told), "{why}");
        }
    }

    #[test]
    fn a_text_is_found_once_however_it_is_laid_out() {
        let edit = |find: &str| Edit {
            file: "a.rs".into(),
            find: find.into(),
            replace: "new".into(),
        };
        let source = "fn ä() {\n    one(\n        two, é,\n    );\n}\n";
        let changed = edit("one( two, é,\n)").apply(source).expect("it is there");
        assert_eq!(changed, "fn ä() {\n    new;\n}\n");
        for (find, told) in [("three", "0 times in a.rs"), ("o", "2 times in a.rs")] {
            let why = edit(find).apply(source).expect_err(told).to_string();
            assert!(why.starts_with(told), "{why}");
        }
    }
}
