//! Hands the commit that is being built to the program, which names it in every report.
//! Without git, or outside a repository, it is left out. Copies the pages of the book that `sim
//! explain` reads: a package has them in a folder of its own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The pages of the book with the terms of `sim explain`.
const PAGES: [&str; 3] = ["running.md", "scenario-reference.md", "protocol.md"];

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}

fn copy_pages(out: &mut impl Write) -> std::io::Result<()> {
    let to = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let folder = ["docs", "../docs"].map(Path::new);
    let folder = folder.into_iter().find(|folder| folder.is_dir());
    let folder = folder.unwrap_or(Path::new("../docs"));
    for page in PAGES {
        let from = folder.join(page);
        writeln!(out, "cargo::rerun-if-changed={}", from.display())?;
        std::fs::copy(&from, to.join(page))?;
    }
    Ok(())
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "cargo::rerun-if-changed=build.rs")?;
    copy_pages(&mut out)?;
    let mut version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    if let Some(commit) = git(&["rev-parse", "--short=7", "HEAD"]) {
        writeln!(out, "cargo::rustc-env=SIM_COMMIT={commit}")?;
        version = format!("{version} ({commit})");
    }
    writeln!(out, "cargo::rustc-env=SIM_VERSION={version}")?;
    // The log of HEAD grows with every commit and checkout. A path that does not exist would make
    // cargo build again each time.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"])
        && Path::new(&log).exists()
    {
        writeln!(out, "cargo::rerun-if-changed={log}")?;
    }
    Ok(())
}
