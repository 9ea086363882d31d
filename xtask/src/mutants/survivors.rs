//! The committed list of generated mutants that survive the core's tests and the simulator, with
//! the reason why each is harmless.
//!
//! ```text
//! core/src/table.rs: replace > with >= in Table<K, V>::remove #1
//!     only memory: when exactly a table shrinks
//! ```
//!
//! Lines of the source move, so a mutant is identified by its file, its replacement, and its number
//! among equal ones.

use std::collections::BTreeMap;

use anyhow::Result;
use xshell::Shell;

use crate::outcome::none_of;

/// The path of the list.
const FILE: &str = "core/mutants/survivors.txt";

/// The keys of mutants, by their full names with line numbers.
pub(crate) type Keys = BTreeMap<String, String>;

/// The keys of all mutants, from the list that `cargo mutants --list` prints.
pub(crate) fn keys(list: &str) -> Keys {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut keys = Keys::new();
    for name in list.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let Some(bare) = bare(name) else { continue };
        let number = seen.entry(bare.clone()).or_default();
        *number += 1;
        keys.insert(name.to_owned(), format!("{bare} #{number}"));
    }
    keys
}

/// `core/src/a.rs:7:12: replace …` without the numbers.
fn bare(name: &str) -> Option<String> {
    let (place, what) = name.split_once(": ")?;
    let (file, _line_and_column) = place.split_once(':')?;
    Some(format!("{file}: {what}"))
}

/// Reads the committed list.
///
/// # Errors
/// It cannot be read, or has invalid lines.
pub(crate) fn load(sh: &Shell) -> Result<BTreeMap<String, String>> {
    read(&sh.read_file(FILE)?)
}

/// Parses the list: the key of each mutant, with the reason.
///
/// # Errors
/// Invalid lines.
fn read(text: &str) -> Result<BTreeMap<String, String>> {
    let (mut list, mut wrong) = (BTreeMap::new(), Vec::new());
    let is_remark = |line: &&str| line.starts_with('#') || line.trim().is_empty();
    let mut lines = text.lines().filter(|line| !is_remark(line)).peekable();
    while let Some(key) = lines.next() {
        let mut why = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with(' ')) {
            why.push(line.trim());
        }
        if why.is_empty() || key.starts_with(' ') {
            wrong.push(format!(
                "{FILE}: a mutant, and a reason below it, are expected at `{key}`"
            ));
        }
        if list.insert(key.to_owned(), why.join(" ")).is_some() {
            wrong.push(format!("{FILE}: `{key}` is listed twice"));
        }
    }
    none_of(&wrong)?;
    Ok(list)
}

/// Survivors that are missing from the list, and listed mutants that do not survive or do not
/// exist.
pub(crate) fn compare(
    listed: &BTreeMap<String, String>,
    survived: &[String],
    all: &Keys,
) -> Vec<String> {
    let unexplained = survived
        .iter()
        .filter(|key| !listed.contains_key(*key))
        .map(|key| format!("survives, and {FILE} does not say why: {key}"));
    let stale = listed
        .keys()
        .filter(|key| !survived.contains(key))
        .map(|key| {
            if all.values().any(|other| other == key) {
                format!("{FILE} lists what no longer survives: {key}")
            } else {
                format!("{FILE} lists what is not there: {key}")
            }
        });
    unexplained.chain(stale).collect()
}

#[cfg(test)]
mod tests {
    use super::{FILE, compare, keys, read};

    const LIST: &str = "\
core/src/a.rs:7:12: replace == with != in <impl Display for A>::fmt
core/src/a.rs:9:3: replace == with != in <impl Display for A>::fmt
core/src/b.rs:1:1: replace b -> u8 with 1
";

    const FIRST: &str = "core/src/a.rs: replace == with != in <impl Display for A>::fmt #1";
    const OTHER: &str = "core/src/b.rs: replace b -> u8 with 1 #1";

    #[test]
    fn mutants_are_named_without_their_lines() {
        let keys: Vec<String> = keys(LIST).into_values().collect();
        let second = FIRST.replace("#1", "#2");
        assert_eq!(keys, [FIRST, &second, OTHER]);
    }

    #[test]
    fn a_list_has_a_reason_below_each_mutant() {
        let list = read("# why\n\na: x #1\n    only\n    memory\nb: y #1\n    equal\n");
        let list = list.expect("a good list");
        assert_eq!(list["a: x #1"], "only memory");
        assert_eq!(list["b: y #1"], "equal");
    }

    #[test]
    fn a_list_without_reasons_or_with_doubles_is_wrong() {
        for (text, told) in [
            ("a: x #1\n", "a reason below it, are expected at `a: x #1`"),
            ("    why\n", "survivors.txt: a mutant, and a reason"),
            ("a\n  b\na\n  b\n", "survivors.txt: `a` is listed twice"),
        ] {
            let why = read(text).expect_err(told);
            assert!(why.to_string().contains(told), "{why}");
        }
    }

    #[test]
    fn the_list_equals_the_survivors() {
        let all = keys(LIST);
        let listed = read(&format!("{OTHER}\n  x\nd: gone #1\n  x\n")).expect("a good list");
        assert_eq!(
            compare(&listed, &[FIRST.to_owned()], &all),
            [
                format!("survives, and {FILE} does not say why: {FIRST}"),
                format!("{FILE} lists what no longer survives: {OTHER}"),
                format!("{FILE} lists what is not there: d: gone #1"),
            ]
        );
        let listed = read(&format!("{FIRST}\n  x\n{OTHER}\n  x\n")).expect("a good list");
        let both = [FIRST, OTHER].map(str::to_owned);
        assert_eq!(compare(&listed, &both, &all), [""; 0]);
    }
}
