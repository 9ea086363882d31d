//! The files that a command reads, and those that it writes.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, CommandFactory as _};
use sim_scenario::did_you_mean;

use super::Cli;
use crate::output::folder_of;

/// The arguments that name files to read. The `journal` is that of a replay: a run's is a folder.
const READ: [&str; 5] = ["files", "file", "before", "after", "journal"];

/// The options that name files to write.
const WRITTEN: [&str; 6] = ["out", "json", "junit", "report", "trace", "to_scenario"];

/// Checks that output files differ from one another and from what is read, and that at most one
/// output goes to the standard output.
pub(super) fn check(matches: &ArgMatches) -> Result<(), String> {
    let matches = matches.subcommand().map_or(matches, |(_, own)| own);
    let all = |name| matches.try_get_many::<PathBuf>(name).ok().flatten();
    let read: Vec<&PathBuf> = READ.into_iter().filter_map(all).flatten().collect();
    let written = WRITTEN.into_iter().filter_map(|name| {
        let option = format!("--{}", name.replace('_', "-"));
        Some((option, all(name)?.next()?))
    });
    let written: Vec<(String, &PathBuf)> = written.collect();
    for (i, (option, path)) in written.iter().enumerate() {
        if option != "--json" && *path == Path::new("-") {
            return Err(format!(
                "only --json can write to the standard output, not {option}"
            ));
        }
        if let Some((other, _)) = written[i + 1..].iter().find(|(_, other)| same(path, other)) {
            return Err(format!("{option} and {other} name the same file"));
        }
        if read.iter().any(|input| same(path, input)) {
            return Err(format!(
                "{option} would overwrite {}, which the command reads",
                path.display()
            ));
        }
    }
    Ok(())
}

/// Whether two paths lead to one file, which need not exist yet.
fn same(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        path.canonicalize().ok().or_else(|| {
            let folder = folder_of(path).unwrap_or(Path::new("."));
            let folder = folder.canonicalize().ok()?;
            Some(folder.join(path.file_name()?))
        })
    };
    a == b || place(a).is_some_and(|a| place(b) == Some(a))
}

/// Checks the first file of a command line without a command: it may be a command, misspelt.
pub(super) fn check_first(path: &Path) -> Result<(), String> {
    let word = path.to_str().unwrap_or_default();
    let is_word = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
    if !is_word || path.exists() {
        return Ok(());
    }
    let program = Cli::command();
    let commands: Vec<&str> = program
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    let meant = did_you_mean(word, &commands);
    Err(format!("there is no command and no file `{word}`{meant}"))
}
