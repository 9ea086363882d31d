//! Holds talks between agent programs, as they are published, through the real server. A scripted model drives them,
//! so nothing leaves the machine.
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

/// The time limit for a pair, in seconds. It guards against programs that hang.
const GUARD_S: usize = 300;

/// Holds the talks of a pair that covers both eras of MCP.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    // npm leaves out the programs of the longer check.
    let _some = sh.push_env("NPM_CONFIG_OMIT", "dev");
    hold(sh, &PAIR)
}

/// Holds the talks of all programs.
///
/// # Errors
/// A talk that failed, or why they could not be held.
pub(crate) fn check_all(sh: &Shell) -> Result<()> {
    hold(sh, &PAIRS)
}

fn hold(sh: &Shell, pairs: &[&str]) -> Result<()> {
    let server = cargo::program(sh, "talking-stick")?;
    let book = sh.current_dir().join(BOOK);
    let _within = sh.push_dir(cargo::copied(sh, TALKS, "agents")?);
    install(sh).map_err(skipped)?;
    let guard = (GUARD_S * pairs.len()).to_string();
    Ok(cmd!(
        sh,
        "timeout {guard} node talks.mjs {server} {book} {pairs...}"
    )
    .run()?)
}

/// Installs the programs.
fn install(sh: &Shell) -> Result<()> {
    node(sh)?;
    npm(sh)?;
    Ok(cmd!(sh, "node {CLAUDE}").run()?)
}
