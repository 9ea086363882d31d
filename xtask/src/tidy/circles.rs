//! No cycles of modules: within a crate, a module must not depend on a module that depends on it.
//! The rule looks at top-level modules, and at paths from `crate::` and `super::` outside of tests.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Source, finding};

/// The dependencies between the modules of one crate: each with the place where it is first
/// written.
type Needs = BTreeMap<String, BTreeMap<String, (String, usize)>>;

/// Finds every dependency within a circle.
pub(super) fn check(files: &[Source]) -> Vec<Finding> {
    let mut found = Vec::new();
    for folder in crates(files) {
        let needs = needs(files, &folder);
        for (from, to) in in_circles(&needs) {
            let (path, line) = &needs[from][to];
            let what =
                format!("`{from}` needs `{to}`, which leads back to it: a circle of modules");
            found.push(finding(path, *line, what));
        }
    }
    found
}

/// The source folders, one for each crate.
pub(super) fn crates(files: &[Source]) -> BTreeSet<String> {
    let manifests = files.iter().filter_map(|file| {
        let folder = file.path.strip_suffix("Cargo.toml")?;
        Some(format!("{folder}src/"))
    });
    manifests
        .filter(|folder| {
            files
                .iter()
                .any(|file| file.path.starts_with(folder.as_str()))
        })
        .collect()
}

fn needs(files: &[Source], folder: &str) -> Needs {
    let sources: Vec<(&str, &Source)> = files
        .iter()
        .filter_map(|file| Some((file.path.strip_prefix(folder)?.strip_suffix(".rs")?, file)))
        .collect();
    let modules: BTreeSet<&str> = sources.iter().map(|(path, _)| module(path)).collect();
    let shown = shown_at_the_root(&sources, &modules);
    // The modules that are compiled for tests only.
    let mut tests = BTreeSet::new();
    for (_, file) in &sources {
        let declared = file.text.split("#[cfg(test)]\n").skip(1);
        let declared = declared.filter_map(|rest| rest.lines().next()?.strip_suffix(';'));
        tests.extend(declared.filter_map(|line| Some(line.split_once("mod ")?.1)));
    }
    let mut needs = Needs::new();
    for (path, file) in &sources {
        let from = module(path);
        if matches!(from, "lib" | "main") || path.split('/').any(|part| tests.contains(part)) {
            continue;
        }
        // The inline module of tests comes last.
        let code = file.text.split("#[cfg(test)]\nmod tests {").next();
        for (line, word) in paths(code.unwrap_or_default(), path.matches('/').count() + 1) {
            let to = shown.get(&*word).copied().unwrap_or(&word);
            if to != from && modules.contains(to) {
                let needed = needs.entry(from.to_owned()).or_default();
                let place = || (file.path.clone(), line);
                needed.entry(to.to_owned()).or_insert_with(place);
            }
        }
    }
    needs
}

/// The top-level module of a file, by its path without the ending.
fn module(path: &str) -> &str {
    path.split('/').next().unwrap_or(path)
}

/// The names that the root re-exports, each with its module.
fn shown_at_the_root<'a>(
    sources: &[(&str, &'a Source)],
    modules: &BTreeSet<&str>,
) -> BTreeMap<&'a str, &'a str> {
    let mut shown = BTreeMap::new();
    for (_, file) in sources
        .iter()
        .filter(|(path, _)| matches!(*path, "lib" | "main"))
    {
        for statement in file.text.split(';') {
            let path = statement.rsplit_once("use ").map(|(_, path)| path);
            let parts = path.and_then(|path| path.split_once("::"));
            if let Some((of, names)) = parts.filter(|(of, _)| modules.contains(of)) {
                shown.extend(words(names).map(|name| (name, of)));
            }
        }
    }
    shown
}

/// The identifiers in a piece of code.
fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

/// The first identifiers of all paths from the root, with their lines.
fn paths(text: &str, depth: usize) -> Vec<(usize, String)> {
    let code: String = text.split_inclusive('\n').map(code_of).collect();
    let mut found = Vec::new();
    for root in ["crate::".to_owned(), "super::".repeat(depth)] {
        for (at, _) in code.match_indices(root.as_str()) {
            let before = code[..at].chars().next_back();
            let is_longer = before.is_some_and(|c| c.is_alphanumeric() || "_:$".contains(c));
            let rest = &code[at + root.len()..];
            if is_longer || rest.starts_with("super::") {
                continue;
            }
            let line = code[..at].matches('\n').count() + 1;
            // Each name of a group may be that of a module.
            let names = match rest.strip_prefix('{') {
                Some(group) => words(group.split('}').next().unwrap_or(group)).collect(),
                None => words(rest).take(1).collect::<Vec<_>>(),
            };
            found.extend(names.into_iter().map(|name| (line, name.to_owned())));
        }
    }
    found
}

/// A line without its comment, but with its newline. A `//` within a string is cut as well, which
/// does no harm: no path follows it.
fn code_of(line: &str) -> String {
    match line.split_once("//") {
        Some((code, _)) => format!("{code}\n"),
        None => line.to_owned(),
    }
}

/// The dependencies that lie on a cycle.
fn in_circles(needs: &Needs) -> impl Iterator<Item = (&String, &String)> {
    let all = needs
        .iter()
        .flat_map(|(from, needed)| needed.keys().map(move |to| (from, to)));
    all.filter(|(from, to)| reaches(needs, to, from))
}

fn reaches(needs: &Needs, from: &str, to: &str) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        if seen.insert(module) {
            let needed = needs.get(module).into_iter().flat_map(BTreeMap::keys);
            open.extend(needed.map(String::as_str));
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
