//! The pages of the documentation: those that the table of contents names.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::page::Page;

/// The table of contents, from the root of the workspace.
pub const CONTENTS: &str = "docs/SUMMARY.md";

/// Every page of the book at `root`, in the order of the table of contents.
///
/// # Errors
/// A page, or the table itself, that cannot be read.
pub fn read(root: &Path) -> io::Result<Vec<Page>> {
    let contents = Page::read(&text(root, CONTENTS)?);
    let paths = contents.links.iter().map(|link| resolve(CONTENTS, link));
    paths
        .map(|path| {
            let page = Page::read(&text(root, &path)?);
            Ok(Page { path, ..page })
        })
        .collect()
}

fn text(root: &Path, path: &str) -> io::Result<String> {
    fs::read_to_string(root.join(path))
        .map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))
}

/// The target of a link of the page at `from`. Both are paths from the root. A path that leaves the
/// root keeps its `..`, and so names no file.
#[must_use]
pub fn resolve(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// The root of the workspace that this package is built in.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[cfg(test)]
mod tests {
    use super::{read, resolve, root};

    #[test]
    fn a_link_is_resolved_from_the_folder_of_its_page() {
        assert_eq!(resolve("docs/a.md", "b.md"), "docs/b.md");
        assert_eq!(resolve("docs/a.md", "../SECURITY.md"), "SECURITY.md");
        assert_eq!(resolve("README.md", "./docs/a.md"), "docs/a.md");
        assert_eq!(resolve("README.md", "../../x"), "../../x");
    }

    #[test]
    fn the_book_has_its_pages_and_begins_with_the_readme() {
        let pages = read(&root()).expect("every page of the contents is there");
        assert_eq!(pages[0].path, "README.md");
        assert!(pages.iter().any(|page| page.path == "docs/protocol.md"));
    }
}
