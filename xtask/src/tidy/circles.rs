//! No cycles of modules: within a crate, a module must not depend on a module that depends on it.
//! The rule looks at top-level modules, and at paths from `crate::` and `super::` outside of tests.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Source};

/// The dependencies between the modules of one crate: each with the place where it is first
/// written.
type Needs = BTreeMap<String, BTreeMap<String, (String, usize)>>;

/// Finds every dependency within a circle.
pub(super) fn check(files: &[Source]) -> Vec<Finding> {
    let mut found = Vec::new();
    for folder in crates(files) {
        let needs = needs(files, &folder);
        for (from, to) in in_circles(&needs) {
            let (path, line) = needs[&from][&to].clone();
            found.push(Finding {
                path,
                line: Some(line),
                what: format!("`{from}` needs `{to}`, which leads back to it: a circle of modules"),
            });
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
        .filter_map(|file| Some((file.path.strip_prefix(folder)?, file)))
        .filter(|(path, _)| path.ends_with(".rs"))
        .collect();
    let tests = test_files(&sources);
    let modules: BTreeSet<&str> = sources.iter().map(|(path, _)| module(path)).collect();
    let shown = shown_at_the_root(&sources, &modules);
    let mut needs = Needs::new();
    for (path, file) in &sources {
        let from = module(path);
        if matches!(from, "lib" | "main") || tests.iter().any(|test| is_of(path, test)) {
            continue;
        }
        for (line, word) in paths(outside_of_tests(&file.text), depth(path)) {
            let to = shown
                .get(word.as_str())
                .map_or(word.as_str(), |of| of.as_str());
            if to != from && modules.contains(to) {
                let needed = needs.entry(from.to_owned()).or_default();
                needed
                    .entry(to.to_owned())
                    .or_insert_with(|| (file.path.clone(), line));
            }
        }
    }
    needs
}

/// The top-level module of a file.
fn module(path: &str) -> &str {
    let first = path.split('/').next().unwrap_or(path);
    first.strip_suffix(".rs").unwrap_or(first)
}

/// The number of `super::` that lead from a file to the root.
fn depth(path: &str) -> usize {
    path.matches('/').count() + 1
}

/// Whether a file is the test module at `test`, or below it.
fn is_of(path: &str, test: &str) -> bool {
    path.strip_prefix(test)
        .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// The modules that are compiled for tests only, as paths without extension.
fn test_files(sources: &[(&str, &Source)]) -> Vec<String> {
    let mut tests = Vec::new();
    for (path, file) in sources {
        let base = path.strip_suffix(".rs").unwrap_or(path);
        let below = match base {
            "lib" | "main" => String::new(),
            _ => format!("{base}/"),
        };
        let mut lines = file.text.lines();
        while let Some(line) = lines.next() {
            if line.trim() == "#[cfg(test)]"
                && let Some(declared) = lines.next().and_then(|line| line.strip_suffix(';'))
                && let Some((_, name)) = declared.split_once("mod ")
            {
                tests.push(format!("{below}{name}"));
            }
        }
    }
    tests
}

/// The text before the inline module of tests, which comes last.
fn outside_of_tests(text: &str) -> &str {
    let mut end = 0;
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().map_or("", |next| next.trim_end());
        if line.trim_end() == "#[cfg(test)]" && next.starts_with("mod ") && next.ends_with('{') {
            break;
        }
        end += line.len();
    }
    &text[..end]
}

/// The names that the root re-exports, each with its module.
fn shown_at_the_root(
    sources: &[(&str, &Source)],
    modules: &BTreeSet<&str>,
) -> BTreeMap<String, String> {
    let mut shown = BTreeMap::new();
    let roots = sources
        .iter()
        .filter(|(path, _)| *path == "lib.rs" || *path == "main.rs");
    for (_, file) in roots {
        for statement in file.text.split(';') {
            let Some((_, path)) = statement.rsplit_once("use ") else {
                continue;
            };
            let Some((of, names)) = path.split_once("::") else {
                continue;
            };
            if modules.contains(of) {
                for name in words(names) {
                    shown.insert(name.to_owned(), of.to_owned());
                }
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
            found.extend(first_names(rest).into_iter().map(|name| (line, name)));
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

/// `a` of `a::b`, and `a`, `c` of `{a::b, c::{d, e}}`.
fn first_names(path: &str) -> Vec<String> {
    let Some(group) = path.strip_prefix('{') else {
        return words(path).next().map(str::to_owned).into_iter().collect();
    };
    let (mut names, mut nested, mut item) = (Vec::new(), 0_u32, String::new());
    for c in group.chars() {
        match c {
            '{' => nested += 1,
            '}' if nested == 0 => break,
            '}' => nested -= 1,
            ',' if nested == 0 => {
                names.extend(words(&item).next().map(str::to_owned));
                item.clear();
            }
            _ => {}
        }
        item.push(c);
    }
    names.extend(words(&item).next().map(str::to_owned));
    names
}

/// The dependencies that lie on a cycle.
fn in_circles(needs: &Needs) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (from, needed) in needs {
        for to in needed.keys() {
            if reaches(needs, to, from) {
                found.push((from.clone(), to.clone()));
            }
        }
    }
    found
}

fn reaches(needs: &Needs, from: &str, to: &str) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        if module == to {
            return true;
        }
        if seen.insert(module) {
            let needed = needs.get(module).into_iter().flat_map(BTreeMap::keys);
            open.extend(needed.map(String::as_str));
        }
    }
    false
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
