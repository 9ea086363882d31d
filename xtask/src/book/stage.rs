//! Copies the pages of the book and the files that they link to into a folder for mdBook, in the
//! layout of the repository.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use ::book::page::Page;
use ::book::pages::{self, CONTENTS, resolve};

use super::links::is_elsewhere;

/// The configuration of mdBook.
const SETTINGS: &str = "docs/book.toml";

/// The path at which mdBook expects the table of contents.
const SUMMARY: &str = "SUMMARY.md";

/// Copies everything to `stage`, which is emptied first.
///
/// # Errors
/// A file that cannot be read or written.
pub(super) fn lay_out(root: &Path, stage: &Path) -> io::Result<()> {
    if stage.exists() {
        fs::remove_dir_all(stage)?;
    }
    let sources = stage.join("src");
    fs::create_dir_all(&sources)?;
    fs::copy(root.join(SETTINGS), stage.join("book.toml"))?;
    let contents = fs::read_to_string(root.join(CONTENTS))?;
    fs::write(sources.join(SUMMARY), from_the_root(&contents))?;
    for file in files(root)? {
        let to = sources.join(&file);
        fs::create_dir_all(to.parent().unwrap_or(&sources))?;
        fs::copy(root.join(&file), to)?;
    }
    Ok(())
}

/// The pages, and the files that they link to.
fn files(root: &Path) -> io::Result<BTreeSet<String>> {
    let mut files = BTreeSet::new();
    for named in pages::read(root)? {
        for link in &named.page.links {
            let target = link.target.split('#').next().unwrap_or_default();
            if !target.is_empty() && !is_elsewhere(target) {
                files.insert(resolve(&named.path, target));
            }
        }
        files.insert(named.path);
    }
    Ok(files)
}

/// The table of contents with links relative to the root.
fn from_the_root(contents: &str) -> String {
    let mut text = contents.to_owned();
    for link in Page::read(contents).links {
        let written = format!("]({})", link.target);
        text = text.replace(&written, &format!("]({})", resolve(CONTENTS, &link.target)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{files, from_the_root};

    #[test]
    fn the_contents_are_written_from_the_root() {
        assert_eq!(
            from_the_root("[A](../A.md)\n\n- [B](b.md)\n"),
            "[A](A.md)\n\n- [B](docs/b.md)\n"
        );
    }

    #[test]
    fn pages_bring_what_they_link_to() {
        let files = files(&::book::pages::root()).expect("the pages are there");
        for file in ["README.md", "docs/images/page.png", "scenarios/burst.yaml"] {
            assert!(files.contains(file), "{file}");
        }
    }
}
