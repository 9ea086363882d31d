//! The files that a command reads, and those that it writes.

use std::path::Path;

use clap::CommandFactory as _;
use sim_scenario::did_you_mean;

use super::{Cli, Invocation};

/// The files of a command line.
#[derive(Debug, Default)]
struct Files<'a> {
    read: Vec<&'a Path>,
    /// With the option that names each.
    written: Vec<(&'static str, &'a Path)>,
}

impl Invocation {
    /// Where its result goes as JSON, if it was requested.
    #[must_use]
    pub fn json(&self) -> Option<&Path> {
        let mut written = self.files().written.into_iter();
        written
            .find(|(option, _)| *option == "--json")
            .map(|(_, path)| path)
    }

    fn files(&self) -> Files<'_> {
        let (read, written) = match self {
            Self::Run(run) | Self::Serve(run) => (
                run.files.iter().collect(),
                vec![
                    ("--json", &run.json),
                    ("--junit", &run.junit),
                    ("--report", &run.report),
                    ("--trace", &run.trace),
                ],
            ),
            Self::Explore(explore) => (
                explore.files.iter().collect(),
                vec![("--json", &explore.json), ("--trace", &explore.trace)],
            ),
            Self::Shrink(shrink) => (vec![&shrink.file], vec![("--output", &shrink.output)]),
            Self::Compare(compare) => (
                vec![&compare.before, &compare.after],
                vec![("--json", &compare.json)],
            ),
            Self::Replay(replay) => (
                vec![&replay.journal],
                vec![
                    ("--json", &replay.json),
                    ("--to-scenario", &replay.to_scenario),
                ],
            ),
            Self::Calibrate(calibrate) => (
                calibrate.file.iter().collect(),
                vec![
                    ("--out", &calibrate.out),
                    ("--json", &calibrate.json),
                    ("--report", &calibrate.report),
                ],
            ),
            Self::Exhaust(exhaust) => (Vec::new(), vec![("--json", &exhaust.json)]),
            Self::Validate(_)
            | Self::Schema
            | Self::Explain(_)
            | Self::Completions { .. }
            | Self::Man { .. } => return Files::default(),
        };
        let named = written.into_iter();
        Files {
            read: read.into_iter().map(AsRef::as_ref).collect(),
            written: named
                .filter_map(|(option, path)| Some((option, path.as_deref()?)))
                .collect(),
        }
    }
}

/// Checks that output files differ from one another and from what is read, and that at most one
/// output goes to the standard output.
pub(super) fn check(invocation: &Invocation) -> Result<(), String> {
    let Files { read, written } = invocation.files();
    for (i, &(option, path)) in written.iter().enumerate() {
        if option != "--json" && path == Path::new("-") {
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
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
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
