//! Every type that a module shares has a name of its own in its crate, so that a search for the name
//! finds one thing.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::circles::crates;
use super::{Finding, Source, finding, line_of, pattern};

/// A line that declares a type which other modules may use. What is indented belongs to a function, an
/// implementation or a test.
static SHARED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m)^pub(?:\([^)]*\))? (?:enum|struct|trait|type) (\w+)"));

/// Types with the name of another type in their crate.
pub(super) fn check(files: &[Source]) -> Vec<Finding> {
    let mut found = Vec::new();
    for folder in crates(files) {
        let mut first: BTreeMap<&str, &str> = BTreeMap::new();
        let sources = files
            .iter()
            .filter(|file| file.path.starts_with(&folder) && file.path.ends_with(".rs"));
        for Source { path, text } in sources {
            for declared in SHARED.captures_iter(text) {
                let (_, [name]) = declared.extract();
                if let Some(other) = first.insert(name, path) {
                    let what = format!("`{name}` is also the name of a type in {other}");
                    found.push(finding(
                        path,
                        line_of(text, declared.get_match().start()),
                        what,
                    ));
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::files;
    use super::check;

    fn found(of: &[(&str, &str)]) -> Vec<String> {
        check(&files(of)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_second_type_of_a_name_is_found() {
        let files = [
            ("a/Cargo.toml", ""),
            ("a/src/lib.rs", "pub struct Page<'a> {\n"),
            ("a/src/one.rs", "\npub(super) enum Page {\n"),
        ];
        let twice = "a/src/one.rs:2: `Page` is also the name of a type in a/src/lib.rs";
        assert_eq!(found(&files), [twice]);
    }

    #[test]
    fn private_types_and_other_crates_may_share_a_name() {
        let files = [
            ("a/Cargo.toml", ""),
            ("a/src/lib.rs", "pub struct Page;\nstruct Page;\n"),
            ("a/src/page.rs", "pub fn page() {}\n"),
            ("b/Cargo.toml", ""),
            ("b/src/lib.rs", "pub type Page = u8;\npub struct PageOf;\n"),
        ];
        assert_eq!(found(&files), [""; 0]);
    }
}
