//! Holds talks between agent programs, as they are published, through the real server, and wakes each of them. A
//! scripted model drives them, so nothing leaves the machine.
//!
//! npm installs them at the versions of the lock file into this program's own folder.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::cargo;
use crate::outcome::skipped;
use crate::programs::{node, npm};

/// The folder of the talks, and the page that says how a program is connected.
const TALKS: &str = "server/tests/agents";
const BOOK: &str = "docs/agents.md";

/// What the package of Claude Code would run at its installation: it puts the program in its place.
const CLAUDE: &str = "node_modules/@anthropic-ai/claude-code/install.cjs";

/// Pairs of programs that talk with each other: that of each check, and those of the longer one.
const PAIR: [&str; 1] = ["codex,claude"];
const PAIRS: [&str; 3] = ["codex,claude", "opencode,gemini", "claude,opencode"];

/// The programs of the pairs, and for how many messages they are woken. Those of the longer check give the times in the
/// book.
const PROGRAMS: [&str; 4] = ["claude", "codex", "opencode", "gemini"];
const WAKINGS: usize = 3;
const MANY_WAKINGS: usize = 100;

/// The time limit for a pair, or for all wakings of a program, in seconds. It guards against programs that hang.
const GUARD_S: usize = 300;

/// Holds the talks of a pair that covers both eras of MCP, and wakes both.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    // npm leaves out the programs of the longer check.
    let _some = sh.push_env("NPM_CONFIG_OMIT", "dev");
    hold(sh, &PAIR, &PROGRAMS[..2], WAKINGS)
}

/// Holds the talks of all programs, and wakes all.
///
/// # Errors
/// A talk or a waking that failed, or why they could not be tried.
pub(crate) fn check_all(sh: &Shell) -> Result<()> {
    hold(sh, &PAIRS, &PROGRAMS, MANY_WAKINGS)
}

fn hold(sh: &Shell, pairs: &[&str], programs: &[&str], wakings: usize) -> Result<()> {
    let server = cargo::program(sh, "talking-stick")?;
    let book = sh.current_dir().join(BOOK);
    let _within = sh.push_dir(cargo::copied(sh, TALKS, "agents")?);
    install(sh).map_err(skipped)?;
    let [talks, waking] = [pairs, programs].map(|all| (GUARD_S * all.len()).to_string());
    cmd!(
        sh,
        "timeout {talks} node talks.mjs {server} {book} {pairs...}"
    )
    .run()?;
    let wakings = wakings.to_string();
    Ok(cmd!(
        sh,
        "timeout {waking} node wakings.mjs {server} {book} {wakings} {programs...}"
    )
    .run()?)
}

/// Installs the programs.
fn install(sh: &Shell) -> Result<()> {
    node(sh)?;
    npm(sh)?;
    Ok(cmd!(sh, "node {CLAUDE}").run()?)
}
