//! `cargo xtask race`: plants a bug in a copy of the core, and lets the simulator show it.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use xshell::{Shell, cmd};

use super::mutant;
use super::verdict::choose;
use crate::cargo;
use crate::workspace_copy::WorkspaceCopy;

/// The bug, and a scenario that shows it.
const BUG: &str = "stick_two_holders";
const SCENARIO: &str = "scenarios/stick_contention.yaml";

/// Builds the simulator on a core with the bug, and runs the scenario. The build shares what
/// `cargo run --release -p sim` has compiled.
///
/// # Errors
/// It does not build, or the simulator does not find the bug.
#[expect(clippy::print_stdout, reason = "this is where the program speaks")]
pub(crate) fn show(sh: &Shell) -> Result<()> {
    let all = mutant::read_all(sh)?;
    let bug = choose(&all, &[BUG.to_owned()])?[0];
    println!(
        "planted   {} Your core has it not: the copy is in target/copy.",
        bug.about
    );
    let copy = WorkspaceCopy::refresh(sh)?;
    bug.plant(&copy)?;
    let target = cargo::target(sh);
    let built = cmd!(copy.sh, "cargo build --release --package sim");
    let built = built.env("CARGO_TARGET_DIR", &target).run();
    copy.heal()?;
    built?;
    let program = target.join("release").join(cargo::executable("sim"));
    sh.copy_file(&program, cargo::scratch(sh, "race")?)?;
    // Nobody shall take it for the simulator of their own core, which cargo puts there when it runs it.
    sh.remove_path(program)?;
    // The commands that it prints start it by this path: without the bug they would show nothing.
    let sim = Path::new("target/xtask/race").join(cargo::executable("sim"));
    let run = cmd!(sh, "{sim} {SCENARIO} --seed 1").env_remove("CARGO");
    let ended = Command::from(run).status()?;
    ensure!(ended.code() == Some(1), "the simulator did not find it");
    Ok(())
}
