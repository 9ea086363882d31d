//! The book: its pages lead somewhere, its examples work, and it builds.
//!
//! The pages lie in `docs/` and at the root, and link to one another and to files as they lie there.
//! mdBook would copy all that is beside a page. So `stage.rs` lays out the pages and what they link
//! to, as they lie in the repository, and mdBook builds from that. It is installed where it is
//! missing: without optimisation, which takes a third of the time and is fast enough.

mod examples;
mod html;
mod links;
mod stage;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::Cargo;
use crate::outcome::Outcome;
use crate::programs::{answers, run};

/// The release that is installed where none is.
const VERSION: &str = "0.5.4";

/// Where it is installed, and where the book is built, from the root.
const INSTALLED: &str = "target/xtask/mdbook";
const BUILT: &str = "target/book";

/// Follows the links of the sources, tries the examples, builds the book, and follows its links.
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
/// What came of it instead.
pub(crate) fn build(cargo: &Cargo) -> Result<PathBuf, Outcome> {
    let stage = cargo.scratch().map_err(Outcome::Failed)?.join("book");
    stage::lay_out(cargo.root(), &stage)
        .map_err(|error| Outcome::Failed(format!("cannot lay out the book: {error}")))?;
    let program = program(cargo)?;
    let built = cargo.root().join(BUILT);
    run(Command::new(program)
        .arg("build")
        .arg(&stage)
        .arg("--dest-dir")
        .arg(&built))
    .map_err(Outcome::Failed)?;
    Ok(built)
}

/// mdBook: the reader's own, or one installed for this.
fn program(cargo: &Cargo) -> Result<PathBuf, Outcome> {
    if answers("mdbook") {
        return Ok("mdbook".into());
    }
    let root = cargo.root().join(INSTALLED);
    let program = root
        .join("bin")
        .join(format!("mdbook{}", std::env::consts::EXE_SUFFIX));
    if !program.exists() {
        install(cargo, &root)?;
    }
    Ok(program)
}

fn install(cargo: &Cargo, root: &Path) -> Result<(), Outcome> {
    let Some(root) = root.to_str() else {
        return Err(Outcome::Failed(
            "the workspace's path is not Unicode".into(),
        ));
    };
    let words = [
        &[
            "install",
            "--locked",
            "--debug",
            "mdbook",
            "--version",
            VERSION,
        ][..],
        &[
            "--no-default-features",
            "--features",
            "search",
            "--root",
            root,
        ],
    ]
    .concat();
    // Debug information is of no use here.
    match cargo.run_with(&[("CARGO_PROFILE_DEV_DEBUG", "false")], &words) {
        Outcome::Passed => Ok(()),
        Outcome::Failed(why) | Outcome::Skipped(why) => Err(Outcome::Skipped(format!(
            "mdbook is not installed, and could not be: {why}"
        ))),
    }
}
