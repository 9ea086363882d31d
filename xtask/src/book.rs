//! The book: checks its links, runs its examples, and builds it.
//!
//! The pages are in `docs/` and at the root, and link to one another and to other files. mdBook
//! would copy everything beside a page. So `stage.rs` copies the pages and the files that they link
//! to into a separate folder, in the layout of the repository, and mdBook builds from there. mdBook
//! is installed if it is missing.

mod examples;
mod html;
mod links;
mod stage;

use std::path::PathBuf;
use std::process::Command;

use crate::cargo::Cargo;
use crate::outcome::Outcome;
use crate::programs::{answers, run};

/// The version of mdBook to install.
const VERSION: &str = "0.5.4";

/// The folder of the built book, from the root.
const BUILT: &str = "target/book";

/// Checks the links of the sources, runs the examples, builds the book, and checks its links.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    links::check(cargo.root())
        .and_then(|| examples::check(cargo))
        .and_then(|| match build(cargo) {
            Ok(folder) => html::check(&folder),
            Err(outcome) => outcome,
        })
}

/// Builds the book, and returns the folder that it is in.
///
/// # Errors
/// The outcome of a failed build.
pub(crate) fn build(cargo: &Cargo) -> Result<PathBuf, Outcome> {
    let stage = cargo.scratch().map_err(Outcome::Failed)?.join("book");
    stage::lay_out(cargo.root(), &stage)
        .map_err(|error| Outcome::Failed(format!("cannot lay out the book: {error}")))?;
    ready(cargo).map_err(Outcome::Skipped)?;
    let built = cargo.root().join(BUILT);
    run(Command::new("mdbook")
        .arg("build")
        .arg(&stage)
        .arg("--dest-dir")
        .arg(&built))
    .map_err(Outcome::Failed)?;
    Ok(built)
}

/// Installs mdBook if it is missing.
///
/// # Errors
/// Why it is missing.
fn ready(cargo: &Cargo) -> Result<(), String> {
    let few = ["--no-default-features", "--features", "search"];
    cargo.there_or_installed(|| answers("mdbook"), ("mdbook", VERSION), &few)
}
