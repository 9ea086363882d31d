//! Hands the commit that is being built to the program, which names it in every report.
//! Without git, or outside a repository, it is left out.

use std::io::Write;
use std::path::Path;
use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "cargo::rerun-if-changed=build.rs")?;
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
