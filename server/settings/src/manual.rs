//! What packages install beside the program: completions of shells, and manual pages.

use std::io::Write;
use std::path::Path;

use clap_complete::Shell;

use crate::cli;

/// Writes the completions of a shell.
///
/// # Errors
/// They cannot be written.
pub fn completions(shell: Shell, out: &mut dyn Write) -> std::io::Result<()> {
    let mut command = cli::command();
    // The library panics if it cannot write.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "talking-stick", &mut text);
    out.write_all(&text)
}

/// Writes a manual page for the program and for each of its commands into this folder.
///
/// # Errors
/// The folder cannot be made, or a page not be written.
pub fn pages(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(cli::command(), folder)
}
