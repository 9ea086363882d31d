//! Copies the pages of the book and the files that they link to into a folder for mdBook, in the
//! layout of the repository.

use std::collections::BTreeSet;
use std::path::Path;

use ::book::page::Page;
use ::book::pages::{self, CONTENTS, resolve};
use anyhow::{Context as _, Result};
use xshell::Shell;

/// The configuration of mdBook.
const SETTINGS: &str = "docs/book.toml";

/// The path at which mdBook expects the table of contents.
const SUMMARY: &str = "SUMMARY.md";

/// Copies everything to `stage`, which is empty.
///
/// # Errors
/// A file that cannot be read or written.
pub(super) fn lay_out(sh: &Shell, stage: &Path) -> Result<()> {
    sh.copy_file(SETTINGS, stage.join("book.toml"))?;
    let sources = stage.join("src");
    sh.write_file(
        sources.join(SUMMARY),
        from_the_root(&sh.read_file(CONTENTS)?),
    )?;
    for file in files(&sh.current_dir())? {
        let to = sources.join(&file);
        sh.create_dir(to.parent().unwrap_or(&sources))?;
        sh.copy_file(&file, to).context("a page links to it")?;
    }
    Ok(())
}

/// The pages, and the files that they link to.
fn files(root: &Path) -> Result<BTreeSet<String>> {
    let mut files = BTreeSet::new();
    for named in pages::read(root)? {
        for link in &named.page.links {
            let target = link.split('#').next().unwrap_or_default();
            // Others lead to another site.
            if !target.is_empty() && !target.contains(':') {
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
        text = text.replace(
            &format!("]({link})"),
            &format!("]({})", resolve(CONTENTS, &link)),
        );
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
