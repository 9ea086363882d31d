//! Steps as processes of their own, whose output is kept until they end.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Result, anyhow};
use xshell::Shell;

use crate::cargo;
use crate::outcome::Outcome;
use crate::steps::Step;

/// The word of the command line before a step and the file for its outcome.
pub(crate) const WORD: &str = "step";

/// Runs steps as processes of a copy of this program. Cargo may replace the program itself while it
/// builds the workspace.
#[derive(Debug)]
pub(crate) struct Apart {
    program: PathBuf,
    /// The folder of outputs and outcomes.
    folder: PathBuf,
}

impl Apart {
    /// Copies this program into a new folder.
    ///
    /// # Errors
    /// A file that cannot be read or written.
    pub(crate) fn new(sh: &Shell) -> Result<Self> {
        // Another process may run its copy, and writes its own outputs.
        let folder = cargo::empty_scratch(sh, &format!("steps-{}", std::process::id()))?;
        let program = folder.join(cargo::executable("xtask"));
        sh.copy_file(std::env::current_exe()?, &program)?;
        Ok(Self { program, folder })
    }

    /// Runs a step, which is done once, and returns its outcome and output.
    pub(crate) fn run(&self, step: Step) -> (Outcome, String) {
        let of_step = |end: &str| self.folder.join(format!("{}.{end}", step.name));
        let (output, outcome) = (of_step("log"), of_step("outcome"));
        let run = || -> Result<Outcome> {
            let shown = File::create(&output)?;
            let status = Command::new(&self.program)
                .args([WORD, step.name])
                .arg(&outcome)
                .stdin(Stdio::null())
                .stderr(shown.try_clone()?)
                .stdout(shown)
                .status()?;
            let written = fs::read(&outcome).map_err(|_| anyhow!("{status}"))?;
            Ok(serde_json::from_slice(&written)?)
        };
        let broken = |why| Outcome::Failed(format!("the step's own process: {why:#}"));
        let outcome = run().unwrap_or_else(broken);
        let said = fs::read(&output).unwrap_or_default();
        (outcome, String::from_utf8_lossy(&said).into_owned())
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        // Whatever stays is in the build folder.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::Apart;
    use crate::outcome::Outcome;
    use crate::steps::Step;

    #[cfg(unix)]
    #[test]
    fn output_and_outcome_come_back_and_a_crash_is_a_failure() {
        use std::fs;
        use std::os::unix::fs::PermissionsExt as _;

        let sh = crate::cargo::shell().expect("a folder");
        let apart = Apart::new(&sh).expect("a folder");
        let program = |script: &str| {
            fs::write(&apart.program, format!("#!/bin/sh\n{script}\n")).expect("it is written");
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&apart.program, mode).expect("it is ours");
        };
        program("echo ran $2; echo also >&2; echo '{\"Skipped\":\"no such tool\"}' > $3");
        let (outcome, said) = apart.run(Step::named("page").expect("a step"));
        assert_eq!(outcome, Outcome::Skipped("no such tool".into()));
        assert_eq!(said, "ran page\nalso\n");
        program("exit 101");
        let (outcome, _) = apart.run(Step::named("clients").expect("a step"));
        let why = "the step's own process: exit status: 101";
        assert_eq!(outcome, Outcome::Failed(why.into()));
        let folder = apart.folder.clone();
        drop(apart);
        assert!(!folder.exists());
    }
}
