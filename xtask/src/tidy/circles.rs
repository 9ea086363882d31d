//! No cycles of modules: within a crate, a module must not depend on a module that depends on it.
//! The rule looks at top-level modules, and at paths from `crate::` and `super::` outside of tests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::{Finding, Source, finding, line_of, pattern};

/// The dependencies between the modules of one crate: which needs which, with the place where it is first
/// written.
type Needs<'a> = BTreeMap<(&'a str, String), (&'a str, usize)>;

/// Finds every dependency within a circle.
pub(super) fn check(files: &[Source]) -> Vec<Finding> {
    let mut found = Vec::new();
    for folder in crates(files) {
        let needs = needs(files, &folder);
        for ((from, to), (path, line)) in &needs {
            if reaches(&needs, to, from) {
                let what =
                    format!("`{from}` needs `{to}`, which leads back to it: a circle of modules");
                found.push(finding(path, *line, what));
            }
        }
    }
    found
}

/// The source folders, one for each crate.
pub(super) fn crates(files: &[Source]) -> impl Iterator<Item = String> {
    let folders = files
        .iter()
        .map(|file| file.path.strip_suffix("Cargo.toml"));
    folders.flatten().map(|folder| format!("{folder}src/"))
}

/// What the root shows of a module: its name, and the names from it.
static SHOWN: LazyLock<Regex> = LazyLock::new(|| pattern(r"use (\w+)::([^;]*)"));

/// A module that is compiled for tests only.
static OF_TESTS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"#\[cfg\(test\)\]\n(?:pub.* )?mod (\w+);"));

/// A comment. A `//` within a string is none, which does no harm: no path follows it.
static COMMENT: LazyLock<Regex> = LazyLock::new(|| pattern("//.*"));

/// A path from the root or from a module above: the way there, and the first name or a group of names. Each
/// name of a group may be that of a module.
static PATH: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?:^|[^\w:$])(crate::|(?:super::)+)(\{[^}]*|\w+)"));

fn needs<'a>(files: &'a [Source], folder: &str) -> Needs<'a> {
    let sources: Vec<(&str, &Source)> = files
        .iter()
        .filter_map(|file| Some((file.path.strip_prefix(folder)?.strip_suffix(".rs")?, file)))
        .collect();
    // The top-level module of a file.
    let module = |path: &'a str| path.split('/').next().unwrap_or(path);
    let modules: BTreeSet<&str> = sources.iter().map(|(path, _)| module(path)).collect();
    let is_root = |path: &str| matches!(path, "lib" | "main");
    let (mut shown, mut tests) = (BTreeMap::new(), BTreeSet::new());
    for (path, file) in &sources {
        if is_root(path) {
            for [of, names] in parts(&SHOWN, &file.text) {
                if modules.contains(of) {
                    shown.extend(words(names).map(|name| (name, of)));
                }
            }
        }
        tests.extend(parts(&OF_TESTS, &file.text).map(|[name]| name));
    }
    let mut needs = Needs::new();
    for (path, file) in sources {
        let from = module(path);
        if is_root(from) || path.split('/').any(|part| tests.contains(part)) {
            continue;
        }
        // The inline module of tests comes last.
        let code = file.text.split("#[cfg(test)]\nmod tests {").next();
        let code = COMMENT.replace_all(code.unwrap_or_default(), "");
        let root = "super::".repeat(path.matches('/').count() + 1);
        for found in PATH.captures_iter(&code) {
            let (_, [way, names]) = found.extract();
            let line = line_of(&code, found.get_match().end() - names.len());
            for name in words(names).filter(|_| way == "crate::" || way == root) {
                let to = shown.get(name).copied().unwrap_or(name);
                if to != from && modules.contains(to) {
                    let need = needs.entry((from, to.to_owned()));
                    need.or_insert((&*file.path, line));
                }
            }
        }
    }
    needs
}

/// The parts of what a pattern finds.
fn parts<'a, const N: usize>(of: &Regex, text: &'a str) -> impl Iterator<Item = [&'a str; N]> {
    of.captures_iter(text).map(|found| found.extract().1)
}

/// The identifiers in a piece of code.
fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

fn reaches(needs: &Needs<'_>, from: &str, to: &str) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        if seen.insert(module) {
            let needed = needs.keys().filter(|(from, _)| *from == module);
            open.extend(needed.map(|(_, to)| to.as_str()));
        }
    }
    seen.contains(to)
}

#[cfg(test)]
mod tests {
    use super::super::tests::files;
    use super::check;

    fn found(of: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![
            ("a/Cargo.toml", ""),
            ("a/src/lib.rs", "mod one;\nmod two;\n"),
        ];
        all.extend_from_slice(of);
        let found = check(&files(&all));
        found.iter().map(ToString::to_string).collect()
    }

    const ONE: &str =
        "a/src/one.rs:1: `one` needs `two`, which leads back to it: a circle of modules";
    const TWO: &str =
        "a/src/two.rs:2: `two` needs `one`, which leads back to it: a circle of modules";

    #[test]
    fn a_circle_is_found_however_it_is_written() {
        let one = ("a/src/one.rs", "use crate::two::B;\npub struct A;\n");
        for two in [
            "\nuse crate::one::A;\n",
            "\nuse crate::{one::A, three};\n",
            "\nuse crate::{three, one::{A, B}};\n",
            "\nfn a(_: &crate::one::A) {}\n",
            "\nuse super::one::A;\n",
        ] {
            assert_eq!(found(&[one, ("a/src/two.rs", two)]), [ONE, TWO], "{two}");
        }
    }

    #[test]
    fn a_circle_is_found_through_the_root_and_from_below() {
        let of = [
            ("a/src/main.rs", "pub use one::{A, other::C};\n"),
            ("a/src/one.rs", "use crate::two::B;\n"),
            ("a/src/two/deep.rs", "\nuse crate::C;\n"),
        ];
        let deep = TWO.replace("two.rs", "two/deep.rs");
        assert_eq!(found(&of), [ONE, deep.as_str()]);
        let of = [
            of[1],
            ("a/src/two/deep.rs", "\nuse super::super::one::A;\n"),
        ];
        assert_eq!(found(&of), [ONE, deep.as_str()]);
    }

    #[test]
    fn tests_comments_and_macros_close_no_circle() {
        let one = ("a/src/one.rs", "use crate::two::B;\n");
        for two in [
            "// use crate::one::A;\n",
            "/// See [`crate::one`].\nfn a() {}\n",
            "#[cfg(test)]\nmod tests {\n    use crate::one::A;\n}\n",
            "macro_rules! a { () => { $crate::one::A } }\n",
            "use super::one::A;\n",
        ] {
            // In a file below, `super` is its own module.
            let path = if two.starts_with("use") {
                "a/src/two/below.rs"
            } else {
                "a/src/two.rs"
            };
            assert_eq!(found(&[one, (path, two)]), [""; 0], "{two}");
        }
        let of = [
            one,
            ("a/src/two.rs", "#[cfg(test)]\nmod samples;\n"),
            ("a/src/two/samples.rs", "use crate::one::A;\n"),
        ];
        assert_eq!(found(&of), [""; 0]);
    }
}
