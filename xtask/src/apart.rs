//! Steps as processes of their own, whose output is kept until they end.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::ended;
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
    /// Copies this program into a new folder below `above`.
    ///
    /// # Errors
    /// A file that cannot be read or written.
    pub(crate) fn new(above: &Path) -> Result<Self, String> {
        // Another process may run its copy, and writes its own outputs.
        let folder = above.join(format!("steps-{}", std::process::id()));
        let program = folder.join(format!("xtask{}", std::env::consts::EXE_SUFFIX));
        let copied = fs::create_dir_all(&folder)
            .and_then(|()| std::env::current_exe())
            .and_then(|own| fs::copy(own, &program));
        match copied {
            Ok(_) => Ok(Self { program, folder }),
            Err(error) => Err(format!("cannot make {}: {error}", program.display())),
        }
    }

    /// Runs a step, and returns its outcome and output.
    pub(crate) fn run(&self, step: Step) -> (Outcome, String) {
        let of_step = |end: &str| self.folder.join(format!("{}.{end}", step.name));
        let (output, outcome) = (of_step("log"), of_step("outcome"));
        let done = self.run_into(step, &output, &outcome);
        let said = fs::read(&output).unwrap_or_default();
        let said = String::from_utf8_lossy(&said).into_owned();
        (done.unwrap_or_else(Outcome::Failed), said)
    }

    fn run_into(&self, step: Step, output: &Path, outcome: &Path) -> Result<Outcome, String> {
        let said = |error| format!("the step's own process: {error}");
        // That of an earlier run.
        let _ = fs::remove_file(outcome);
        let shown = File::create(output).map_err(said)?;
        let status = Command::new(&self.program)
            .args([WORD, step.name])
            .arg(outcome)
            .stdin(Stdio::null())
            .stderr(shown.try_clone().map_err(said)?)
            .stdout(shown)
            .status()
            .map_err(said)?;
        let read = fs::read_to_string(outcome).ok();
        read.and_then(|text| Outcome::parse(&text))
            .ok_or_else(|| format!("the step's own process {}", ended(status)))
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

        let apart = Apart::new(&std::env::temp_dir()).expect("a temporary folder");
        let program = |script: &str| {
            fs::write(&apart.program, format!("#!/bin/sh\n{script}\n")).expect("it is written");
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&apart.program, mode).expect("it is ours");
        };
        program("echo ran $2; echo also >&2; printf 'skipped\\nno such tool' > $3");
        let (outcome, said) = apart.run(Step::named("page").expect("a step"));
        assert_eq!(outcome, Outcome::Skipped("no such tool".into()));
        assert_eq!(said, "ran page\nalso\n");
        program("exit 101");
        let (outcome, _) = apart.run(Step::named("page").expect("a step"));
        let why = "the step's own process ended with exit code 101";
        assert_eq!(outcome, Outcome::Failed(why.into()));
        let folder = apart.folder.clone();
        drop(apart);
        assert!(!folder.exists());
    }
}
